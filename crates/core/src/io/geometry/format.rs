//! Formats of points, surfaces and tracts, recognised by the names of files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::super::ImageFormat;
use super::freesurfer;

/// A format of points, surfaces or tracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeometryFormat {
    /// A table with the columns x, y and z.
    Csv,
    /// A table of fiducials of Slicer.
    Fcsv,
    /// Markups of Slicer.
    Markups,
    /// A list of points in JSON.
    Json,
    /// A tract of MRtrix.
    Tck,
    /// A tract of TrackVis.
    Trk,
    /// A surface of FreeSurfer, whose name has no extension. It is recognised by its first bytes.
    FreeSurfer,
    /// Geometry of VTK in its legacy format.
    Vtk,
    /// A surface in the format PLY.
    Ply,
    /// A surface in GIfTI.
    Gifti,
    /// A tract in TRX.
    Trx,
}

/// All formats with the ends of their names. A longer end stands before a shorter one that it contains.
const ENDS: [(&str, GeometryFormat); 10] = [
    (".mrk.json", GeometryFormat::Markups),
    (".json", GeometryFormat::Json),
    (".fcsv", GeometryFormat::Fcsv),
    (".csv", GeometryFormat::Csv),
    (".tck", GeometryFormat::Tck),
    (".trk", GeometryFormat::Trk),
    (".vtk", GeometryFormat::Vtk),
    (".ply", GeometryFormat::Ply),
    (".gii", GeometryFormat::Gifti),
    (".trx", GeometryFormat::Trx),
];

impl GeometryFormat {
    /// The ends of the names of all formats, for messages.
    pub const NAMES: &str =
        ".csv, .fcsv, .mrk.json, .json, .tck, .trk, .trx, .gii, .vtk, .ply or a surface of FreeSurfer";

    /// The format that the name of a file tells; `None` if the name is not that of points, surfaces or tracts.
    pub fn of_name(path: &Path) -> Option<GeometryFormat> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        ENDS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| *format)
    }

    /// The format of an existing file, by its name, or by its first bytes if it is a surface of FreeSurfer.
    pub fn of_file(path: &Path) -> Option<GeometryFormat> {
        GeometryFormat::of_name(path).or_else(|| {
            // Opening a pipe would wait for a writer.
            let is_file =
                ImageFormat::stem(path).is_none() && std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
            let mut start = [0; freesurfer::MAGIC.len()];
            let read = is_file.then(|| File::open(path).ok()?.read_exact(&mut start).ok()).flatten();
            (read.is_some() && start == freesurfer::MAGIC).then_some(GeometryFormat::FreeSurfer)
        })
    }

    /// What such a file holds, for messages.
    pub fn describe(self) -> &'static str {
        match self {
            GeometryFormat::Csv => "a table of points",
            GeometryFormat::Fcsv => "fiducials of Slicer",
            GeometryFormat::Markups => "markups of Slicer",
            GeometryFormat::Json => "a list of points",
            GeometryFormat::Tck => "a tract of MRtrix",
            GeometryFormat::Trk => "a tract of TrackVis",
            GeometryFormat::FreeSurfer => "a surface of FreeSurfer",
            GeometryFormat::Vtk => "geometry of VTK",
            GeometryFormat::Ply => "a surface in the format PLY",
            GeometryFormat::Gifti => "a surface in GIfTI",
            GeometryFormat::Trx => "a tract in TRX",
        }
    }

    /// The extension that a file of this format has, for messages.
    pub fn extension(self) -> &'static str {
        match self {
            GeometryFormat::Csv => ".csv",
            GeometryFormat::Fcsv => ".fcsv",
            GeometryFormat::Markups => ".mrk.json",
            GeometryFormat::Json => ".json",
            GeometryFormat::Tck => ".tck",
            GeometryFormat::Trk => ".trk",
            GeometryFormat::FreeSurfer => "a name without the extension of an image or of other points",
            GeometryFormat::Vtk => ".vtk",
            GeometryFormat::Ply => ".ply",
            GeometryFormat::Gifti => ".gii",
            GeometryFormat::Trx => ".trx",
        }
    }

    /// Whether files of this format can have the name `path`.
    pub fn fits(self, path: &Path) -> bool {
        match self {
            GeometryFormat::FreeSurfer => {
                GeometryFormat::of_name(path).is_none() && ImageFormat::stem(path).is_none()
            }
            _ => GeometryFormat::of_name(path) == Some(self),
        }
    }

    /// Whether a file of this format has a grid of voxels in its header, which a reference image can replace.
    pub fn has_grid(self) -> bool {
        matches!(self, GeometryFormat::Trk | GeometryFormat::Trx)
    }

    /// Whether each file of this format says how its coordinates lie in the world.
    pub fn says_world(self) -> bool {
        matches!(
            self,
            GeometryFormat::Markups
                | GeometryFormat::Tck
                | GeometryFormat::Trk
                | GeometryFormat::Gifti
                | GeometryFormat::Trx
        )
    }
}
