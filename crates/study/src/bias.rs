//! Corrects images for shading (the bias field) by N4, and writes the results.

use std::path::Path;

use antsreg_core::Volume;
use antsreg_core::io::nifti;
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_heads::bias::{self, Geometries, LevelOutcome, Options};
use antsreg_pool::Worker;
use antsreg_register::{Device, DeviceChoice};
use serde::{Deserialize, Serialize};

use crate::observer::{Event, Observer};
use crate::{Error, inputs, transforms};

/// Which images are corrected for shading after they are read, before anything else is done with them. The images that
/// a registration writes are corrected, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Corrected {
    /// Leave the shading of all images as it is
    #[default]
    None,
    /// Correct the shading of the fixed images
    Fixed,
    /// Correct the shading of the moving images
    Moving,
    /// Correct the shading of all images, fixed and moving
    Both,
}

impl Corrected {
    /// Whether the fixed images are corrected for shading (the bias field).
    pub fn fixed(self) -> bool {
        matches!(self, Corrected::Fixed | Corrected::Both)
    }

    /// Whether the moving images are corrected for shading (the bias field).
    pub fn moving(self) -> bool {
        matches!(self, Corrected::Moving | Corrected::Both)
    }
}

/// Removes the shading of an image by N4 with ANTs' usual parameters; the bias field is estimated from the voxels
/// above zero. `name` is the name of the image in messages.
///
/// # Errors
/// [`Error::Bias`] if the bias field cannot be estimated, or the device fails.
pub fn corrected(name: &Path, image: &Volume, device: &Device) -> Result<Volume, Error> {
    let foreground = bias::foreground(image);
    bias::estimate(image, Some(&foreground), None, None, &Options::default(), device)
        .and_then(|field| field.divided(image, device))
        .map_err(|source| Error::Bias { path: name.into(), source })
}

/// Removes the shading of an image as [`corrected`] does, on the device of a worker.
///
/// # Errors
/// The errors of [`corrected`]; a GPU with too little memory.
pub fn corrected_on(worker: &mut Worker, name: &Path, image: &Volume) -> Result<Volume, Error> {
    let bytes = bias::device_bytes(&image.grid, &Options::default());
    worker.with_device(bytes, |device| corrected(name, image, device))
}

/// Whether the bias field is estimated also from voxels without a positive intensity, if no mask is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// The bias field is estimated only from voxels above zero, since the logarithm needs positive values.
    LeftOut,
    /// The bias field is estimated from all voxels, as in ITK; an intensity that is not positive is used unchanged in
    /// place of its logarithm.
    Counts,
}

/// Inputs of the bias field correction of one image.
#[derive(Debug, Clone, Copy)]
pub struct Correction<'a> {
    /// The name of the image, for messages.
    pub name: &'a Path,
    /// The image.
    pub image: &'a Volume,
    /// The mask (voxels above 0): the bias field is estimated from its voxels, and only these voxels are corrected.
    pub mask: Option<&'a Volume>,
    /// Whether voxels that are not positive are used in the estimate if there is no mask. Without a mask all voxels
    /// are corrected.
    pub background: Background,
    /// Weight of each voxel in the fit of the bias field.
    pub weights: Option<&'a Volume>,
    /// Geometries of the files, to sample the same voxels as ANTs; without them, half a voxel is rounded up.
    pub geometries: Option<Geometries>,
    /// The parameters of N4.
    pub options: &'a Options,
    /// Whether corrected intensities in the mask are rescaled to the range of the original intensities.
    pub rescale: bool,
    /// The device (GPU or CPU) that computes. All devices find the same bias field.
    pub device: &'a Device,
}

