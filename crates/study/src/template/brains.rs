//! Extracts the brains of subjects with skulls, if other subjects have none. The first step does this once, and
//! writes the brain masks to the folder of the first template. It runs on the CPU, so that the masks do not depend on
//! the devices.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use antsreg_core::{LabelVolume, Volume};
use antsreg_register::{Device, Side};
use serde::{Deserialize, Serialize};

use super::channels::Channels;
use super::manifest::{Manifest, results_of};
use super::progress::TemplateProgress;
use super::session::Session;
use crate::skulls::{ExtractedRecord, Skull};
use crate::{Error, brain};

/// Name that messages and records give to the images of the initial template, in the place of a subject's name.
pub const START: &str = "the initial template";

/// The brains that the first step extracted, as the manifest of this step describes them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Brains {
    /// Volume and quality measures of the brains that are registered instead of the whole heads. The key is the name of
    /// the subject, or [`START`] for the initial template.
    pub brains: BTreeMap<String, ExtractedRecord>,
}

/// Replaces the images of a subject, or of the initial template, by their brain. `name` is the name of the subject in
/// messages.
///
/// # Errors
/// A head whose brain cannot be found.
pub fn extract(
    name: &str,
    path: &Path,
    images: Channels,
    progress: &mut dyn TemplateProgress,
) -> Result<(Channels, Skull), Error> {
    let template = brain::built_in_template(None)?;
    let mut images = images.into_iter();
    let first = images.next().unwrap_or_else(|| template.head().clone());
    let channels = images.map(Into::into).collect();
    let mut side = Side { channels, ..Side::new(first) };
    let skull = Skull::remove(path, &mut side, &template, &Device::cpu(), &mut ())?;
    progress.brain(name, &skull.record);
    let images = std::iter::once(&side.image).chain(&side.channels).map(|image| Ok(image.volume()?.clone()));
    Ok((images.collect::<Result<Channels, Error>>()?, skull))
}

/// Converts a mask to a label map, which needs little space in a file.
pub fn as_labels(mask: &Volume) -> LabelVolume {
    LabelVolume { grid: mask.grid.clone(), voxels: mask.voxels.iter().map(|v| i32::from(*v > 0.5)).collect() }
}

impl Session {
    /// Volume and quality measures of the brains that the first step extracted.
    ///
    /// # Errors
    /// The first step has not been done.
    pub(super) fn brains(&self) -> Result<BTreeMap<String, ExtractedRecord>, Error> {
        if !self.has_brains() {
            return Ok(BTreeMap::new());
        }
        let manifest: Arc<Manifest> = self.template(None)?;
        let found: Brains = results_of(&manifest, self.layout.template(None).manifest)?;
        Ok(found.brains)
    }

    /// Whether the brain of any image is registered in the place of the whole head.
    pub(super) fn has_brains(&self) -> bool {
        self.plan.start_brain || self.included.iter().any(|&subject| self.subject(subject).brain)
    }
}
