//! Runs a motion correction from a file of a series to output files.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use antsreg_core::Volume;
use antsreg_core::io::nifti::{Planes, PlanesFile, Stored};
use antsreg_core::io::outputs::Outputs;
use antsreg_register::Device;
use crossbeam_channel::Receiver;

use super::feed::Feed;
use super::outcome::Motion;
use super::pass::{Pass, Passed, Write};
use super::quality;
use super::table::{self, Row};
use super::task::{InMemory, Progress, Task};
use super::{MotionFiles, Names, ReferenceVolume};
use crate::{Error, inputs};

/// A series whose motion has been found, and whose output files have temporary names. [`Found::commit`] gives the
/// output files their final names.
#[derive(Debug)]
pub struct Found {
    /// The output files of the motion correction that are written so far; more files may be added.
    pub outputs: Outputs,
    /// The motion of the head that was found in the series of volumes.
    pub motion: Motion,
}

/// Result of a motion correction whose output files have their final names.
#[derive(Debug, Clone)]
pub struct Corrected {
    /// Paths of the output files that the motion correction has written.
    pub paths: Vec<PathBuf>,
    /// The motion parameters of each volume.
    pub rows: Vec<Row>,
    /// Indices of volumes that could not be aligned, counted from 0, and why.
    pub failed: Vec<(usize, String)>,
    /// Indices of volumes that resemble no other volume, counted from 0, and a sentence about it.
    pub unlike: Vec<(usize, String)>,
}

impl Found {
    /// Gives the output files their final names.
    ///
    /// # Errors
    /// A file that cannot be renamed.
    pub fn commit(self) -> Result<Corrected, Error> {
        let Motion { rows, failed, unlike, .. } = self.motion;
        Ok(Corrected { paths: self.outputs.commit()?, rows, failed, unlike })
    }
}

/// Aligns every volume of a series to the reference and writes the requested files. `observer` receives the progress
/// and may stop the correction.
///
/// # Errors
/// A file that is no series, is damaged or cannot be written; a volume that cannot be aligned, unless such volumes are
/// left out; too little memory; an observer that stops the correction; a device that fails.
pub fn run(
    task: &Task,
    device: &Device,
    observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Corrected, Error> {
    Opened::new(task)?.find(device.clone(), observer)?.commit()
}

/// A series for motion correction: the input and output paths were checked, and the reference was read. No device is
/// needed so far.
pub struct Opened<'a> {
    task: &'a Task,
    feed: Feed,
    /// The volume to which all volumes are aligned at first. If the reference is the mean of the series, they are
    /// aligned again to the mean.
    reference: Volume,
    began: Instant,
}

