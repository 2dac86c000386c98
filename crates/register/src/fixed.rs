//! The fixed side of registrations, that is the fixed images with their masks, prepared once for many registrations.

use antsreg_kernels::bias::BiasBackend;
use antsreg_kernels::fusion::FusionBackend;
use antsreg_kernels::{Backend, Cpu};

#[cfg(feature = "cuda")]
use antsreg_kernels::Cuda;

use crate::device::{Device, On};
use crate::registration::Computed;
use crate::run::{FixedStages, OnDevice, Progress, run};
use crate::{Error, Grids, Options, Registration, Resident, Side};

/// The fixed side (the fixed images with their masks) on a device, prepared once for any number of registrations with
/// the same options. Earlier registrations do not change a result.
pub struct Fixed {
    device: Device,
    side: Side,
    options: Options,
    stages: Stages,
}

/// The fixed images as each stage of a registration needs them, prepared in advance on the CPU or on a GPU.
enum Stages {
    Cpu(Cpu, FixedStages<Cpu>),
    #[cfg(feature = "cuda")]
    Cuda(std::sync::Arc<Cuda>, FixedStages<Cuda>),
}

/// Macro that evaluates an expression with the fixed images prepared for each stage. The same expression is compiled
/// for the CPU and for CUDA.
macro_rules! with_stages {
    ($stages:expr, ($backend:ident, $prepared:ident) => $run:expr) => {
        match &$stages {
            Stages::Cpu($backend, $prepared) => $run,
            #[cfg(feature = "cuda")]
            Stages::Cuda(cuda, $prepared) => {
                let $backend = cuda.as_ref();
                $run
            }
        }
    };
}

/// A computation for the CPU or a GPU, defined by the caller of this crate; see [`Device::run`].
pub trait Task {
    /// Type of the result that the caller's computation returns.
    type Output;
    /// Type of the errors that the caller's computation returns.
    type Error;

    /// Runs the caller's computation on the CPU or on a GPU, through the operations of `backend`.
    ///
    /// # Errors
    /// Errors of the computation.
    fn run<B: BiasBackend + FusionBackend>(self, backend: &B) -> Result<Self::Output, Self::Error>;
}

/// A computation with the result of a registration while the warps are still on the device. The caller of this crate
/// defines the computation.
pub trait Continuation {
    /// Type of the result that the caller's computation returns.
    type Output;
    /// Type of the errors that the caller's computation returns.
    type Error: From<Error>;

    /// Runs the caller's computation on the device of the registration, through the operations of `backend`. `found` is
    /// the result of the registration, with the warps on the device.
    ///
    /// # Errors
    /// Errors of the computation.
    fn run<B: Backend>(self, backend: &B, found: OnDevice<B>) -> Result<Self::Output, Self::Error>;
}

impl Fixed {
    /// Checks the options, and prepares the fixed images and masks (`side`) on the device.
    ///
    /// # Errors
    /// Options out of range; images that no stage could register; a device that fails.
    pub fn new(device: &Device, side: Side, options: Options) -> Result<Fixed, Error> {
        check(device, [&side, &side], &options)?;
        let stages = match &device.on {
            On::Cpu(cpu) => Stages::Cpu(*cpu, FixedStages::prepare(cpu, &side, &options)?),
            #[cfg(feature = "cuda")]
            On::Cuda(cuda) => Stages::Cuda(cuda.clone(), FixedStages::prepare(cuda.as_ref(), &side, &options)?),
        };
        Ok(Fixed { device: device.clone(), side, options, stages })
    }

    /// The fixed side (image, channels and masks) that was prepared for registrations.
    pub fn side(&self) -> &Side {
        &self.side
    }

    /// The options of all registrations to these fixed images.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The device on which the fixed images were prepared.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Registers the moving images to the prepared fixed images.
    ///
    /// # Errors
    /// The errors of [`register`].
    pub fn register(&self, moving: &Side, progress: &mut dyn Progress) -> Result<Registration, Error> {
        self.compute(moving, progress)?.finish([&self.side, moving], &self.options)
    }

    /// The part of [`register`](Fixed::register) that needs the device. [`Computed::finish`] computes the rest
    /// of the result on the CPU, also on another thread.
    ///
    /// # Errors
    /// The errors of [`register`].
    pub fn compute(&self, moving: &Side, progress: &mut dyn Progress) -> Result<Computed, Error> {
        let sides = [&self.side, moving];
        check(&self.device, sides, &self.options)?;
        with_stages!(self.stages, (backend, prepared) => {
            let found = run(backend, sides, &self.options, Some(prepared), progress)?;
            Computed::download(backend, found, sides, &self.options, self.device.is_gpu())
        })
    }

