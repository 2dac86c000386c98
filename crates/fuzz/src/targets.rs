//! The readers of files and command lines that fuzzing tests. Each has valid inputs, which are damaged at random
//! (seeds), and conditions that data must satisfy if the reader accepts them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use antsreg_core::io::geometry::{self, GeometryFormat, Moving, World};
use antsreg_core::io::nifti::SeriesReader;
use antsreg_core::io::points::PointTable;
use antsreg_core::io::{Error, fsl, itk, label_list, nifti};
use antsreg_core::{AffineTransform, Transform};
use antsreg_study::subjects;

use crate::seeds;

/// A reader of files or command lines that is tested with damaged inputs.
pub struct Target {
    /// Name of the reader, by which the command line of the fuzzing program chooses it.
    pub name: &'static str,
    /// Name of the temporary file to which a damaged input is written; `None` if the reader takes the bytes of the
    /// input instead of a file.
    pub file: Option<&'static str>,
    /// Function that makes the valid inputs (seeds) for this reader, which are then damaged at random.
    pub seeds: fn(&Path) -> Result<Vec<Vec<u8>>, Error>,
    /// Function that runs the reader on a damaged input, given as the path of a temporary file and as bytes. Panics if
    /// the reader accepts invalid data.
    pub read: fn(&Path, &[u8]),
}

/// All readers of files and command lines that are tested with damaged inputs.
pub const TARGETS: [Target; 21] = [
    Target { name: "nifti", file: Some("i.nii"), seeds: seeds::images, read: read_images },
    Target { name: "warp", file: Some("w.nii"), seeds: seeds::warps, read: read_warp },
    Target { name: "mat", file: Some("a.mat"), seeds: seeds::matlab, read: read_transforms },
    Target { name: "txt", file: Some("a.txt"), seeds: seeds::text, read: read_transforms },
    Target { name: "h5", file: Some("c.h5"), seeds: seeds::composites, read: read_transforms },
    Target { name: "fsl", file: Some("f.mat"), seeds: seeds::matrices, read: read_matrix },
    Target { name: "points", file: Some("p.csv"), seeds: seeds::points, read: read_points },
    Target { name: "fcsv", file: Some("g.fcsv"), seeds: seeds::fiducials, read: read_geometry },
    Target { name: "markups", file: Some("g.mrk.json"), seeds: seeds::markups, read: read_geometry },
    Target { name: "json", file: Some("g.json"), seeds: seeds::lists, read: read_geometry },
    Target { name: "tck", file: Some("g.tck"), seeds: seeds::tck, read: read_geometry },
    Target { name: "trk", file: Some("g.trk"), seeds: seeds::trk, read: read_geometry },
    Target { name: "freesurfer", file: Some("lh.white"), seeds: seeds::freesurfer, read: read_geometry },
    Target { name: "gifti", file: Some("g.gii"), seeds: seeds::gifti, read: read_geometry },
    Target { name: "trx", file: Some("g.trx"), seeds: seeds::trx, read: read_geometry },
    Target { name: "vtk", file: Some("g.vtk"), seeds: seeds::vtk, read: read_geometry },
    Target { name: "ply", file: Some("g.ply"), seeds: seeds::ply, read: read_geometry },
    Target { name: "labels", file: Some("l.txt"), seeds: seeds::label_lists, read: read_label_list },
    Target { name: "table", file: Some("t.csv"), seeds: seeds::tables, read: read_table },
    Target { name: "command-line", file: None, seeds: seeds::command_lines, read: read_command_line },
    Target { name: "drop-in", file: None, seeds: seeds::drop_in_lines, read: read_command_line },
];

fn read_images(path: &Path, _: &[u8]) {
    if let Ok(volume) = nifti::read_volume(path) {
        assert_eq!(volume.voxels.len(), volume.grid.len());
        assert!(volume.voxels.iter().all(|value| value.is_finite()));
        assert!(nifti::read_grid(path).is_ok(), "the image was read, but its grid cannot be read");
    }
    if let Ok(labels) = nifti::read_labels(path) {
        assert_eq!(labels.voxels.len(), labels.grid.len());
    }
    if let Ok(found) = nifti::inspect(path) {
        assert!(found.warnings.iter().all(|warning| warning.corners_mm() >= 0.0));
    }
    if let Ok(mut series) = SeriesReader::open(path) {
        let (mut volumes, count) = (0, series.count());
        while let Ok(Some(volume)) = series.next_volume() {
            assert_eq!(volume.voxels.len(), volume.grid.len());
            volumes += 1;
        }
        assert!(volumes <= count, "{volumes} of {count}");
    }
}

fn read_warp(path: &Path, _: &[u8]) {
    if let Ok(field) = itk::read_warp(path) {
        assert_eq!(field.vectors.len(), field.grid.len());
        assert!(field.vectors.iter().flatten().all(|value| value.is_finite()));
    }
    let _ = nifti::inspect(path);
}

fn is_finite(affine: &AffineTransform) -> bool {
    affine.to_homogeneous().iter().all(|value| value.is_finite())
}

fn read_transforms(path: &Path, _: &[u8]) {
    for transform in itk::read_transforms(path).into_iter().flatten() {
        match transform {
            Transform::Affine(affine) => assert!(is_finite(&affine)),
            Transform::Displacement(field) => assert_eq!(field.vectors.len(), field.grid.len()),
        }
    }
    if let Ok(affine) = itk::read_affine(path) {
        assert!(is_finite(&affine));
    }
    let _ = itk::is_affine_of_slices(path);
}

fn read_matrix(path: &Path, _: &[u8]) {
    let grid = seeds::grid();
    if let Ok(affine) = fsl::read_matrix(path, &grid, &grid) {
        assert!(is_finite(&affine));
    }
}

fn read_points(path: &Path, _: &[u8]) {
    if let Ok(table) = PointTable::read(path) {
        assert!(table.points().iter().all(|point| point.coords.iter().all(|value| value.is_finite())));
    }
}

fn read_geometry(path: &Path, _: &[u8]) {
    // A damaged surface of FreeSurfer is not recognised.
    let Some(format) = GeometryFormat::of_file(path) else { return };
    let copy = path.with_file_name("copy");
    let mut count = 0;
    let mut map = |points: &mut [[f64; 3]]| {
        assert!(points.iter().flatten().all(|value| value.is_finite()));
        count += points.len() as u64;
    };
    let moving = Moving { map: &mut map, undeclared: Some(World::Ras), onto: None };
    if let Ok(moved) = geometry::carry_file(format, path, &copy, moving) {
        assert_eq!(moved.points, count);
        assert!(std::fs::remove_file(&copy).is_ok(), "a copy is written");
    }
    assert!(!copy.exists(), "a copy of a damaged file is written");
}

fn read_label_list(path: &Path, _: &[u8]) {
    if let Ok(labels) = label_list::read(path) {
        assert!(!labels.is_empty());
    }
}

fn read_table(path: &Path, _: &[u8]) {
    let sources = [path.to_owned()];
    for channels in [&[][..], &["image".to_owned(), "labels".to_owned()]] {
        let Ok(listing) = subjects::list(&sources, channels) else { continue };
        assert!(!listing.subjects.is_empty());
        for subject in &listing.subjects {
            assert_eq!(subject.images.len(), listing.channels.len());
            assert!(!subject.name.is_empty() && !subject.name.contains(['/', '\\', '\n', '\u{1b}']));
        }
    }
}

fn read_command_line(_: &Path, bytes: &[u8]) {
    let words = bytes.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec()));
    let _ = antsreg_cli::understands(words.collect());
}