impl<'a> Opened<'a> {
    /// Checks the output paths, opens the series and reads the reference.
    ///
    /// # Errors
    /// Output files that cannot be written; a file that is no series or is damaged; a volume that the series does not
    /// have; too little memory.
    pub fn new(task: &'a Task) -> Result<Opened<'a>, Error> {
        Opened::of(task, None, None)
    }

    /// Opens a series as [`Opened::new`] does; the series or the reference may be given in memory instead of in files.
    /// Error messages still name the paths in `task`.
    ///
    /// # Errors
    /// The errors of [`Opened::new`].
    pub fn of(task: &'a Task, series: Option<&InMemory>, reference: Option<Volume>) -> Result<Opened<'a>, Error> {
        let began = Instant::now();
        task.files.check()?;
        let mut feed = Feed::of(task, series)?;
        if let Some(reference) = reference {
            return Ok(Opened { task, feed, reference, began });
        }
        let middle = feed.count() / 2;
        let mut of_series = |index: usize| -> Result<Volume, Error> { Ok(Volume::clone(&*feed.get(index)?)) };
        let reference = match &task.files.reference {
            ReferenceVolume::File(path) => inputs::any_image(path)?,
            ReferenceVolume::Volume(index) => of_series(*index)?,
            ReferenceVolume::Middle | ReferenceVolume::Mean => of_series(middle)?,
        };
        Ok(Opened { task, feed, reference, began })
    }

    /// Aligns all volumes of the series and writes the output files of the motion correction under temporary names, so
    /// that more files can be added. The device is released while the last files are written.
    ///
    /// # Errors
    /// The errors of [`run`].
    pub fn find(self, device: Device, observer: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Found, Error> {
        let Opened { task, mut feed, mut reference, began } = self;
        let (count, grid) = (feed.count(), feed.grid().clone());
        let mean = task.files.reference == ReferenceVolume::Mean;
        let mut progress = Progress { aligned: 0, of: if mean { 2 * count } else { count } };
        let mut alignment_seconds = 0.0;
        if mean {
            let (feed, progress) = (&mut feed, &mut progress);
            let pass = Pass { task, feed, reference: &reference, observer, progress, write: None };
            let first = device.run(pass)?;
            reference = first.sums.mean(&reference.grid);
            alignment_seconds = first.alignment_seconds;
        }
        let mut outputs = Outputs::new();
        let timing = feed.timing();
        let onto = reference.grid.clone();
        let write = |outputs: &mut Outputs, batches: Receiver<Vec<Volume>>| {
            let Some(path) = &task.files.names.corrected else { return Ok(()) };
            let file = PlanesFile { grid: &onto, count, planes: Planes::Series(timing), stored: Stored::Float32 };
            let mut ready = VecDeque::new();
            outputs.write(path, |path| {
                file.write(path, |index| {
                    if ready.is_empty() {
                        ready.extend(batches.recv().unwrap_or_default());
                    }
                    ready.pop_front().ok_or_else(|| Error::NoVolume { path: task.files.input.clone(), index, count })
                })
            })
        };
        let wanted = task.files.names.corrected.is_some();
        let write = wanted.then_some((&mut outputs, &write as Write<'_>));
        let passed = device.run(Pass {
            task,
            feed: &mut feed,
            reference: &reference,
            observer,
            progress: &mut progress,
            write,
        })?;
        alignment_seconds += passed.alignment_seconds;
        let description = device.description().clone();
        std::thread::scope(|scope| {
            // The driver takes time to release a GPU, so a separate thread releases the device.
            scope.spawn(move || drop(device));
            let Passed { transforms, failed, sums, sums_before, quality, centre, .. } = passed;
            let courses = quality.courses();
            let is_known = |n: &usize| !failed.iter().any(|(index, _)| index == n);
            let unlike = quality::unlike(&courses).into_iter().filter(|(n, _)| is_known(n)).map(|(n, best)| {
                let why = format!(
                    "the volume resembles no other (largest correlation {best:.2}): noise, or turned over? Its transform \
                     has no meaning"
                );
                (n, why)
            });
            let unlike = unlike.collect();
            let motion = Motion {
                rows: table::rows(&transforms, &centre, &quality.finish(&courses)),
                transforms,
                centre,
                grids: [reference.grid, grid],
                failed,
                unlike,
                device: description,
                seconds: began.elapsed().as_secs_f64(),
                alignment_seconds,
                timing,
                sums: [sums_before, sums],
                courses,
            };
            motion.write(task, &task.files.names, &mut outputs)?;
            Ok(Found { outputs, motion })
        })
    }
}

impl Task {
    /// Writes output files of a motion correction from its result `motion`. The input series is read again, to be
    /// resampled for the corrected series.
    ///
    /// # Errors
    /// A file that cannot be read or written.
    pub fn save(&self, motion: &Motion, series: Option<&InMemory>, names: &Names) -> Result<Vec<PathBuf>, Error> {
        let files = MotionFiles { names: names.clone(), ..self.files.clone() };
        files.check()?;
        motion.save(self, names, &mut Feed::of(self, series)?)
    }

    /// Resamples volume `index` (counted from 0) of the series onto the reference, through its transform in `motion`,
    /// the motion that this correction found.
    ///
    /// # Errors
    /// A file that cannot be read; an index that the series does not have.
    pub fn corrected(&self, motion: &Motion, series: Option<&InMemory>, index: usize) -> Result<Volume, Error> {
        motion.corrected(self, index, &*Feed::of(self, series)?.get(index)?)
    }
}
