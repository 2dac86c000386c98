//! Motion correction of image series for Python.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use antsreg_core::Volume;
use antsreg_core::io::nifti::Timing;
use antsreg_kernels::apply::SplineOrder;
use antsreg_study::apply::Reading;
use antsreg_study::motion::{InMemory, Motion, MotionFiles, Names, Opened, ReferenceVolume, Task};
use pyo3::prelude::*;

use crate::devices::Lease;
use crate::error::Failure;
use crate::image::Image;
use crate::observer::Watcher;
use crate::plan::read;
use crate::process;
use crate::space::{Matrix, matrix};

/// The result of a motion correction: the motion of each volume of a series.
#[pyclass(frozen, module = "antsreg_gpu._native")]
pub struct Series {
    task: Task,
    /// The volumes of the series, if the user gave an array instead of a file.
    volumes: Option<InMemory>,
    motion: Motion,
}

#[pymethods]
impl Series {
    /// The affine of each volume, from points of the reference to points of the volume, 4×4, RAS mm.
    #[getter]
    fn affines(&self) -> Vec<Matrix> {
        self.motion.transforms.iter().map(matrix).collect()
    }

    /// The motion table, one row for each volume: six parameters (translations in mm, rotations in radians), framewise
    /// displacement (mm), root mean squared deviation (mm), DVARS and standardised DVARS. Missing values are NaN.
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

    /// The volumes of the series that could not be aligned: their numbers, counted from 0, and the reasons.
    #[getter]
    fn failed(&self) -> Vec<(usize, String)> {
        self.motion.failed.clone()
    }

    /// Volumes that resemble no other volume, counted from 0, with a sentence about it.
    #[getter]
    fn unlike(&self) -> Vec<(usize, String)> {
        self.motion.unlike.clone()
    }

    /// The mean over the motion-corrected volumes of the series.
    fn mean(&self, py: Python) -> Result<Image, Failure> {
        process::compute(py, || Ok(Image::made(self.motion.mean(), "the mean", false)))
    }

    /// The corrected volume with this number, counted from 0.
    fn corrected(&self, py: Python, index: usize) -> Result<Image, Failure> {
        process::compute(py, || {
            let corrected = self.task.corrected(&self.motion, self.volumes.as_ref(), index)?;
            Ok(Image::made(corrected, "a corrected volume", false))
        })
    }

    /// Writes the files of `antsreg-gpu motion`, with names that begin with `prefix`. Returns the paths of the written
    /// files.
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

/// The reference of a motion correction, as given from Python.
#[derive(FromPyObject)]
pub enum GivenReference<'py> {
    /// The reference of the motion correction is an image in memory.
    Image(PyRef<'py, Image>),
    /// The reference is given as text: `middle`, `mean`, the number of a volume, or the path of an image.
    Text(String),
}

/// Aligns every volume of a series to a reference. `name` is the path of the series, or its name in messages if
/// `volumes` contains a series in memory.
/// Returns the motion, and the reason if a GPU was preferred but not used.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python code passes all these arguments to the function")]
pub fn register_series(
    py: Python,
    name: PathBuf,
    volumes: Option<Vec<PyRef<Image>>>,
    repetition_s: f32,
    reference: GivenReference,
    options: &str,
    device: &str,
    keep_going: bool,
    progress: Option<Py<PyAny>>,
) -> Result<(Series, Option<String>), Failure> {
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
        let files = MotionFiles { input: name, reference, names: Names::default(), in_place: false };
        let reading = Reading::Spline(SplineOrder::CUBIC);
        let task = Task { files, options, reading, keep_going, command_line: Vec::new() };
        let mut lease = Lease::open(device)?;
        let opened = Opened::of(&task, volumes.as_ref(), image)?;
        let mut watcher = Watcher::new(progress, Arc::new(AtomicBool::new(false)));
        let found = opened.find(lease.device.clone(), &mut |progress| watcher.aligned(progress.aligned, progress.of));
        let motion = found.map_err(|error| watcher.stopped(error))?.motion;
        Ok((Series { task, volumes, motion }, lease.note.take().map(|note| note.to_string())))
    })
}
