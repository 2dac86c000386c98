//! Extracts brains from images of heads.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use antsreg_core::Volume;
use antsreg_heads::brain::{self, Contrast, Extraction, Template};
use antsreg_register::{Device, Progress};
use serde::{Deserialize, Serialize};

use crate::{Error, inputs};

/// Reads a template for brain extraction from two files: the image of a head, and the mask of its brain.
///
/// # Errors
/// Files that cannot be read or do not fit each other.
pub fn template_of([head, brain]: [&Path; 2]) -> Result<Template, Error> {
    let volume = inputs::image(head)?;
    let mask = inputs::mask(brain, head, &volume.grid)?;
    template(head, volume, mask)
}

/// A template for brain extraction: the image of a head, and the mask of its brain. `name` is the name of the image in
/// messages.
///
/// # Errors
/// Images that do not fit each other.
pub fn template(name: &Path, head: Volume, mask: Volume) -> Result<Template, Error> {
    named(name, Template::new(head, mask))
}

/// The image of a head with 0 outside the brain that was found in it.
pub fn alone(head: &Volume, found: &Extraction) -> Volume {
    brain::without_skull(head, &found.mask)
}

/// The built-in template for brain extraction, with the head images of one contrast or of all contrasts.
///
/// # Errors
/// The template inside the program is damaged.
pub fn built_in_template(contrast: Option<Contrast>) -> Result<Template, Error> {
    static ALL: OnceLock<Template> = OnceLock::new();
    if let (None, Some(all)) = (contrast, ALL.get()) {
        return Ok(all.clone());
    }
    let template = named(Path::new("the built-in template"), Template::built_in(contrast))?;
    Ok(if contrast.is_none() { ALL.get_or_init(|| template).clone() } else { template })
}

/// Finds the brain in an image of a head; `name` is the name of the image in messages. The handle of the device is
/// dropped as soon as the device is no longer needed.
///
/// # Errors
/// [`Error::Brain`]; a registration that was stopped or failed.
pub fn find(
    name: &Path,
    head: &Arc<Volume>,
    template: &Template,
    device: Device,
    progress: &mut dyn Progress,
) -> Result<Extraction, Error> {
    named(name, brain::extract(head, template, device, progress))
}

fn named<T>(path: &Path, result: Result<T, brain::Error>) -> Result<T, Error> {
    result.map_err(|source| match source {
        // If the user stopped the registration, the error does not name the file.
        brain::Error::Register(source @ antsreg_register::Error::Stopped) => source.into(),
        source => Error::Brain { path: path.into(), source: Box::new(source) },
    })
}

/// Results of a brain extraction, as in JSON records: contrast and quality measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BrainRecord {
    /// The contrast of the template whose intensities are most similar to those of the image.
    pub contrast: Contrast,
    /// Surface of the brain mask divided by the surface of a ball of the same volume.
    pub surface_ratio: f64,
    /// Correlation of the image with the registered template near the brain.
    pub correlation: f64,
    /// Overlap (Dice) of the brain mask with the brain mask of the registered template.
    pub agreement: f64,
}

impl From<&Extraction> for BrainRecord {
    fn from(found: &Extraction) -> BrainRecord {
        BrainRecord {
            contrast: found.contrast,
            surface_ratio: found.surface_ratio,
            correlation: found.correlation,
            agreement: found.agreement,
        }
    }
}