    /// Registers the moving images to the prepared fixed images. Warps and images stay on the device.
    ///
    /// # Errors
    /// The errors of [`register`].
    pub fn compute_resident(&self, moving: &Side, progress: &mut dyn Progress) -> Result<Resident, Error> {
        let sides = [&self.side, moving];
        check(&self.device, sides, &self.options)?;
        let options = &self.options;
        match &self.stages {
            Stages::Cpu(cpu, prepared) => {
                Resident::of_cpu(*cpu, run(cpu, sides, options, Some(prepared), progress)?, sides, options)
            }
            #[cfg(feature = "cuda")]
            Stages::Cuda(cuda, prepared) => {
                let found = run(cuda.as_ref(), sides, options, Some(prepared), progress)?;
                Resident::of_cuda(cuda, found, sides, options)
            }
        }
    }

    /// Registers the moving images to the prepared fixed images. Then runs the computation `then` with the result,
    /// while the result is on the device.
    ///
    /// # Errors
    /// The errors of [`register`] and of the computation `then`.
    pub fn register_and<C: Continuation>(
        &self,
        moving: &Side,
        progress: &mut dyn Progress,
        then: C,
    ) -> Result<C::Output, C::Error> {
        let sides = [&self.side, moving];
        check(&self.device, sides, &self.options)?;
        with_stages!(self.stages, (backend, prepared) => {
            let found = run(backend, sides, &self.options, Some(prepared), progress)?;
            then.run(backend, found)
        })
    }
}

/// Registers `moving` to `fixed` on a device.
///
/// The stages run in order. A fixed point is mapped by the warp, if there is a deformable stage, then by the affine,
/// to the moving point; both are in RAS mm. `progress` is called in every iteration and can stop the registration. A
/// stopped registration leaves no result.
///
/// # Errors
/// Options out of range or inconsistent; a slice with a volume; images without contrast or overlap; masks on other
/// grids than their images; [`Error::Stopped`]; a device that fails or has too little memory.
pub fn register(
    fixed: &Side,
    moving: &Side,
    options: &Options,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Registration, Error> {
    compute(fixed, moving, options, device, progress)?.finish([fixed, moving], options)
}

/// Runs the part of a registration ([`register`]) that needs the device. The remaining work runs on the CPU: see
/// [`Computed::finish`].
///
/// # Errors
/// The errors of [`register`].
pub fn compute(
    fixed: &Side,
    moving: &Side,
    options: &Options,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Computed, Error> {
    let sides = [fixed, moving];
    check(device, sides, options)?;
    crate::device::with_backend!(device, backend => {
        let found = run(backend, sides, options, None, progress)?;
        Computed::download(backend, found, sides, options, device.is_gpu())
    })
}

/// Registers `moving` to `fixed` as [`register`] does. Then runs the computation `then` with the result, while the
/// result is on the device.
///
/// # Errors
/// The errors of [`register`] and of the computation `then`.
pub fn register_and<C: Continuation>(
    fixed: &Side,
    moving: &Side,
    options: &Options,
    device: &Device,
    progress: &mut dyn Progress,
    then: C,
) -> Result<C::Output, C::Error> {
    let sides = [fixed, moving];
    check(device, sides, options)?;
    crate::device::with_backend!(device, backend => {
        let found = run(backend, sides, options, None, progress)?;
        then.run(backend, found)
    })
}

/// The part of [`register`] that needs the device. Warps and images stay on the device.
///
/// # Errors
/// The errors of [`register`].
pub fn compute_resident(
    fixed: &Side,
    moving: &Side,
    options: &Options,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Resident, Error> {
    let sides = [fixed, moving];
    check(device, sides, options)?;
    match &device.on {
        On::Cpu(cpu) => Resident::of_cpu(*cpu, run(cpu, sides, options, None, progress)?, sides, options),
        #[cfg(feature = "cuda")]
        On::Cuda(cuda) => {
            Resident::of_cuda(cuda, run(cuda.as_ref(), sides, options, None, progress)?, sides, options)
        }
    }
}

/// Checks the device, the fixed and moving images with their masks, and the options before the computation.
fn check(device: &Device, sides: [&Side; 2], options: &Options) -> Result<(), Error> {
    options.check()?;
    options.check_sides(sides)?;
    options.check_white_matter(sides[0])?;
    options.check_device(device, &Grids::of(sides))
}
