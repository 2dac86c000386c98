//! A motion correction from a file to files.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use antsreg_core::io::nifti::{self, Planes, PlanesFile, SeriesReader, Stored};
use antsreg_core::io::outputs::{Outputs, write_file};
use antsreg_core::io::{ErrorKind, fsl, itk};
use antsreg_core::{AffineTransform, Grid, Transform, TransformChain, Volume, memory};
use antsreg_kernels::apply;
use antsreg_motion::{BATCH, Options, Reference, Series};
use nalgebra::Point3;
use rayon::prelude::*;
use serde::Serialize;

use super::quality::Quality;
use super::sums::Sums;
use super::table::{self, Row};
use super::{MotionFiles, ReferenceVolume};
use crate::apply::Reading;
use crate::{Error, inputs};

/// The input of a motion correction: files, options and the command line.
#[derive(Debug, Clone)]
pub struct Task {
    /// Names of the input and output files.
    pub files: MotionFiles,
    /// The options of the alignment.
    pub options: Options,
    /// How volumes are read between their voxels for the corrected series and the images of it.
    pub reading: Reading,
    /// Whether volumes that cannot be aligned are left out, instead of ending the correction. Such a volume gets the
    /// transform of the volume before.
    pub keep_going: bool,
    /// The command, for the record.
    pub command_line: Vec<String>,
}

/// Progress of a motion correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Number of volumes that are aligned so far.
    pub aligned: usize,
    /// All volumes; twice as many as the series has where the reference is its mean.
    pub of: usize,
}

/// A series whose motion is known. Its files get their names by [`Found::commit`].
#[derive(Debug)]
pub struct Found {
    /// The output files written so far; more files may be added.
    pub outputs: Outputs,
    /// From points of the reference to points of each volume, RAS mm.
    pub transforms: Vec<AffineTransform>,
    /// The motion parameters of each volume.
    pub rows: Vec<Row>,
    /// The centre of rotations, in the reference, RAS mm.
    pub centre: Point3<f64>,
    /// The grids of the reference and of the volumes.
    pub grids: [Grid; 2],
    /// Volumes that could not be aligned, counted from 0, and why.
    pub failed: Vec<(usize, String)>,
}

/// A series that was corrected.
#[derive(Debug, Clone)]
pub struct Corrected {
    /// The files that were written.
    pub paths: Vec<PathBuf>,
    /// The motion parameters of each volume.
    pub rows: Vec<Row>,
    /// Volumes that could not be aligned, counted from 0, and why.
    pub failed: Vec<(usize, String)>,
}

impl Found {
    /// Gives the files their names.
    ///
    /// # Errors
    /// A file that cannot be renamed.
    pub fn commit(self) -> Result<Corrected, Error> {
        Ok(Corrected { paths: self.outputs.commit()?, rows: self.rows, failed: self.failed })
    }
}

/// The JSON record of a correction.
#[derive(Debug, Serialize)]
struct Record<'a> {
    version: &'static str,
    command_line: &'a [String],
    input: &'a std::path::Path,
    reference: &'a ReferenceVolume,
    options: &'a Options,
    volumes: usize,
    failed: &'a [(usize, String)],
    centre_ras_mm: [f64; 3],
    mean_framewise_displacement_mm: f64,
    seconds: f64,
}