impl Correction<'_> {
    /// Returns the corrected image, and the bias field by which the image was divided.
    ///
    /// # Errors
    /// [`Error::Bias`] if the bias field cannot be estimated, or the device fails.
    pub fn find(&self) -> Result<(Volume, bias::BiasField), Error> {
        let Correction { name, image, mask, background, weights, geometries, options, rescale, device } = *self;
        let foreground = match (mask, background) {
            (None, Background::LeftOut) => Some(bias::foreground(image)),
            _ => None,
        };
        let failed = |source| Error::Bias { path: name.into(), source };
        let used = mask.or(foreground.as_ref());
        let field = bias::estimate(image, used, weights, geometries.as_ref(), options, device).map_err(failed)?;
        let mut corrected = bias::correct(image, &field, mask, device).map_err(failed)?;
        if let Some(mask) = mask.filter(|_| rescale) {
            bias::rescale_as(image, mask, &mut corrected);
        }
        Ok((corrected, field))
    }

    /// Writes the corrected image and, if `field_to` is given, the bias field; both files or none. Returns, for each
    /// level, the number of iterations and the change of the bias field in the last iteration.
    ///
    /// # Errors
    /// [`Error::Bias`] if the bias field cannot be estimated; files that cannot be written.
    pub fn write(&self, to: &Path, field_to: Option<&Path>) -> Result<Vec<LevelOutcome>, Error> {
        let (corrected, field) = self.find()?;
        let mut outputs = Outputs::new();
        outputs.write::<Error>(to, |path| Ok(nifti::write_volume(path, &corrected)?))?;
        if let Some(field_to) = field_to {
            let factors = field.on(&self.image.grid, self.device);
            let factors = factors.map_err(|source| Error::Bias { path: self.name.into(), source })?;
            outputs.write::<Error>(field_to, |path| Ok(nifti::write_volume(path, &factors)?))?;
        }
        outputs.commit()?;
        Ok(field.levels().to_vec())
    }
}

/// A bias field correction from file to file.
#[derive(Debug, Clone, Copy)]
pub struct BiasRequest<'a> {
    /// File of the image.
    pub input: &'a Path,
    /// File of the mask, on the grid of the image.
    pub mask: Option<&'a Path>,
    /// File of the weights of the voxels, on the grid of the image.
    pub weights: Option<&'a Path>,
    /// File of the corrected image.
    pub output: &'a Path,
    /// File of the bias field; `None` if it is not written.
    pub field: Option<&'a Path>,
    /// The parameters of N4.
    pub options: &'a Options,
    /// The device.
    pub device: DeviceChoice,
}

impl BiasRequest<'_> {
    /// Reads the image, the mask and the weights.
    fn read(&self) -> Result<(Volume, Option<Volume>, Option<Volume>), Error> {
        let image = inputs::image(self.input)?;
        let mask = self.mask.map(|path| inputs::mask(path, self.input, &image.grid)).transpose()?;
        let weights = self.weights.map(|path| {
            let weights = nifti::read_volume(path)?;
            inputs::check_grid(path, &weights.grid, self.input, &image.grid, "linear")?;
            Ok::<_, Error>(weights)
        });
        Ok((image, mask, weights.transpose()?))
    }
}

/// Removes the shading of an image in a file, and writes the results.
///
/// # Errors
/// Outputs that cannot be written; files that cannot be read or do not fit each other; a bias field that cannot be
/// estimated; a device that fails.
pub fn run(request: &BiasRequest, observer: &mut dyn Observer) -> Result<(), Error> {
    let read = [Some(request.input), request.mask, request.weights];
    let written = [Some(request.output), request.field];
    written.into_iter().flatten().try_for_each(transforms::check_image_name)?;
    outputs::check(written.into_iter().flatten(), read.into_iter().flatten())?;
    let (read, opened) = request.device.open_during(|| request.read());
    let ((image, mask, weights), opened) = (read?, opened?);
    opened.note().iter().for_each(|note| observer.tell(&Event::Device(note)));
    observer.device(&opened.device);
    let correction = Correction {
        name: request.input,
        image: &image,
        mask: mask.as_ref(),
        background: Background::LeftOut,
        weights: weights.as_ref(),
        geometries: None,
        options: request.options,
        rescale: false,
        device: &opened.device,
    };
    let levels = correction.write(request.output, request.field)?;
    for (n, outcome) in levels.iter().enumerate() {
        observer.tell(&Event::BiasLevel { level: n + 1, of: levels.len(), outcome: *outcome });
    }
    observer.tell(&Event::Wrote(request.output));
    Ok(())
}
