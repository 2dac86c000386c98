//! The result of a registration for Python.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use antsreg_core::io::outputs;
use antsreg_core::{DisplacementField, Volume};
use antsreg_kernels::apply;
use antsreg_register::{self as register, Description, Resident};
use antsreg_study::pair::{Ahead, Context, Format, Names, PairFiles, Seconds, Writing, record, write, write_report};
use antsreg_study::skulls::BrainChoice;
use pyo3::prelude::*;

use crate::chain::Chain;
use crate::dlpack::DeviceArray;
use crate::error::{Class, Failure};
use crate::image::Image;
use crate::process;
use crate::register::Ready;
use crate::space::{Matrix, Space, matrix};
use crate::view;

/// The result of a registration. Numpy arrays made from it share its memory.
#[pyclass(frozen, module = "antsreg_gpu._native")]
pub struct Registration(pub Arc<Result>);

/// The result of a registration together with its inputs.
pub struct Result {
    found: Found,
    /// The inputs and options of the registration.
    ready: Ready,
    device: Description,
}

/// The warps, images and transforms of a result, with the place where they are kept.
pub enum Found {
    /// All warps, images and transforms of the result are in main memory.
    Here(Arc<register::Registration>),
    /// The warps and images of the registration result are kept in the memory of the device.
    OnDevice {
        /// The warps and images of the registration result, in the memory of the device.
        resident: Box<Resident>,
        /// The registration result without its warps and images, in main memory.
        outline: Box<register::Registration>,
        /// A copy of the whole registration result in main memory; empty until the result is first needed there.
        here: OnceLock<Arc<register::Registration>>,
    },
}

impl Found {
    /// Wraps a registration result whose warps and images are in main memory.
    pub fn here(found: register::Registration) -> Found {
        Found::Here(Arc::new(found))
    }

    /// Makes the result of a registration whose warps and images stay in the memory of the device (`resident`).
    /// `outline` is the same result without warps and images.
    pub fn on_device(resident: Resident, outline: register::Registration) -> Found {
        Found::OnDevice { resident: resident.into(), outline: outline.into(), here: OnceLock::new() }
    }

    /// Returns the registration result in main memory. Its warps and images are missing if they are still on the device
    /// only.
    fn outline(&self) -> &register::Registration {
        match self {
            Found::Here(found) => found,
            Found::OnDevice { outline, here, .. } => here.get().map_or(outline, Arc::as_ref),
        }
    }
}

/// The return type of functions that may fail with a [`Failure`].
type Fallible<T> = std::result::Result<T, Failure>;

#[pymethods]
impl Registration {
    /// The affine from fixed to moving points, 4×4, RAS mm.
    #[getter]
    fn affine(&self) -> Matrix {
        matrix(&self.0.outline().affine)
    }

    /// The initial affine of the first stage, from fixed to moving points, 4×4, RAS mm.
    #[getter]
    fn start(&self) -> Matrix {
        matrix(&self.0.outline().start)
    }

