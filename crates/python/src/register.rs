//! Registration for Python: one pair of images, or many moving images to one prepared fixed image.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

use antsreg_core::{AffineTransform, Grid};
use antsreg_kernels::Place;
use antsreg_register::linear::Start;
use antsreg_register::{self as registering, Computed, Grids, Options, Registered, Resident};
use antsreg_study::pair::{Inputs, Masks, Named, SideVolumes, StartFile};
use antsreg_study::transforms::TransformFile;
use pyo3::prelude::*;

use crate::devices::Lease;
use crate::error::{Class, Failure};
use crate::image::Image;
use crate::observer::Watcher;
use crate::plan::Plan;
use crate::process;
use crate::registration::{Found, Registration};
use crate::space::{Matrix, affine_of};

/// The fixed or the moving side of a registration (image, channels and masks), checked for consistency.
#[pyclass(frozen, module = "antsreg_gpu._native")]
#[derive(Debug, Clone)]
pub struct Side {
    /// The fixed or the moving side of a registration: the image, further images of the same subject on its grid
    /// (channels), and the masks.
    pub side: registering::Side,
    /// Name of the image (not of its channels and masks) in messages.
    pub name: PathBuf,
    /// Whether Python sees these images (fixed or moving) as two-dimensional arrays.
    pub planar: bool,
}

