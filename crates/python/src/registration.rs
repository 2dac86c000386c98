//! The result of a registration for Python.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use antsreg_core::io::outputs;
use antsreg_core::{DisplacementField, Volume};
use antsreg_kernels::apply;
use antsreg_register::{self as register, Description, Resident};
use antsreg_study::bias::Corrected;
use antsreg_study::pair::{Context, Format, Labels, Names, PairFiles, Seconds, Writing, record, write, write_report};
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

/// The result of a registration. Its arrays are views of its memory.
#[pyclass(frozen, module = "antsreg_gpu._native")]
pub struct Registration(pub Arc<Result>);

/// What a registration found, and what was registered.
pub struct Result {
    found: Found,
    /// The inputs and options of the registration.
    ready: Ready,
    device: Description,
}

/// What a registration found, in main memory or on the device.
pub enum Found {
    /// In main memory.
    Here(Arc<register::Registration>),
    /// On the device.
    OnDevice {
        /// What is there.
        resident: Box<Resident>,
        /// The result without warps and images.
        outline: Box<register::Registration>,
        /// All of it in main memory, once it was needed there.
        here: OnceLock<Arc<register::Registration>>,
    },
}

impl Found {
    /// A result in main memory.
    pub fn here(found: register::Registration) -> Found {
        Found::Here(Arc::new(found))
    }

    /// A result on the device, and its outline.
    pub fn on_device(resident: Resident, outline: register::Registration) -> Found {
        Found::OnDevice { resident: resident.into(), outline: outline.into(), here: OnceLock::new() }
    }

    /// The result, of which warps and images may be missing.
    fn outline(&self) -> &register::Registration {
        match self {
            Found::Here(found) => found,
            Found::OnDevice { outline, here, .. } => here.get().map_or(outline, Arc::as_ref),
        }
    }
}

/// A result with its reasons to fail.
type Fallible<T> = std::result::Result<T, Failure>;

#[pymethods]
impl Registration {
    /// Fixed → moving, 4×4, RAS mm.
    #[getter]
    fn affine(&self) -> Matrix {
        matrix(&self.0.outline().affine)
    }

    /// The start of the first stage, likewise.
    #[getter]
    fn start(&self) -> Matrix {
        matrix(&self.0.outline().start)
    }

    /// Displacements before the affine, X×Y×Z×3, RAS mm.
    #[getter]
    fn warp<'py>(slf: &Bound<'py, Self>) -> Fallible<Option<Bound<'py, PyAny>>> {
        field(slf, register::Registration::warp)
    }

    /// The inverse of the warp, likewise.
    #[getter]
    fn inverse_warp<'py>(slf: &Bound<'py, Self>) -> Fallible<Option<Bound<'py, PyAny>>> {
        field(slf, register::Registration::inverse_warp)
    }

    /// A result in the memory of the device, by its name; an error if the results were not kept there.
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
                other => return Err(Failure::own(Class::Option, format!("there is no result `{other}`"))),
            };
            Ok(lent.map(|lent| DeviceArray::new(lent, planar)))
        })
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
    fn forward(&self, py: Python) -> Fallible<Chain> {
        Ok(Chain::forward(self.0.found(py)?.clone()))
    }

    /// From moving to fixed points.
    #[getter]
    fn backward(&self, py: Python) -> Fallible<Chain> {
        Ok(Chain::backward(self.0.found(py)?.clone()))
    }

    /// Determinants of the warp, affine excluded, on the fixed grid.
    fn jacobian(&self, py: Python) -> Fallible<Option<Image>> {
        let Some(warp) = self.0.found(py)?.warp() else { return Ok(None) };
        let planar = self.0.ready.planar[0];
        process::compute(py, || Ok(Some(Image::made(apply::jacobian(warp), "the Jacobian", planar))))
    }

    /// The record of the command, as JSON.
    fn record(&self, py: Python) -> Fallible<String> {
        let found = self.0.found(py)?;
        let (files, names) = self.files(found, "", Writing::default());
        let record = record(&self.context(&files, &names), found, None, self.seconds(found));
        serde_json::to_string(&record).map_err(|error| Failure::own(Class::Input, error.to_string()))
    }

    /// Doubts about the result, in words.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.outline().warnings.iter().map(ToString::to_string).collect()
    }

    /// Writes the page to judge the result by.
    fn report(&self, py: Python, path: PathBuf) -> Fallible<()> {
        let found = self.0.found(py)?;
        process::compute(py, || {
            let writing = Writing { warped: false, inverse: false, ..Writing::default() };
            let (files, names) = self.files(found, "", writing);
            outputs::check([&path], [] as [&PathBuf; 0])?;
            Ok(write_report(&self.context(&files, &names), found, self.seconds(found), &path)?)
        })
    }

    /// Writes the files of the command. Gives their names.
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
            Ok(write(&self.context(&files, &names), found, self.seconds_before(), Seconds::sum)?.paths)
        })
    }
}

impl Registration {
    /// A result.
    pub fn new(ready: Ready, found: Found, device: Description) -> Registration {
        Registration(Arc::new(Result { found, ready, device }))
    }

    fn space(&self, side: usize) -> Space {
        let Ready { inputs, names, planar, .. } = &self.0.ready;
        Space { grid: inputs.sides()[side].grid().clone(), name: names[side].clone(), planar: planar[side] }
    }

    /// The files of the command for this registration. There is an image or a warp only if it was computed.
    fn files(&self, found: &register::Registration, prefix: &str, writing: Writing) -> (PairFiles, Names) {
        let Ready { inputs, names: [fixed, moving], .. } = &self.0.ready;
        let files = PairFiles {
            fixed: fixed.clone(),
            moving: moving.clone(),
            channels: Vec::new(),
            fixed_mask: None,
            white_matter: None,
            moving_mask: None,
            carried: Vec::new(),
            bias: Corrected::None,
            labels: Labels::default(),
            start: inputs.fixed.start_file.clone(),
            brain: BrainChoice::None,
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

    fn seconds(&self, found: &register::Registration) -> Seconds {
        let mut seconds = self.seconds_before();
        seconds.add(found);
        seconds.total = seconds.sum();
        seconds
    }
}

impl Result {
    /// The result, of which warps and images may be missing.
    fn outline(&self) -> &register::Registration {
        self.found.outline()
    }

    /// The whole result in main memory.
    ///
    /// # Errors
    /// A device that holds a part of it and fails.
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

/// A warp of the result, if there is one.
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

/// An image of the result, if it was computed.
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
