//! The result of a motion correction, and its output files.

use std::path::PathBuf;

use antsreg_core::io::nifti::{self, Planes, PlanesFile, Stored, Timing};
use antsreg_core::io::outputs::{self, Outputs, write_file};
use antsreg_core::io::{fsl, itk};
use antsreg_core::{AffineTransform, Grid, Transform, TransformChain, Volume};
use antsreg_kernels::apply;
use antsreg_motion::Options;
use antsreg_register::Description;
use nalgebra::Point3;
use serde::Serialize;

use super::feed::Feed;
use super::page::Page;
use super::sums::Sums;
use super::table::{self, Row};
use super::{Names, ReferenceVolume, Task};
use crate::Error;

/// The motion of a head, found in a series of volumes.
#[derive(Debug, Clone)]
pub struct Motion {
    /// Transforms from points of the reference to points of each volume, RAS mm.
    pub transforms: Vec<AffineTransform>,
    /// The motion parameters of each volume.
    pub rows: Vec<Row>,
    /// Centre of the rotations in the motion table: a point of the reference volume, RAS mm.
    pub centre: Point3<f64>,
    /// The grid of the reference, and the grid of the volumes of the series.
    pub grids: [Grid; 2],
    /// Indices of volumes that could not be aligned, counted from 0, and why.
    pub failed: Vec<(usize, String)>,
    /// Indices of volumes that resemble no other volume, counted from 0, and why that matters.
    pub unlike: Vec<(usize, String)>,
    /// The device on which the motion was computed.
    pub device: Description,
    /// Wall time since the series was opened, seconds.
    pub(super) seconds: f64,
    /// Wall time of preparing the reference and aligning the volumes, seconds. The total time in `seconds` includes
    /// this time.
    pub(super) alignment_seconds: f64,
    /// Times at which the volumes were acquired.
    pub(super) timing: Timing,
    /// Voxel-wise sums for mean and variance: over the volumes as read, and over the corrected volumes.
    pub(super) sums: [Sums; 2],
    /// Intensities over time of some voxels of the head, a list for each voxel.
    pub(super) courses: Vec<Vec<f32>>,
}

/// The JSON record of a motion correction.
#[derive(Debug, Serialize)]
struct Record<'a> {
    version: &'static str,
    command_line: &'a [String],
    input: &'a std::path::Path,
    reference: &'a ReferenceVolume,
    options: &'a Options,
    device: &'a Description,
    volumes: usize,
    failed: &'a [(usize, String)],
    unlike: &'a [(usize, String)],
    centre_ras_mm: [f64; 3],
    mean_framewise_displacement_mm: f64,
    seconds: f64,
    alignment_seconds: f64,
}

impl Motion {
    /// The mean of the corrected volumes, on the grid of the reference.
    pub fn mean(&self) -> Volume {
        self.sums[1].mean(&self.grids[0])
    }

    /// Resamples volume `index` of the series on the grid of the reference, with the interpolation that `task` asks
    /// for.
    pub(super) fn corrected(&self, task: &Task, index: usize, volume: &Volume) -> Result<Volume, Error> {
        let count = self.transforms.len();
        let none = || Error::NoVolume { path: task.files.input.clone(), index, count };
        let transform = self.transforms.get(index).ok_or_else(none)?;
        let chain = TransformChain::from(vec![Transform::Affine(*transform)]);
        Ok(apply::resample(volume, &self.grids[0], &chain, task.reading.on(&volume.grid), 0.0))
    }

    /// Writes all output files, the corrected series included; `feed` reads the series. All files appear together at
    /// the end.
    ///
    /// # Errors
    /// A file that cannot be read or written.
    pub(super) fn save(&self, task: &Task, names: &Names, feed: &mut Feed) -> Result<Vec<PathBuf>, Error> {
        let mut outputs = Outputs::new();
        if let Some(path) = &names.corrected {
            let (count, planes) = (self.transforms.len(), Planes::Series(self.timing));
            let file = PlanesFile { grid: &self.grids[0], count, planes, stored: Stored::Float32 };
            outputs.write(path, |path| file.write(path, |index| self.corrected(task, index, &*feed.get(index)?)))?;
        }
        self.write(task, names, &mut outputs)?;
        Ok(outputs.commit()?)
    }

    /// Writes all output files of the motion correction except the corrected series.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn write(&self, task: &Task, names: &Names, outputs: &mut Outputs) -> Result<(), Error> {
        let Motion { transforms, rows, centre, grids, failed, unlike, device, sums: [sums_before, sums], .. } = self;
        let Task { files, options, .. } = task;
        if let Some(path) = &names.transforms {
            outputs.write(path, |path| Ok::<_, Error>(itk::write_affines(path, transforms, *centre)?))?;
        }
        if let Some(path) = &names.table {
            outputs.write(path, |path| table::write(path, rows))?;
        }
        let images = [
            (&names.mean, Sums::mean as Image),
            (&names.variance, Sums::variance),
            (&names.deviation, Sums::deviation),
        ];
        for (name, image) in images {
            if let Some(path) = name {
                let image = image(sums, &grids[0]);
                outputs.write(path, |path| Ok::<_, Error>(nifti::write_volume(path, &image)?))?;
            }
        }
        if let Some(folder) = &names.matrices {
            outputs::make_folder(folder)?;
            for (n, transform) in transforms.iter().enumerate() {
                let name = folder.join(format!("MAT_{n:04}"));
                outputs
                    .write(&name, |path| Ok::<_, Error>(fsl::write_matrix(path, transform, &grids[0], &grids[1])?))?;
            }
        }
        if let Some(path) = &names.page {
            let means = [(sums_before, &grids[1]), (sums, &grids[0])].map(|(sums, grid)| sums.mean(grid));
            let page = Page { task, names, rows, failed, unlike, means: &means, courses: &self.courses };
            let html = page.html()?;
            outputs.write(path, |path| Ok::<_, Error>(write_file(path, html.as_bytes())?))?;
        }
        if let Some(path) = &names.record {
            let displacements = rows.iter().filter_map(|row| row.since_before).map(|[displacement, _]| displacement);
            let record = Record {
                version: env!("CARGO_PKG_VERSION"),
                command_line: &task.command_line,
                input: &files.input,
                reference: &files.reference,
                options,
                device,
                volumes: transforms.len(),
                failed,
                unlike,
                centre_ras_mm: centre.coords.into(),
                mean_framewise_displacement_mm: displacements.sum::<f64>() / (rows.len().max(2) - 1) as f64,
                seconds: self.seconds,
                alignment_seconds: self.alignment_seconds,
            };
            outputs.write(path, |temporary| {
                let text = serde_json::to_string_pretty(&record)
                    .map_err(|source| Error::Json { path: path.clone(), source })?;
                Ok::<_, Error>(write_file(temporary, (text + "\n").as_bytes())?)
            })?;
        }
        Ok(())
    }
}

/// A function that makes an image (mean, variance or standard deviation) on a grid from the sums over the corrected
/// volumes.
type Image = fn(&Sums, &Grid) -> Volume;
