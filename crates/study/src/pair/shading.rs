//! Removes the shading of the images of a registration on a device, after they were read.

use std::path::{Path, PathBuf};

use antsreg_core::Volume;
use antsreg_pool::Worker;
use antsreg_register::{Device, Side};

use super::files::PairFiles;
use super::inputs::{FixedInputs, Inputs};
use crate::{Error, bias};

impl FixedInputs {
    /// Removes the shading of the fixed images, if `files.bias` says so.
    ///
    /// # Errors
    /// An image whose bias field cannot be found; a device that fails.
    pub fn remove_shading(&mut self, files: &PairFiles, device: &Device) -> Result<(), Error> {
        if !files.bias.fixed() {
            return Ok(());
        }
        let channels = files.channels.iter().map(|channel| &channel.fixed);
        replace(&mut self.side, &files.fixed, channels, |path, image| bias::corrected(path, image, device))
    }
}

impl Inputs {
    /// Removes the shading of the fixed images, of the moving images or of both, as `files.bias` says.
    ///
    /// # Errors
    /// An image whose bias field cannot be found; a device that fails.
    pub fn remove_shading(&mut self, files: &PairFiles, device: &Device) -> Result<(), Error> {
        self.fixed.remove_shading(files, device)?;
        self.remove_shading_of_moving(files, |path, image| bias::corrected(path, image, device))
    }

    /// Removes the shading of the moving images on the device of a worker, if `files.bias` says so.
    ///
    /// # Errors
    /// An image whose bias field cannot be found; a GPU with too little memory.
    pub fn remove_shading_on(&mut self, files: &PairFiles, worker: &mut Worker) -> Result<(), Error> {
        self.remove_shading_of_moving(files, |path, image| bias::corrected_on(worker, path, image))
    }

    fn remove_shading_of_moving(
        &mut self,
        files: &PairFiles,
        corrected: impl FnMut(&Path, &Volume) -> Result<Volume, Error>,
    ) -> Result<(), Error> {
        if !files.bias.moving() {
            return Ok(());
        }
        let channels = files.channels.iter().map(|channel| &channel.moving);
        replace(&mut self.moving, &files.moving, channels, corrected)
    }
}

/// Replaces each image of the fixed or of the moving side by the image that the function `corrected` returns, which
/// removes shading. `first` and `channels` are the paths of the image files.
fn replace<'a>(
    side: &mut Side,
    first: &'a PathBuf,
    channels: impl Iterator<Item = &'a PathBuf>,
    mut corrected: impl FnMut(&Path, &Volume) -> Result<Volume, Error>,
) -> Result<(), Error> {
    let images = std::iter::once(&mut side.image).chain(&mut side.channels);
    for (image, path) in images.zip(std::iter::once(first).chain(channels)) {
        *image = corrected(path, image.volume()?)?.into();
    }
    Ok(())
}
