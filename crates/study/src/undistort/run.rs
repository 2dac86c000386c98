//! The correction of distortion from files to files.

use std::path::{Path, PathBuf};

use antsreg_core::io::outputs::{self, Outputs, write_file};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, Transform, TransformChain, Volume};
use antsreg_distortion::{Encoded, Field, LevelOutcome, Options, estimate};
use antsreg_kernels::apply::{self, Interpolation};

use super::record::{ImageRecord, Record};
use super::sidecar::sidecar;
use super::{EncodedFile, Error, Names};
use crate::{Error as StudyError, Event, Invocation, Observer, RunWarning, inputs};

/// The request to correct the distortion of images, as plain data.
#[derive(Debug, Clone)]
pub struct Task {
    /// The images, all on one grid.
    pub images: Vec<EncodedFile>,
    /// A field map, Hz; `None` if the field is found from images with opposite encodings.
    pub field_map: Option<PathBuf>,
    /// Paths of the output files.
    pub names: Names,
    /// Options of the estimation.
    pub options: Options,
}

/// What was found for an image.
#[derive(Debug, Clone)]
pub struct ImageOutcome {
    /// The image without distortion.
    pub undistorted: Volume,
    /// The warp from points of the undistorted image to points of the distorted one.
    pub warp: DisplacementField,
    /// The factor by which the intensity was multiplied.
    pub jacobian: Volume,
    /// The map from points of the first image to points of this image by motion of the head, RAS mm.
    pub motion: AffineTransform,
}

/// The result of a correction of distortion.
#[derive(Debug, Clone)]
pub struct Undistorted {
    /// The images, in the order of the request.
    pub images: Vec<ImageOutcome>,
    /// Displacement of the signal of an image with positive encoding and the readout time of the first image, along
    /// the phase encoding axis, mm; on the grid of the first image.
    pub displacement: Volume,
    /// The field in Hz; `None` if no readout time is known.
    pub field: Option<Volume>,
    /// What the levels of the estimation found; none with a field map.
    pub levels: Vec<LevelOutcome>,
}

/// Smallest number of voxels along the phase encoding axis.
const LEAST_VOXELS: usize = 4;

impl Task {
    /// Checks the request without reading images.
    ///
    /// # Errors
    /// Outputs that cannot be written or would replace an input; images that cannot be combined.
    pub fn check(&self) -> Result<(), StudyError> {
        let read = self.images.iter().map(|image| image.path.as_path()).chain(self.field_map.as_deref());
        outputs::check(self.names.files(), read)?;
        let Some(first) = self.images.first() else { return Err(Error::Few { found: 0 }.into()) };
        for image in &self.images {
            if image.encoding.axis != first.encoding.axis {
                let paths = Box::new([first.path.clone(), image.path.clone()]);
                return Err(Error::Axes { paths, encodings: [first.encoding, image.encoding] }.into());
            }
        }
        if self.field_map.is_some() {
            return match self.images.iter().find(|image| image.readout_s.is_none()) {
                Some(EncodedFile { path, .. }) => {
                    Err(Error::NoReadoutTime { path: path.clone(), sidecar: sidecar(path) }.into())
                }
                None => Ok(()),
            };
        }
        if self.images.len() < 2 {
            return Err(Error::Few { found: self.images.len() }.into());
        }
        if self.images.iter().all(|image| image.encoding == first.encoding) {
            return Err(Error::OneDirection(first.encoding).into());
        }
        let known = self.images.iter().find(|image| image.readout_s.is_some());
        let unknown = self.images.iter().find(|image| image.readout_s.is_none());
        match (unknown, known) {
            (Some(image), Some(other)) => {
                Err(Error::SomeTimes { path: image.path.clone(), other: other.path.clone() }.into())
            }
            _ => Ok(()),
        }
    }

    /// Displacement of the signal of an image against that of positive encoding with the first image's readout time.
    fn scale(&self, image: &EncodedFile) -> f64 {
        let first = self.images.first().and_then(|first| first.readout_s);
        let ratio = image.readout_s.zip(first).map_or(1.0, |(own, first)| own / first);
        image.encoding.sign() * ratio
    }

    /// Reads the images and checks that they lie on one grid.
    fn read(&self) -> Result<Vec<Volume>, StudyError> {
        let mut volumes: Vec<Volume> = Vec::with_capacity(self.images.len());
        for image in &self.images {
            let volume = inputs::image(&image.path)?;
            if let (Some(first), Some(path)) = (volumes.first(), self.images.first().map(|first| &first.path)) {
                inputs::check_grid(&image.path, &volume.grid, path, &first.grid, "linear")?;
            }
            let (found, axis) = (volume.grid.shape[image.encoding.axis], image.encoding.letter());
            if found < LEAST_VOXELS {
                return Err(Error::Thin { path: image.path.clone(), axis, found, least: LEAST_VOXELS }.into());
            }
            volumes.push(volume);
        }
        Ok(volumes)
    }

    /// The displacement from the field map, on the grid of the first image.
    fn mapped_field(&self, path: &Path, first: &Volume) -> Result<Field, StudyError> {
        let map = nifti::read_volume(path)?;
        let chain = TransformChain::new();
        let mut mm = apply::resample(&map, &first.grid, &chain, Interpolation::Linear, 0.0);
        let (axis, time) =
            self.images.first().map_or((0, 0.0), |image| (image.encoding.axis, image.readout_s.unwrap_or(0.0)));
        let factor = (time * first.grid.spacing[axis]) as f32;
        mm.voxels.iter_mut().for_each(|value| *value *= factor);
        Ok(Field::of_displacement(&mm, axis))
    }
}