    /// The warp on the fixed grid as displacements, X×Y×Z×3, RAS mm; it acts before the affine. `None` without a
    /// deformable stage.
    #[getter]
    fn warp<'py>(slf: &Bound<'py, Self>) -> Fallible<Option<Bound<'py, PyAny>>> {
        field(slf, register::Registration::warp)
    }

    /// The inverse of the warp as displacements, X×Y×Z×3, RAS mm; `None` without a deformable stage.
    #[getter]
    fn inverse_warp<'py>(slf: &Bound<'py, Self>) -> Fallible<Option<Bound<'py, PyAny>>> {
        field(slf, register::Registration::inverse_warp)
    }

    /// A warp or an image in the memory of the device. `name` is `warp`, `inverse_warp`, `warped` or `inverse_warped`.
    /// Fails if the registration did not keep its results on the device.
    fn on_device(&self, py: Python, name: &str) -> Fallible<Option<DeviceArray>> {
        let Found::OnDevice { resident, .. } = &self.0.found else {
            let text = "the results are in main memory; register with output=\"device\" to keep them on the device";
            return Err(Failure::own(Class::Option, text));
        };
        let planar = self.0.ready.planar;
        process::compute(py, || {
            let (lent, planar) = match name {
                "warp" => (resident.warp()?, false),
                "inverse_warp" => (resident.inverse_warp()?, false),
                "warped" => (resident.warped()?, planar[0]),
                "inverse_warped" => (resident.inverse_warped()?, planar[1]),
                other => {
                    return Err(Failure::own(
                        Class::Option,
                        format!("name: expected warp, inverse_warp, warped or inverse_warped, found `{other}`"),
                    ));
                }
            };
            Ok(lent.map(|lent| DeviceArray::new(lent, planar)))
        })
    }

    /// The moving image, resampled on the fixed grid.
    #[getter]
    fn warped<'py>(slf: &Bound<'py, Self>) -> Fallible<Option<Bound<'py, PyAny>>> {
        let planar = slf.get().0.ready.planar[0];
        image(slf, planar, |found| found.warped.as_ref())
    }

    /// The fixed image, resampled on the moving grid.
    #[getter]
    fn inverse_warped<'py>(slf: &Bound<'py, Self>) -> Fallible<Option<Bound<'py, PyAny>>> {
        let planar = slf.get().0.ready.planar[1];
        image(slf, planar, |found| found.inverse_warped.as_ref())
    }

    /// The grid of the fixed image.
    #[getter]
    fn fixed_space(&self) -> Space {
        self.space(0)
    }

    /// The grid of the moving image.
    #[getter]
    fn moving_space(&self) -> Space {
        self.space(1)
    }

    /// The transforms from points of the fixed image to points of the moving image.
    #[getter]
    fn forward(&self, py: Python) -> Fallible<Chain> {
        Ok(Chain::forward(self.0.found(py)?.clone()))
    }

    /// The transforms from points of the moving image to points of the fixed image.
    #[getter]
    fn backward(&self, py: Python) -> Fallible<Chain> {
        Ok(Chain::backward(self.0.found(py)?.clone()))
    }

    /// Jacobian determinants of the warp on the fixed grid, without the affine; `None` without a deformable stage.
    fn jacobian(&self, py: Python) -> Fallible<Option<Image>> {
        let Some(warp) = self.0.found(py)?.warp() else { return Ok(None) };
        let planar = self.0.ready.planar[0];
        process::compute(py, || Ok(Some(Image::made(apply::jacobian(warp), "the Jacobian", planar))))
    }

    /// The record of the registration as JSON, as the command writes it.
    fn record(&self, py: Python) -> Fallible<String> {
        let found = self.0.found(py)?;
        let (files, names) = self.files(found, "", Writing::default());
        let record = record(&self.context(&files, &names), found, None, self.seconds(found));
        serde_json::to_string(&record).map_err(|error| Failure::own(Class::Input, error.to_string()))
    }

    /// Whether the result is right, as JSON; `None` if no images were requested.
    #[getter]
    fn verdict(&self) -> Fallible<Option<String>> {
        let json = |verdict| serde_json::to_string(verdict);
        let verdict = self.0.outline().verdict.as_ref().map(json).transpose();
        verdict.map_err(|error| Failure::own(Class::Input, error.to_string()))
    }

    /// Warnings that the result of the registration may be wrong.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.outline().warnings.iter().map(ToString::to_string).collect()
    }

    /// Writes an HTML page with images and tables, from which the quality of the registration can be judged.
    fn report(&self, py: Python, path: PathBuf) -> Fallible<()> {
        let found = self.0.found(py)?;
        process::compute(py, || {
            let writing = Writing { warped: false, inverse: false, ..Writing::default() };
            let (files, names) = self.files(found, "", writing);
            outputs::check([&path], [] as [&PathBuf; 0])?;
            Ok(write_report(&self.context(&files, &names), found, self.seconds(found), &path)?)
        })
    }

    /// Writes the files that `antsreg-gpu register` writes, with names that begin with `prefix`. Returns their paths.
    #[pyo3(signature = (prefix, format, warped, inverse, composite))]
    fn save(
        &self,
        py: Python,
        prefix: &str,
        format: &str,
        warped: bool,
        inverse: bool,
        composite: bool,
    ) -> Fallible<Vec<PathBuf>> {
        let format = match format {
            "nii.gz" => Format::NiiGz,
            "nii" => Format::Nii,
            other => {
                let text = format!("format: expected nii.gz or nii, found `{other}`");
                return Err(Failure::own(Class::Option, text));
            }
        };
        let found = self.0.found(py)?;
        process::compute(py, || {
            let (files, names) = self.files(found, prefix, Writing { format, warped, inverse, composite });
            names.check(&files)?;
            Ok(write(&self.context(&files, &names), found, Ahead::default(), self.seconds_before(), Seconds::sum)?
                .paths)
        })
    }
}

