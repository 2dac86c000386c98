//! Motion correction of a series in one pass: all volumes are read, aligned to the reference volume and resampled, a
//! batch at a time. Reading, computing and writing of different batches go on at the same time.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use antsreg_core::io::outputs::Outputs;
use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::Backend;
use antsreg_motion::{Reference, Series};
use crossbeam_channel::{Receiver, Sender, bounded};
use nalgebra::Point3;

use super::correct::Corrector;
use super::feed::Feed;
use super::quality::Quality;
use super::sums::Sums;
use super::{Progress, Task};
use crate::Error;

/// Largest number of batches of volumes that wait between reading and alignment, and between resampling and writing.
const WAITING: usize = 1;

/// Inputs for one reading of a series, in which each volume is aligned to the reference volume and resampled.
pub(super) struct Pass<'a> {
    pub task: &'a Task,
    pub feed: &'a mut Feed,
    /// The volume to which all volumes are aligned.
    pub reference: &'a Volume,
    pub observer: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    /// Number of volumes aligned so far, in this and earlier readings of the series, and the expected total.
    pub progress: &'a mut Progress,
    /// Function that writes the corrected volumes, in their order; `None` if the corrected series is not written.
    pub write: Option<(&'a mut Outputs, Write<'a>)>,
}

/// A function that writes the corrected series. It receives the corrected volumes in batches from another thread.
pub(super) type Write<'a> = &'a (dyn Fn(&mut Outputs, Receiver<Vec<Volume>>) -> Result<(), Error> + Sync);

/// Results of one reading of a series, in which each volume was aligned to the reference volume and resampled.
pub(super) struct Passed {
    /// Transforms from points of the reference to points of each volume, RAS mm.
    pub transforms: Vec<AffineTransform>,
    /// Indices of volumes that could not be aligned, counted from 0, and why.
    pub failed: Vec<(usize, String)>,
    /// Voxel-wise sums over the corrected volumes, for their mean and variance.
    pub sums: Sums,
    /// Voxel-wise sums over the volumes as read, for their mean.
    pub sums_before: Sums,
    pub quality: Quality,
    /// Centre of the rotations in the motion table: a point of the reference volume, RAS mm.
    pub centre: Point3<f64>,
    /// Seconds that preparing the reference and aligning the volumes took, without reading, resampling and writing.
    pub alignment_seconds: f64,
}

impl antsreg_register::Computation for Pass<'_> {
    type Output = Passed;
    type Error = Error;

    fn run<B: Backend>(self, backend: &B) -> Result<Passed, Error> {
        let Pass { task, feed, reference: image, observer, progress, write } = self;
        let began = Instant::now();
        let reference = Reference::new(backend, image, &task.options).map_err(|source| task.no_reference(source))?;
        let names = &task.files.names;
        let squares = names.variance.is_some() || names.deviation.is_some();
        let mut state = State {
            task,
            series: Series::new(&reference),
            corrector: Corrector::new(backend, &image.grid, task.reading)?,
            passed: Passed {
                transforms: Vec::new(),
                failed: Vec::new(),
                sums: Sums::new(image.voxels.len(), squares),
                sums_before: Sums::new(feed.grid().len(), false),
                quality: Quality::new(image, feed.count()),
                centre: reference.centre(),
                alignment_seconds: began.elapsed().as_secs_f64(),
            },
        };
        let (send, batches) = bounded(WAITING);
        let (corrected, to_write) = bounded(WAITING);
        std::thread::scope(|scope| {
            scope.spawn(move || read(feed, &send));
            let writer = write.map(|(outputs, write)| scope.spawn(move || write(outputs, to_write)));
            let mut compute = || {
                for batch in &batches {
                    let volumes = state.process(&batch?)?;
                    progress.aligned += volumes.len();
                    if let ControlFlow::Break(()) = observer(*progress) {
                        return Err(antsreg_register::Error::Stopped.into());
                    }
                    // The corrected volumes are sent to the thread that writes them. Sending fails if the corrected
                    // series is not wanted, which is no error. Sending also fails after an error of the writing thread.
                    // Such an error ends the motion correction.
                    if corrected.send(volumes).is_err() && writer.is_some() {
                        break;
                    }
                }
                Ok(())
            };
            let computed = compute();
            drop((corrected, batches));
            let written = writer
                .map_or(Ok(()), |writer| writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            computed.and(written)
        })?;
        Ok(state.passed)
    }
}

/// Reads all volumes and sends them in batches. Ends early if a volume cannot be read, or if no thread receives batches
/// any more.
fn read(feed: &mut Feed, to: &Sender<Result<Vec<Arc<Volume>>, Error>>) {
    let (count, step) = (feed.count(), feed.batch());
    for first in (0..count).step_by(step) {
        let batch: Result<Vec<Arc<Volume>>, Error> =
            (first..count.min(first + step)).map(|index| feed.get(index)).collect();
        let failed = batch.is_err();
        if to.send(batch).is_err() || failed {
            return;
        }
    }
}

/// The state of a motion correction while it reads the series once: the series, the resampling, and the results of the
/// volumes that are done.
struct State<'a, B: Backend> {
    task: &'a Task,
    series: Series<'a, B>,
    corrector: Corrector<'a, B>,
    passed: Passed,
}

impl<B: Backend> State<'_, B> {
    /// Aligns a batch of volumes to the reference and resamples them. Returns the corrected volumes.
    fn process(&mut self, batch: &[Arc<Volume>]) -> Result<Vec<Volume>, Error> {
        let Passed { transforms, failed, sums, sums_before, quality, alignment_seconds, .. } = &mut self.passed;
        let first = transforms.len();
        let volumes: Vec<&Volume> = batch.iter().map(AsRef::as_ref).collect();
        let began = Instant::now();
        let aligned = self.series.align(&volumes).map_err(|source| self.task.of_volume(first, source))?;
        *alignment_seconds += began.elapsed().as_secs_f64();
        for (n, aligned) in aligned.into_iter().enumerate() {
            let before = transforms.last().copied().unwrap_or_else(AffineTransform::identity);
            let transform = match aligned {
                Ok(aligned) => aligned.transform,
                Err(source) if self.task.keep_going => {
                    failed.push((first + n, source.to_string()));
                    before
                }
                Err(source) => return Err(self.task.of_volume(first + n, source)),
            };
            transforms.push(transform);
        }
        let corrected = self.corrector.correct(&volumes, &transforms[first..])?;
        for (before, after) in volumes.iter().zip(&corrected) {
            sums_before.add(&before.voxels);
            sums.add(&after.voxels);
            quality.add(after);
        }
        Ok(corrected)
    }
}
