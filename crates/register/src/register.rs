//! Registers one pair of images, or many moving images to one prepared fixed image.

use antsreg_kernels::Backend;

use crate::backend::{OnBackend, PerBackend, map_backend};
use crate::check::check;
use crate::run::{FixedStages, run};
use crate::{Device, Error, Options, Progress, Registered, Side};

/// Registers `moving` to `fixed` on a device.
///
/// The stages run in order. A fixed point is mapped by the warp, if there is a deformable stage, then by the affine,
/// to the moving point; both are in RAS mm. `progress` is called in every iteration and can stop the registration. A
/// stopped registration leaves no result.
///
/// # Errors
/// Options out of range or inconsistent; a slice with a volume; images without contrast or overlap; masks on other
/// grids than their images; [`Error::Stopped`]; a device that fails or has too little memory.
pub fn register<'a>(
    fixed: &'a Side,
    moving: &'a Side,
    options: &'a Options,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Registered<'a>, Error> {
    let sides = [fixed, moving];
    check(device, sides, options)?;
    let found = map_backend!(&device.on, (backend, ()) => run(backend, sides, options, None, progress)?);
    Ok(Registered { found, on_gpu: device.is_gpu(), sides, options })
}

/// The fixed side (the fixed images with their masks) on a device, prepared once for any number of registrations with
/// the same options. Earlier registrations do not change a result.
pub struct Fixed {
    device: Device,
    side: Side,
    options: Options,
    stages: OnBackend<Prepared>,
}

/// The fixed images as each stage of a registration needs them, prepared in advance.
struct Prepared;

impl PerBackend for Prepared {
    type On<B: Backend> = FixedStages<B>;
}

impl Fixed {
    /// Checks the options, and prepares the fixed images and masks (`side`) on the device.
    ///
    /// # Errors
    /// Options out of range; images that no stage could register; a device that fails.
    pub fn new(device: &Device, side: Side, options: Options) -> Result<Fixed, Error> {
        check(device, [&side, &side], &options)?;
        let stages = map_backend!(&device.on, (backend, ()) => FixedStages::prepare(backend, &side, &options)?);
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
    pub fn register<'a>(&'a self, moving: &'a Side, progress: &mut dyn Progress) -> Result<Registered<'a>, Error> {
        let (sides, options) = ([&self.side, moving], &self.options);
        check(&self.device, sides, options)?;
        let found = map_backend!(&self.stages, (backend, prepared) => {
            run(backend, sides, options, Some(prepared), progress)?
        });
        Ok(Registered { found, on_gpu: self.device.is_gpu(), sides, options })
    }
}
