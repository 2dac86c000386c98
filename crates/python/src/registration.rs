//! The result of a registration for Python.

use std::path::PathBuf;
use std::sync::Arc;

use antsreg_core::AffineTransform;
use antsreg_core::Volume;
use antsreg_core::io::outputs;
use antsreg_kernels::apply;
use antsreg_register::{self as register, Description};
use antsreg_study::pair::{Context, Format, Labels, Names, PairFiles, Seconds, Writing, record, write, write_report};
use pyo3::prelude::*;

use crate::chain::Chain;
use crate::error::{Class, Failure};
use crate::image::Image;
use crate::process;
use crate::register::Ready;
use crate::space::{Matrix, Space, matrix};
use crate::view;

/// The result of a registration. Its arrays are views of its memory.
#[pyclass(frozen, module = "antsreg_gpu._native")]
pub struct Registration(pub Arc<Result>);

/// What a registration found, and what was registered.
pub struct Result {
    /// What it found.
    pub found: register::Registration,
    /// What was registered.
    ready: Ready,
    device: Description,
}

/// A result with its reasons to fail.
type Fallible<T> = std::result::Result<T, Failure>;

#[pymethods]
impl Registration {
    /// Fixed → moving, 4×4, RAS mm.
    #[getter]
    fn affine(&self) -> Matrix {
        matrix(&self.0.found.affine)
    }

    /// The start of the first stage, likewise.
    #[getter]
    fn start(&self) -> Matrix {
        matrix(&self.0.found.start)
    }

    /// Displacements before the affine, X×Y×Z×3, RAS mm.
    #[getter]
    fn warp<'py>(slf: &Bound<'py, Self>) -> Fallible<Option<Bound<'py, PyAny>>> {
        let field = |registration: &Registration| registration.0.found.warp().is_some();
        let view =
            || view::vectors(slf, |found| found.0.found.warp().map(|warp| (&warp.grid, warp.vectors.as_slice())));
        field(slf.get()).then(view).transpose()
    }

    /// The inverse of the warp, likewise.
    #[getter]
    fn inverse_warp<'py>(slf: &Bound<'py, Self>) -> Fallible<Option<Bound<'py, PyAny>>> {
        let field = |registration: &Registration| registration.0.found.inverse_warp().is_some();
        let view = || {
            view::vectors(slf, |found| found.0.found.inverse_warp().map(|warp| (&warp.grid, warp.vectors.as_slice())))
        };
        field(slf.get()).then(view).transpose()
    }

    /// The moving image on the fixed grid.
    #[getter]
    fn warped<'py>(slf: &Bound<'py, Self>) -> Fallible<Option<Bound<'py, PyAny>>> {
        let planar = slf.get().0.ready.planar[0];
        image(slf, planar, |found| found.warped.as_ref())
    }

    /// The fixed image on the moving grid.
    #[getter]
    fn inverse_warped<'py>(slf: &Bound<'py, Self>) -> Fallible<Option<Bound<'py, PyAny>>> {
        let planar = slf.get().0.ready.planar[1];
        image(slf, planar, |found| found.inverse_warped.as_ref())
    }

    /// Where the fixed image lies, and the warps.
    #[getter]
    fn fixed_space(&self) -> Space {
        self.space(0)
    }

    /// Where the moving image lies.
    #[getter]
    fn moving_space(&self) -> Space {
        self.space(1)
    }

    /// From fixed to moving points.
    #[getter]
    fn forward(&self) -> Chain {
        Chain::forward(self.0.clone())
    }

    /// From moving to fixed points.
    #[getter]
    fn backward(&self) -> Chain {
        Chain::backward(self.0.clone())
    }

    /// Determinants of the warp, affine excluded, on the fixed grid.
    fn jacobian(&self, py: Python) -> Fallible<Option<Image>> {
        let Some(warp) = self.0.found.warp() else { return Ok(None) };
        let planar = self.0.ready.planar[0];
        process::compute(py, || Ok(Some(Image::made(apply::jacobian(warp), "the Jacobian", planar))))
    }

    /// The record of the command, as JSON.
    fn record(&self) -> Fallible<String> {
        let (files, names) = self.files("", Writing::default());
        let seconds = self.seconds();
        let record = record(&self.context(&files, &names), &self.0.found, None, seconds);
        serde_json::to_string(&record).map_err(|error| Failure::own(Class::Input, error.to_string()))
    }

    /// Doubts about the result, in words.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.found.warnings.iter().map(ToString::to_string).collect()
    }

    /// Writes the page to judge the result by.
    fn report(&self, py: Python, path: PathBuf) -> Fallible<()> {
        process::compute(py, || {
            let (files, names) = self.files("", Writing { warped: false, inverse: false, ..Writing::default() });
            outputs::check([&path], [] as [&PathBuf; 0])?;
            Ok(write_report(&self.context(&files, &names), &self.0.found, self.seconds(), &path)?)
        })
    }

    /// Writes the files of the command. Gives their names.
    #[pyo3(signature = (prefix, format, warped, inverse))]
    fn save(&self, py: Python, prefix: &str, format: &str, warped: bool, inverse: bool) -> Fallible<Vec<PathBuf>> {
        let format = match format {
            "nii.gz" => Format::NiiGz,
            "nii" => Format::Nii,
            other => {
                let text = format!("format: expected nii.gz or nii, found `{other}`");
                return Err(Failure::own(Class::Option, text));
            }
        };
        process::compute(py, || {
            let (files, names) = self.files(prefix, Writing { format, warped, inverse, composite: false });
            names.check(&files)?;
            Ok(write(&self.context(&files, &names), &self.0.found, self.seconds_before(), Seconds::sum)?.paths)
        })
    }
}