/// Aligns every volume of a series to the reference and writes what was asked for. The observer may stop it.
///
/// # Errors
/// A file that is no series, is damaged or cannot be written; a volume that cannot be aligned, unless such volumes are left
/// out; too little memory; an observer that breaks.
pub fn run(task: &Task, observer: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Corrected, Error> {
    find(task, observer)?.commit()
}

/// As [`run`], with files that do not have their names yet, so that others can be added.
///
/// # Errors
/// Those of [`run`].
pub fn find(task: &Task, observer: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Found, Error> {
    let began = Instant::now();
    let Task { files, options, .. } = task;
    files.check()?;
    let mut passes = Passes::open(task, observer)?;
    let reference_image = passes.reference()?;
    let reference = prepared(task, &reference_image)?;
    let mut pass = passes.begin(&reference, &reference_image)?;
    let names = &files.names;
    let mut outputs = Outputs::new();
    if let Some(path) = &names.corrected {
        let grid = reference_image.grid.clone();
        let planes = Planes::Series(pass.reader.timing());
        let file = PlanesFile { grid: &grid, count: pass.count, planes, stored: Stored::Float32 };
        let count = pass.count;
        let mut ready = VecDeque::new();
        outputs.write(path, |path| {
            file.write(path, |index| {
                if ready.is_empty() {
                    ready.extend(pass.next_batch()?);
                }
                ready.pop_front().ok_or(Error::NoVolume { path: files.input.clone(), index, count })
            })
        })?;
    } else {
        while !pass.next_batch()?.is_empty() {}
    }
    let Pass { transforms, failed, sums, quality, .. } = pass;
    let rows = table::rows(&transforms, &reference.centre(), &quality.finish());
    let grids = [reference_image.grid.clone(), passes.first.grid.clone()];
    if let Some(path) = &names.transforms {
        outputs.write(path, |path| Ok::<_, Error>(itk::write_affines(path, &transforms, reference.centre())?))?;
    }
    if let Some(path) = &names.table {
        outputs.write(path, |path| table::write(path, &rows))?;
    }
    let images =
        [(&names.mean, Sums::mean as Image), (&names.variance, Sums::variance), (&names.deviation, Sums::deviation)];
    for (name, image) in images {
        if let Some(path) = name {
            let image = image(&sums, &grids[0]);
            outputs.write(path, |path| Ok::<_, Error>(nifti::write_volume(path, &image)?))?;
        }
    }
    if let Some(folder) = &names.matrices {
        for (n, transform) in transforms.iter().enumerate() {
            let name = folder.join(format!("MAT_{n:04}"));
            outputs.write(&name, |path| Ok::<_, Error>(fsl::write_matrix(path, transform, &grids[0], &grids[1])?))?;
        }
    }
    if let Some(path) = &names.record {
        let displacements = rows.iter().filter_map(|row| row.since_before).map(|[displacement, _]| displacement);
        let record = Record {
            version: env!("CARGO_PKG_VERSION"),
            command_line: &task.command_line,
            input: &files.input,
            reference: &files.reference,
            options,
            volumes: transforms.len(),
            failed: &failed,
            centre_ras_mm: reference.centre().coords.into(),
            mean_framewise_displacement_mm: displacements.sum::<f64>() / (rows.len().max(2) - 1) as f64,
            seconds: began.elapsed().as_secs_f64(),
        };
        outputs.write(path, |temporary| {
            let text =
                serde_json::to_string_pretty(&record).map_err(|source| Error::Json { path: path.clone(), source })?;
            Ok::<_, Error>(write_file(temporary, (text + "\n").as_bytes())?)
        })?;
    }
    Ok(Found { outputs, transforms, rows, centre: reference.centre(), grids, failed })
}

/// A function that makes an image on a grid from the sums over the corrected volumes.
type Image = fn(&Sums, &Grid) -> Volume;

fn prepared(task: &Task, image: &Volume) -> Result<Reference, Error> {
    let path = task.files.reference.file().unwrap_or(&task.files.input);
    Reference::new(image, &task.options).map_err(|source| Error::MotionReference { path: path.into(), source })
}

/// One or two passes over the series, which align all volumes.
struct Passes<'a> {
    task: &'a Task,
    observer: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    /// The first volume; all volumes have its grid.
    first: Volume,
    /// Volumes of the series.
    count: usize,
    /// Number of volumes aligned in all passes so far, and the expected total.
    progress: Progress,
}

impl<'a> Passes<'a> {
    fn open(task: &'a Task, observer: &'a mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Passes<'a>, Error> {
        let path = &task.files.input;
        let mut reader = SeriesReader::open(path)?;
        let count = reader.count();
        if count < 2 {
            return Err(Error::OtherKind { path: path.clone(), expected: "a series of volumes", found: [count, 1] });
        }
        // A batch as read, smoothed on two levels with the splines of both, and as corrected; sums and courses.
        let bytes = (reader.grid().len() * size_of::<f32>()) as u64 * (BATCH as u64 * 5 + 16);
        memory::check(bytes)
            .map_err(|shortage| antsreg_core::io::Error { path: path.clone(), kind: shortage.into() })?;
        let zeros = Volume::filled(reader.grid().clone(), 0.0);
        let first = match reader.next_volume() {
            Err(error) if task.keep_going && is_not_finite(&error) => zeros,
            read => read?.unwrap_or(zeros),
        };
        let of = if task.files.reference == ReferenceVolume::Mean { 2 * count } else { count };
        Ok(Passes { task, observer, first, count, progress: Progress { aligned: 0, of } })
    }

    /// The volume to which all volumes are aligned.
    fn reference(&mut self) -> Result<Volume, Error> {
        let path = &self.task.files.input;
        let of_series = |index: usize| -> Result<Volume, Error> {
            let mut reader = SeriesReader::open(path)?;
            for _ in 0..index {
                reader.skip_volume()?;
            }
            reader.next_volume()?.ok_or(Error::NoVolume { path: path.clone(), index, count: self.count })
        };
        match &self.task.files.reference {
            ReferenceVolume::File(path) => inputs::any_image(path),
            ReferenceVolume::Middle => of_series(self.count / 2),
            ReferenceVolume::Volume(index) => of_series(*index),
            ReferenceVolume::Mean => {
                let middle = of_series(self.count / 2)?;
                let reference = prepared(self.task, &middle)?;
                let mut pass = self.begin(&reference, &middle)?;
                while !pass.next_batch()?.is_empty() {}
                Ok(pass.sums.mean(&middle.grid))
            }
        }
    }

    /// Begins a pass over the series.
    fn begin<'b>(&'b mut self, reference: &'b Reference, image: &'b Volume) -> Result<Pass<'b>, Error> {
        let names = &self.task.files.names;
        let squares = names.variance.is_some() || names.deviation.is_some();
        Ok(Pass {
            task: self.task,
            reader: SeriesReader::open(&self.task.files.input)?,
            count: self.count,
            image,
            series: Series::new(reference),
            transforms: Vec::new(),
            failed: Vec::new(),
            sums: Sums::new(image.voxels.len(), squares),
            quality: Quality::new(image),
            observer: self.observer,
            progress: &mut self.progress,
        })
    }
}

