//! Motion correction of series.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use antsreg_core::Volume;
use antsreg_core::io::nifti::Timing;
use antsreg_kernels::apply::SplineOrder;
use antsreg_register::Device;
use antsreg_study::apply::Reading;
use antsreg_study::motion::{InMemory, Motion, MotionFiles, Names, Opened, ReferenceVolume, Task};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::image::Image;
use crate::observer::Watcher;
use crate::plan::read;
use crate::process;
use crate::space::{Matrix, matrix};

/// The motion of a series.
#[pyclass(frozen, module = "antsreg_gpu._native")]
pub struct Series {
    task: Task,
    /// The series, if it is in memory.
    volumes: Option<InMemory>,
    motion: Motion,
}

#[pymethods]
impl Series {
    /// From points of the reference to points of each volume, 4×4, RAS mm.
    #[getter]
    fn affines(&self) -> Vec<Matrix> {
        self.motion.transforms.iter().map(matrix).collect()
    }

    /// The table of the motion: for each volume the six parameters, framewise displacement, root mean squared deviation, DVARS
    /// and standardised DVARS; NaN where there is no value.
    #[getter]
    fn table(&self) -> Vec<[f64; 10]> {
        let row = |row: &antsreg_study::motion::Row| {
            let mut cells = [f64::NAN; 10];
            cells[..6].copy_from_slice(&row.parameters);
            for (pair, values) in [row.since_before, row.dvars].into_iter().enumerate() {
                if let Some(values) = values {
                    cells[6 + 2 * pair..][..2].copy_from_slice(&values);
                }
            }
            cells
        };
        self.motion.rows.iter().map(row).collect()
    }

    /// Volumes that could not be aligned, counted from 0, and why.
    #[getter]
    fn failed(&self) -> Vec<(usize, String)> {
        self.motion.failed.clone()
    }

    /// The mean of the corrected volumes.
    fn mean(&self, py: Python) -> Result<Image, Failure> {
        process::compute(py, || Ok(Image::made(self.motion.mean(), "the mean", false)))
    }

    /// A corrected volume, counted from 0.
    fn corrected(&self, py: Python, index: usize) -> Result<Image, Failure> {
        process::compute(py, || {
            let corrected = self.task.corrected(&self.motion, self.volumes.as_ref(), index)?;
            Ok(Image::made(corrected, "a corrected volume", false))
        })
    }

    /// Writes the files of the command; those that were written.
    fn save(
        &self,
        py: Python,
        prefix: &str,
        corrected: bool,
        fsl: bool,
        report: bool,
    ) -> Result<Vec<PathBuf>, Failure> {
        let names = Names {
            page: report.then(|| format!("{prefix}report.html").into()),
            ..Names::of(prefix, corrected, fsl)
        };
        process::compute(py, || Ok(self.task.save(&self.motion, self.volumes.as_ref(), &names)?))
    }
}

/// What Python gives as the reference.
#[derive(FromPyObject)]
pub enum GivenReference<'py> {
    /// An image in memory.
    Image(PyRef<'py, Image>),
    /// `middle`, `mean`, a number, or the path of an image.
    Text(String),
}

/// Aligns every volume of a series to a reference. `volumes` are those of a series in memory, which messages call `name`; without
/// them `name` is its file.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a series, a reference, and what every computation takes")]
pub fn register_series(
    py: Python,
    name: PathBuf,
    volumes: Option<Vec<PyRef<Image>>>,
    repetition_s: f32,
    reference: GivenReference,
    options: &str,
    keep_going: bool,
    progress: Option<Py<PyAny>>,
) -> Result<Series, Failure> {
    let options = read(options)?;
    let (reference, image) = match reference {
        GivenReference::Image(image) => (ReferenceVolume::File(image.name.clone()), Some(image.volume()?.clone())),
        GivenReference::Text(text) => (text.parse().unwrap_or(ReferenceVolume::Middle), None),
    };
    let volumes: Option<Vec<Image>> = volumes.map(|all| all.iter().map(|image| Image::clone(image)).collect());
    process::compute(py, || {
        let in_memory = |all: Vec<Image>| {
            let all: Vec<Arc<Volume>> =
                all.iter().map(|image| Ok(Arc::new(image.volume()?.clone()))).collect::<Result<_, Failure>>()?;
            let timing = Timing { start: 0.0, step: repetition_s, unit: Timing::SECONDS };
            Ok::<_, Failure>(InMemory { volumes: all, timing })
        };
        let volumes = volumes.map(in_memory).transpose()?;
        let files = MotionFiles { input: name, reference, names: Names::default() };
        let reading = Reading::Spline(SplineOrder::CUBIC);
        let task = Task { files, options, reading, keep_going, command_line: Vec::new() };
        let opened = Opened::of(&task, volumes.as_ref(), image)?;
        let mut watcher = Watcher::new(progress, Arc::new(AtomicBool::new(false)));
        let found = opened.find(&Device::cpu(), &mut |progress| watcher.aligned(progress.aligned, progress.of));
        let motion = found.map_err(|error| watcher.stopped(error))?.motion;
        Ok(Series { task, volumes, motion })
    })
}