impl Registration {
    /// Makes the Python object for the result of a registration.
    pub fn new(ready: Ready, found: Found, device: Description) -> Registration {
        Registration(Arc::new(Result { found, ready, device }))
    }

    fn space(&self, side: usize) -> Space {
        let Ready { inputs, names, planar, .. } = &self.0.ready;
        Space { grid: inputs.sides()[side].grid().clone(), name: names[side].clone(), planar: planar[side] }
    }

    /// Returns the options and the names of the registration's output files, in the form that the command `antsreg-gpu
    /// register` uses. Images and warps that were not computed are left out.
    fn files(&self, found: &register::Registration, prefix: &str, writing: Writing) -> (PairFiles, Names) {
        let Ready { inputs, names: [fixed, moving], .. } = &self.0.ready;
        let files = PairFiles {
            fixed: fixed.clone(),
            moving: moving.clone(),
            start: inputs.fixed.start_file.clone(),
            brain: BrainChoice::None,
            prefix: prefix.to_owned(),
            writing: Writing {
                warped: writing.warped && found.warped.is_some(),
                inverse: writing.inverse && (found.inverse_warp().is_some() || found.relaxed.is_none()),
                ..writing
            },
            ..PairFiles::default()
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

    /// Times of the steps before the registration, s. The Python package does not measure them.
    fn seconds_before(&self) -> Seconds {
        Seconds::default()
    }

    fn seconds(&self, found: &register::Registration) -> Seconds {
        let mut seconds = self.seconds_before();
        seconds.add(found);
        seconds.total = seconds.sum();
        seconds
    }
}

impl Result {
    /// Returns the registration result in main memory. Its warps and images are missing if they are still on the device
    /// only.
    fn outline(&self) -> &register::Registration {
        self.found.outline()
    }

    /// Returns the whole registration result in main memory, copied from the device if necessary.
    ///
    /// # Errors
    /// If the device that holds a part of the result fails.
    fn found(&self, py: Python) -> Fallible<&Arc<register::Registration>> {
        match &self.found {
            Found::Here(found) => Ok(found),
            Found::OnDevice { resident, here, .. } => match here.get() {
                Some(found) => Ok(found),
                None => process::compute(py, || {
                    let Ready { inputs, options, .. } = &self.ready;
                    let found = resident.download()?.finish(inputs.sides(), options)?;
                    Ok(here.get_or_init(|| Arc::new(found)))
                }),
            },
        }
    }
}

/// Makes a numpy array of the warp that the function `of` selects from the registration result; `None` if the result
/// has no such warp.
fn field<'py>(
    slf: &Bound<'py, Registration>,
    of: impl Fn(&register::Registration) -> Option<&DisplacementField>,
) -> Fallible<Option<Bound<'py, PyAny>>> {
    if of(slf.get().0.found(slf.py())?).is_none() {
        return Ok(None);
    }
    view::vectors(slf, |registration| of(registration.0.outline()).map(|warp| (&warp.grid, warp.vectors.as_slice())))
        .map(Some)
}

/// Makes a numpy array of the image that the function `of` selects from the registration result; `None` if that image
/// was not computed.
fn image<'py>(
    slf: &Bound<'py, Registration>,
    planar: bool,
    of: impl Fn(&register::Registration) -> Option<&Volume>,
) -> Fallible<Option<Bound<'py, PyAny>>> {
    if of(slf.get().0.found(slf.py())?).is_none() {
        return Ok(None);
    }
    view::voxels(slf, planar, |registration| of(registration.0.outline())).map(Some)
}