/// One pass over the series, a batch at a time.
struct Pass<'a> {
    task: &'a Task,
    reader: SeriesReader,
    /// Volumes of the series.
    count: usize,
    image: &'a Volume,
    series: Series<'a>,
    transforms: Vec<AffineTransform>,
    failed: Vec<(usize, String)>,
    /// Sums over the corrected volumes.
    sums: Sums,
    quality: Quality,
    observer: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    progress: &'a mut Progress,
}

impl Pass<'_> {
    /// Reads, aligns and corrects the next volumes; none after the last.
    fn next_batch(&mut self) -> Result<Vec<Volume>, Error> {
        let first = self.transforms.len();
        let volumes: Vec<Volume> =
            (first..self.count.min(first + BATCH)).map(|index| self.read(index)).collect::<Result<_, _>>()?;
        let aligned = self.series.align(&volumes);
        for (n, aligned) in aligned.into_iter().enumerate() {
            let index = first + n;
            let before = self.transforms.last().copied().unwrap_or_else(AffineTransform::identity);
            let transform = match aligned {
                Ok(aligned) => aligned.transform,
                Err(source) if self.task.keep_going => {
                    if !self.failed.iter().any(|(failed, _)| *failed == index) {
                        self.failed.push((index, source.to_string()));
                    }
                    before
                }
                Err(source) => {
                    let path = self.task.files.input.clone();
                    return Err(Error::MotionVolume { path, index, source });
                }
            };
            self.transforms.push(transform);
        }
        let onto = &self.image.grid;
        let corrected: Vec<Volume> = volumes
            .par_iter()
            .zip(&self.transforms[first..])
            .map(|(volume, transform)| {
                let chain = TransformChain::from(vec![Transform::Affine(*transform)]);
                apply::resample(volume, onto, &chain, self.task.reading.on(&volume.grid), 0.0)
            })
            .collect();
        for moved in &corrected {
            self.sums.add(&moved.voxels);
            self.quality.add(moved);
        }
        self.progress.aligned += volumes.len();
        match (self.observer)(*self.progress) {
            ControlFlow::Continue(()) => Ok(corrected),
            ControlFlow::Break(()) => Err(antsreg_register::Error::Stopped.into()),
        }
    }

    /// The next volume; zeros for one that is not finite, where such volumes are left out.
    fn read(&mut self, index: usize) -> Result<Volume, Error> {
        match self.reader.next_volume() {
            Err(error) if self.task.keep_going && is_not_finite(&error) => {
                self.failed.push((index, error.to_string()));
                Ok(Volume::filled(self.reader.grid().clone(), 0.0))
            }
            Err(antsreg_core::io::Error { kind: ErrorKind::NotFinite { count, .. }, .. }) => {
                let source = antsreg_motion::Error::NotFinite { count };
                Err(Error::MotionVolume { path: self.task.files.input.clone(), index, source })
            }
            read => {
                let path = &self.task.files.input;
                read?.ok_or_else(|| Error::NoVolume { path: path.clone(), index, count: self.count })
            }
        }
    }
}

fn is_not_finite(error: &antsreg_core::io::Error) -> bool {
    matches!(error.kind, ErrorKind::NotFinite { .. })
}