impl Registration {
    /// A result.
    pub fn new(ready: Ready, found: register::Registration, device: Description) -> Registration {
        Registration(Arc::new(Result { found, ready, device }))
    }

    fn space(&self, side: usize) -> Space {
        let Ready { inputs, names, planar, .. } = &self.0.ready;
        Space { grid: inputs.sides()[side].grid().clone(), name: names[side].clone(), planar: planar[side] }
    }

    /// The files of the command for this registration. There is an image or a warp only if it was computed.
    fn files(&self, prefix: &str, writing: Writing) -> (PairFiles, Names) {
        let Ready { inputs, names: [fixed, moving], .. } = &self.0.ready;
        let found = &self.0.found;
        let files = PairFiles {
            fixed: fixed.clone(),
            moving: moving.clone(),
            channels: Vec::new(),
            fixed_mask: None,
            moving_mask: None,
            labels: Labels::default(),
            start: inputs.fixed.start_file.clone(),
            prefix: prefix.to_owned(),
            writing: Writing {
                warped: writing.warped && found.warped.is_some(),
                inverse: writing.inverse && (found.inverse_warp().is_some() || found.relaxed.is_none()),
                ..writing
            },
            report: None,
        };
        let names = Names::new(&files, found.relaxed.is_some());
        (files, names)
    }

    fn context<'a>(&'a self, files: &'a PairFiles, names: &'a Names) -> Context<'a> {
        let Ready { inputs, options, .. } = &self.0.ready;
        let (device, threads) = (&self.0.device, rayon::current_num_threads());
        Context {
            files,
            names,
            inputs,
            options,
            device,
            threads,
            command_line: &[],
            device_memory: None,
            profile: None,
        }
    }

    /// Seconds of what comes before the registration: nothing that is known.
    fn seconds_before(&self) -> Seconds {
        Seconds::default()
    }

    fn seconds(&self) -> Seconds {
        let mut seconds = self.seconds_before();
        seconds.add(&self.0.found);
        seconds.total = seconds.sum();
        seconds
    }
}

impl Result {
    /// The affine of the result.
    pub fn affine(&self) -> &AffineTransform {
        &self.found.affine
    }
}

/// An image of the result, if it was computed.
fn image<'py>(
    slf: &Bound<'py, Registration>,
    planar: bool,
    of: impl Fn(&register::Registration) -> Option<&Volume>,
) -> Fallible<Option<Bound<'py, PyAny>>> {
    if of(&slf.get().0.found).is_none() {
        return Ok(None);
    }
    view::voxels(slf, planar, |registration| of(&registration.0.found)).map(Some)
}