/// Corrects the distortion of images in files, and writes the results.
///
/// # Errors
/// A request that cannot be fulfilled ([`Task::check`]); files that cannot be read or written; images on different
/// grids; a distortion that cannot be estimated.
pub fn run(task: &Task, invocation: &Invocation, observer: &mut dyn Observer) -> Result<Undistorted, StudyError> {
    task.check()?;
    let volumes = task.read()?;
    let Some(first) = volumes.first() else { return Err(Error::Few { found: 0 }.into()) };
    let axis = task.images.first().map_or(0, |image| image.encoding.axis);
    let scales: Vec<f64> = task.images.iter().map(|image| task.scale(image)).collect();
    let (field, motions, levels) = match &task.field_map {
        Some(path) => {
            let still = vec![AffineTransform::identity(); volumes.len()];
            (task.mapped_field(path, first)?, still, Vec::new())
        }
        None => {
            let images: Vec<Encoded> =
                volumes.iter().zip(&scales).map(|(volume, scale)| Encoded { volume, scale: *scale }).collect();
            let mut tell = |level: &LevelOutcome| {
                let [x, y, z] = level.shape;
                let text = format!(
                    "distortion: {x}×{y}×{z} voxels, {} steps, corrected images correlate by {:.4}",
                    level.steps, level.correlation
                );
                observer.tell(&Event::Step(&text));
            };
            let found = estimate(&images, axis, &task.options, &mut tell).map_err(Error::from)?;
            (found.field, found.motions, found.levels)
        }
    };
    let images = volumes.iter().zip(&scales).zip(&motions).map(|((volume, scale), motion)| {
        let warp = field.warp(*scale, motion);
        let jacobian = field.jacobian(*scale);
        let chain = TransformChain::from(vec![Transform::Displacement(warp.clone())]);
        let mut undistorted = apply::resample(volume, field.grid(), &chain, Interpolation::BSpline, 0.0);
        undistorted.voxels.iter_mut().zip(&jacobian.voxels).for_each(|(value, factor)| *value *= factor);
        ImageOutcome { undistorted, warp, jacobian, motion: *motion }
    });
    let images: Vec<ImageOutcome> = images.collect();
    let displacement = field.displacement_mm();
    let time = task.images.first().and_then(|image| image.readout_s);
    let hertz = time.map(|time| {
        let factor = (1.0 / (time * field.grid().spacing[axis])) as f32;
        let voxels = displacement.voxels.iter().map(|mm| mm * factor).collect();
        Volume { grid: displacement.grid.clone(), voxels }
    });
    if hertz.is_none() {
        let mut text = String::from("no readout time is known: the displacement is written in mm, no field in Hz");
        if task.names.field.exists() {
            text += &format!("; {} is of an earlier run", task.names.field.display());
        }
        observer.tell(&Event::Warning(&RunWarning::Text(text)));
    }
    let found = Undistorted { images, displacement, field: hertz, levels };
    write(task, &found, invocation)?.iter().for_each(|path| observer.tell(&Event::Wrote(path)));
    Ok(found)
}

/// Writes all files or none. Returns their paths.
fn write(task: &Task, found: &Undistorted, invocation: &Invocation) -> Result<Vec<PathBuf>, StudyError> {
    let mut outputs = Outputs::new();
    let mut volumes: Vec<(&PathBuf, &Volume)> = vec![(&task.names.displacement, &found.displacement)];
    volumes.extend(found.field.iter().map(|field| (&task.names.field, field)));
    for (n, image) in found.images.iter().enumerate() {
        volumes.push((&task.names.undistorted[n], &image.undistorted));
        volumes.push((&task.names.jacobians[n], &image.jacobian));
    }
    for (path, volume) in volumes {
        outputs.write::<StudyError>(path, |path| Ok(nifti::write_volume(path, volume)?))?;
    }
    for (path, image) in task.names.warps.iter().zip(&found.images) {
        outputs.write::<StudyError>(path, |path| Ok(itk::write_warp(path, &image.warp)?))?;
    }
    let largest = found.displacement.voxels.iter().fold(0.0, |most: f32, mm| most.max(mm.abs()));
    let images = task.images.iter().zip(&found.images).map(|(file, image)| ImageRecord {
        path: &file.path,
        phase_encoding: file.encoding,
        readout_s: file.readout_s,
        motion: image.motion,
    });
    let record = Record {
        version: env!("CARGO_PKG_VERSION"),
        command_line: invocation.command_line,
        images: images.collect(),
        field_map: task.field_map.as_deref(),
        options: &task.options,
        levels: &found.levels,
        largest_displacement_mm: f64::from(largest),
        correlation: found.levels.last().map(|level| level.correlation),
        device: "cpu",
        seconds: invocation.began.elapsed().as_secs_f64(),
    };
    let path = &task.names.record;
    outputs.write(path, |temporary| {
        let text = serde_json::to_string_pretty(&record)
            .map_err(|source| StudyError::Json { path: path.clone(), source })?;
        Ok::<_, StudyError>(write_file(temporary, (text + "\n").as_bytes())?)
    })?;
    Ok(outputs.commit()?)
}
