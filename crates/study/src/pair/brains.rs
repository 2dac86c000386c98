//! Extracts the brains of the fixed and the moving image before a registration.

use std::sync::Arc;

use antsreg_core::Volume;
use antsreg_register::{Device, Progress};

use super::files::PairFiles;
use super::inputs::Inputs;
use crate::skulls::Skull;
use crate::{Error, brain};

impl Inputs {
    /// Extracts the brains of the images that `files.brain` selects. The images of the whole heads are kept for the
    /// HTML pages.
    ///
    /// # Errors
    /// A head whose brain cannot be found; a registration that was stopped.
    pub fn extract_brains(
        &mut self,
        files: &PairFiles,
        device: &Device,
        progress: &mut dyn Progress,
    ) -> Result<(), Error> {
        let wanted = files.brain.sides(self.sides())?;
        if wanted == [false; 2] {
            return Ok(());
        }
        let template = brain::built_in_template(None)?;
        let sides = [&mut self.fixed.side, &mut self.moving];
        for (n, (side, path)) in sides.into_iter().zip([&files.fixed, &files.moving]).enumerate() {
            if wanted[n] {
                self.skulls[n] = Some(Skull::remove(path, side, &template, device, progress)?);
            }
        }
        Ok(())
    }

    /// The image that the HTML page shows for the fixed image (`side` 0) or the moving image (`side` 1) of a
    /// registration: the whole head, even if its brain was registered.
    ///
    /// # Errors
    /// A device that fails while an image is copied from the device.
    pub fn shown(&self, side: usize) -> Result<&Arc<Volume>, Error> {
        match &self.skulls[side] {
            Some(skull) => Ok(&skull.head),
            None => Ok(self.sides()[side].image.volume()?),
        }
    }
}