/// The mask of the fixed or the moving image, as Python passes it.
#[derive(FromPyObject)]
enum GivenMask<'py> {
    /// One mask for all stages of the registration.
    All(PyRef<'py, Image>),
    /// A list with an entry for each stage of the registration: its mask, or `None` for no mask.
    PerStage(Vec<Option<PyRef<'py, Image>>>),
}

#[pymethods]
impl Side {
    /// Makes a fixed or moving side of a registration from an image, further channels of the same subject, and a mask
    /// (or a list with one mask for each stage), and masks of lesions.
    #[new]
    #[pyo3(signature = (image, channels, mask=None, lesions=Vec::new()))]
    fn new(
        py: Python,
        image: &Image,
        channels: Vec<PyRef<Image>>,
        mask: Option<GivenMask>,
        lesions: Vec<PyRef<Image>>,
    ) -> Result<Side, Failure> {
        let named =
            |masks: Vec<Option<PyRef<Image>>>| masks.iter().map(|mask| Some(mask.as_ref()?.named())).collect();
        let volumes = SideVolumes {
            image: image.named(),
            // A further channel may be a map of a tissue or a mask.
            channels: channels.iter().map(|channel| Named { accepts_labels: true, ..channel.named() }).collect(),
            masks: match mask {
                None => Masks::None,
                Some(GivenMask::All(mask)) => Masks::All(mask.named()),
                Some(GivenMask::PerStage(masks)) => Masks::PerStage(named(masks)),
            },
            lesions: lesions.iter().map(|lesion| lesion.named()).collect(),
        };
        let (name, planar) = (image.name.clone(), image.planar);
        process::compute(py, || Ok(Side { side: volumes.check()?, name, planar }))
    }
}

/// The initial transform of a registration: `centre-of-mass`, `headers`, or an affine (fixed → moving, RAS mm) with its
/// name.
#[derive(Debug, Clone)]
pub struct From {
    start: Start,
    file: StartFile,
}

impl From {
    /// The initial transform, in the type of the registration library.
    pub fn starts(&self) -> Start {
        self.start
    }

    /// Makes an initial transform from a name, or from a matrix whose name is used in messages.
    ///
    /// # Errors
    /// If the name is unknown, or the matrix is not a finite affine matrix.
    pub fn new(name: &str, given: Option<Matrix>) -> Result<From, Failure> {
        let (start, file) = match (name, given) {
            (name, Some(matrix)) => {
                let affine: AffineTransform = affine_of(&matrix, name.as_ref())?;
                let file = TransformFile { path: name.into(), inverted: false };
                (Start::Transform(affine), StartFile::File(file))
            }
            ("centre-of-mass" | "center-of-mass", None) => (Start::CentreOfMass, StartFile::CentreOfMass),
            ("headers", None) => (Start::Headers, StartFile::Headers),
            (other, None) => {
                let text = format!(
                    "initial: expected centre-of-mass, headers, a transform file or a 4×4 matrix, found `{other}`"
                );
                return Err(Failure::own(Class::Option, text));
            }
        };
        Ok(From { start, file })
    }
}

/// Checked inputs and options of a registration, before a device is chosen.
pub struct Ready {
    /// The fixed and the moving images, channels and masks, in the form in which the command `antsreg-gpu register`
    /// holds its inputs.
    pub inputs: Inputs,
    /// Names of the fixed and the moving image in messages.
    pub names: [PathBuf; 2],
    /// Whether Python sees the fixed and the moving image as two-dimensional arrays.
    pub planar: [bool; 2],
    /// Options of the registration.
    pub options: Arc<Options>,
}

impl Ready {
    /// Checks that the options of a registration suit the fixed and the moving images, channels and masks.
    ///
    /// # Errors
    /// If the images, masks and options cannot be used together.
    pub fn new([fixed, moving]: [&Side; 2], options: Arc<Options>, from: &From) -> Result<Ready, Failure> {
        let names = [fixed.name.clone(), moving.name.clone()];
        let sides = [fixed.side.clone(), moving.side.clone()];
        let inputs = Inputs::of_sides(sides, [&names[0], &names[1]], from.start, from.file.clone())?;
        options.precheck(inputs.sides()).map_err(|error| blame(&inputs, &names, error))?;
        Ok(Ready { inputs, names, planar: [fixed.planar, moving.planar], options })
    }

    /// Makes the Python object for the result of a registration, with all data in main memory, from what a device has
    /// computed.
    ///
    /// # Errors
    /// If the affine is singular.
    pub fn finish(self, computed: Computed, device: registering::Description) -> Result<Registration, Failure> {
        let found = computed.finish(self.inputs.sides(), &self.options)?;
        Ok(Registration::new(self, Found::here(found), device))
    }

    /// Makes the result object from what a device has computed, and leaves warps and images on the device.
    ///
    /// # Errors
    /// If the affine is singular.
    fn keep(self, resident: Resident, device: registering::Description) -> Result<Registration, Failure> {
        let outline = resident.outline().finish(self.inputs.sides(), &self.options)?;
        Ok(Registration::new(self, Found::on_device(resident, outline), device))
    }

    /// Adds the names of the images to an error of the registration.
    pub fn blame(&self, error: Failure) -> Failure {
        match error {
            Failure::Study(error) => match *error {
                antsreg_study::Error::Register(error) => blame(&self.inputs, &self.names, error),
                error => error.into(),
            },
            other => other,
        }
    }
}

fn blame(inputs: &Inputs, names: &[PathBuf; 2], error: registering::Error) -> Failure {
    inputs.blame_on([&names[0], &names[1]], error).into()
}

/// The complete options of a registration to a fixed image on `grid`.
fn options(plan: &Plan, grid: &Grid, from: &From) -> Result<Arc<Options>, Failure> {
    Ok(Arc::new(plan.options(grid.shape, from.start)?))
}

/// Name of the device to use. If the user chose `auto` and a GPU already holds the fixed or the moving image, it is
/// this GPU.
fn usual_device(device: &str, sides: &[&Side]) -> String {
    let held = sides.iter().find_map(|side| match side.side.image.place()? {
        Place::Cuda(number) => Some(registering::DeviceChoice::Cuda(number).to_string()),
        Place::Main => None,
    });
    held.filter(|_| device == "auto").unwrap_or_else(|| device.to_owned())
}

/// Registers a moving side to a fixed side; a side is an image with its channels and masks. Returns the result, and the
/// message about the device if the CPU was used in place of a GPU. If `keep` is true, warps and images of the result stay on the device.
#[pyfunction]
#[pyo3(signature = (fixed, moving, plan, device, start, matrix, progress, keep))]
#[expect(clippy::too_many_arguments, reason = "Python code passes all these arguments to the function")]
pub fn register(
    py: Python,
    fixed: &Side,
    moving: &Side,
    plan: &Plan,
    device: &str,
    start: &str,
    matrix: Option<Matrix>,
    progress: Option<Py<PyAny>>,
    keep: bool,
) -> Result<(Registration, Option<String>), Failure> {
    process::compute(py, || {
        let from = From::new(start, matrix)?;
        let options = options(plan, fixed.side.grid(), &from)?;
        let ready = Ready::new([fixed, moving], options, &from)?;
        let device = usual_device(device, &[fixed, moving]);
        let ([fixed, moving], options) = (ready.inputs.sides(), &ready.options);
        let mut lease = Lease::take(&device, options, &ready.inputs.grids(), &[fixed, moving])?;
        let mut watcher = Watcher::new(progress, Arc::default());
        let (fixed, moving) = (fixed.on(&lease.device)?, moving.on(&lease.device)?);
        let (description, note) = (lease.device.description().clone(), lease.note.take());
        let failed = |error| ready.blame(error);
        let registered = registering::register(&fixed, &moving, options, &lease.device, &mut watcher);
        let found = if keep {
            let resident = registered.and_then(Registered::keep);
            let resident = resident.map_err(|error| failed(watcher.failure(error)))?;
            ready.keep(resident, description)
        } else {
            let computed = registered.and_then(Registered::download);
            let computed = computed.map_err(|error| failed(watcher.failure(error)))?;
            ready.finish(computed, description)
        };
        Ok((found?, note.map(|note| note.to_string())))
    })
}

/// A fixed side (image, channels and masks) that is prepared on a device once, for any number of registrations. The
/// registrations run one after another.
#[pyclass(frozen, module = "antsreg_gpu._native")]
pub struct Fixed {
    side: Side,
    options: Arc<Options>,
    from: From,
    prepared: Mutex<(registering::Fixed, Lease)>,
    /// The message that the CPU is used in place of a GPU; `None` if there is nothing to report.
    #[pyo3(get)]
    note: Option<String>,
}

/// Time between two attempts to use a device while another thread uses it.
const PAUSE: Duration = Duration::from_millis(20);

#[pymethods]
impl Fixed {
    /// Prepares a fixed image with its channels and masks on a device.
    #[new]
    #[pyo3(signature = (side, plan, device, start, matrix=None))]
    fn new(
        py: Python,
        side: &Side,
        plan: &Plan,
        device: &str,
        start: &str,
        matrix: Option<Matrix>,
    ) -> Result<Fixed, Failure> {
        process::compute(py, || {
            let from = From::new(start, matrix)?;
            let options = options(plan, side.side.grid(), &from)?;
            let device = usual_device(device, &[side]);
            // The moving images are not known yet, so they are assumed to be as large as the fixed image.
            let sides = [&side.side; 2];
            let mut lease = Lease::take(&device, &options, &Grids::of(sides), &sides)?;
            let fixed = registering::Fixed::new(&lease.device, side.side.on(&lease.device)?, (*options).clone())?;
            let note = lease.note.take().map(|note| note.to_string());
            Ok(Fixed { side: side.clone(), options, from, prepared: Mutex::new((fixed, lease)), note })
        })
    }

    /// Registers a moving image, with its channels and masks, to this prepared fixed image. If `keep` is true, warps
    /// and images of the result stay on the device.
    #[pyo3(signature = (moving, progress, keep))]
    fn register(
        &self,
        py: Python,
        moving: &Side,
        progress: Option<Py<PyAny>>,
        keep: bool,
    ) -> Result<Registration, Failure> {
        process::compute(py, || {
            let ready = Ready::new([&self.side, moving], self.options.clone(), &self.from)?;
            let mut watcher = Watcher::new(progress, Arc::<AtomicBool>::default());
            let prepared = loop {
                match self.prepared.try_lock() {
                    Ok(prepared) => break prepared,
                    Err(TryLockError::Poisoned(left)) => break left.into_inner(),
                    Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                }
                Python::attach(|py| py.check_signals()).map_err(Failure::Python)?;
            };
            let (fixed, lease) = &*prepared;
            let moving = ready.inputs.sides()[1].on(&lease.device)?;
            let description = lease.device.description().clone();
            let registered = fixed.register(&moving, &mut watcher);
            if keep {
                let resident = registered.and_then(Registered::keep);
                let resident = resident.map_err(|error| ready.blame(watcher.failure(error)))?;
                drop(prepared);
                return ready.keep(resident, description);
            }
            let computed = registered.and_then(Registered::download);
            let computed = computed.map_err(|error| ready.blame(watcher.failure(error)))?;
            drop(prepared);
            ready.finish(computed, description)
        })
    }
}
