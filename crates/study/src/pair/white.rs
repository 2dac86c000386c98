//! Finds the white matter of the fixed image for boundary-based registration, if no segmentation was given.

use std::path::Path;
use std::sync::Arc;

use antsreg_core::Volume;
use antsreg_heads::brain::{Kind, kind, mask_of_brain};
use antsreg_heads::tissue::{Mixture, WhiteMatter, white_matter};
use antsreg_register::{Device, Options, Progress};
use serde::{Deserialize, Serialize};

use super::inputs::Inputs;
use crate::skulls::ExtractedRecord;
use crate::{Error, brain};

/// The part of a registration's JSON record about the white matter that was found in the fixed image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WhiteMatterRecord {
    /// Volume of the white matter, mL.
    pub volume_ml: f64,
    /// The three classes of intensities (fluid, grey matter, white matter) in the brain, after the shading was removed.
    #[serde(flatten)]
    pub mixture: Mixture,
    /// The brain in which the white matter was found; `None` if a mask was given, or if the image has no skull.
    pub brain: Option<ExtractedRecord>,
    /// Warnings about the white matter and its brain, as text.
    #[serde(alias = "doubts")]
    pub warnings: Vec<String>,
}

impl Inputs {
    /// Finds the white matter in the fixed image, if a stage needs it and no segmentation was given. `name` is the name
    /// of the fixed image in messages. The white matter lies in the mask of the fixed image or, without a mask, in the
    /// brain.
    ///
    /// # Errors
    /// A head whose brain cannot be found; a brain without the tissues of a T1-weighted image; a registration that was
    /// stopped.
    pub fn find_white_matter(
        &mut self,
        name: &Path,
        options: &Options,
        device: &Device,
        progress: &mut dyn Progress,
    ) -> Result<(), Error> {
        let Some(stage) = options.boundary_stage() else { return Ok(()) };
        if self.fixed.side.white_matter.is_some() || self.fixed.side.grid().is_slice() {
            return Ok(());
        }
        let image = self.shown(0)?.clone();
        let (mask, brain) = self.brain_of_fixed(name, &image, stage, device, progress)?;
        let found = white_matter(&image, &mask)
            .map_err(|source| Error::WhiteMatter { path: name.into(), source: Box::new(source) })?;
        self.white_matter = Some(WhiteMatterRecord::of(&found, brain));
        self.fixed.side.white_matter = Some(Arc::new(found.mask));
        Ok(())
    }

    /// The brain mask of the fixed image: the mask of the stage, else the mask of the brain that was extracted earlier,
    /// else the foreground of an image without a skull. If there is none of these, the brain is extracted, and the
    /// record of the extraction is returned as well.
    fn brain_of_fixed(
        &self,
        name: &Path,
        image: &Arc<Volume>,
        stage: usize,
        device: &Device,
        progress: &mut dyn Progress,
    ) -> Result<(Arc<Volume>, Option<ExtractedRecord>), Error> {
        if let Some(mask) = self.fixed.side.mask.of_stage(stage) {
            return Ok((mask.clone(), None));
        }
        if let Some(skull) = &self.skulls[0] {
            return Ok((skull.mask.clone(), None));
        }
        if kind(image) == Kind::Brain {
            return Ok((Arc::new(mask_of_brain(image)), None));
        }
        let found = brain::find(name, image, &brain::built_in_template(None)?, device.clone(), progress)?;
        let record = ExtractedRecord::from(&found);
        Ok((Arc::new(found.mask), Some(record)))
    }
}

impl WhiteMatterRecord {
    /// Makes the entry of the JSON record about white matter, and about the brain that was extracted to find it.
    fn of(found: &WhiteMatter, brain: Option<ExtractedRecord>) -> WhiteMatterRecord {
        let WhiteMatter { volume_ml, mixture, .. } = *found;
        let range = WhiteMatter::PLAUSIBLE_ML;
        let implausible = (!range.contains(&volume_ml)).then(|| {
            let (least, most) = (range.start(), range.end());
            format!(
                "the white matter found in the fixed image has {volume_ml:.0} mL, expected {least:.0} to {most:.0} mL for a \
                 whole brain; check the result"
            )
        });
        let of_brain = brain.iter().flat_map(|brain| brain.warnings.clone());
        WhiteMatterRecord { volume_ml, mixture, warnings: of_brain.chain(implausible).collect(), brain }
    }
}
