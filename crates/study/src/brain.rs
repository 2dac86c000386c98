//! Extracts brains from images of heads, and writes the results to files.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use antsreg_core::Volume;
use antsreg_core::io::nifti;
use antsreg_core::io::outputs::{Outputs, Writing, write_file};
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
    named(head, Template::new(volume, mask))
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

/// The output files of a brain extraction; `None` for a file that is not written.
#[derive(Debug, Clone, Copy, Default)]
pub struct BrainFiles<'a> {
    /// File of the image with 0 outside the brain.
    pub image: Option<&'a Path>,
    /// File of the brain mask.
    pub mask: Option<&'a Path>,
    /// File of the probability of brain at each voxel, 0 to 1.
    pub probability: Option<&'a Path>,
}

impl<'a> BrainFiles<'a> {
    /// Paths of the files that the brain extraction will write.
    pub fn paths(&self) -> impl Iterator<Item = &'a Path> + use<'a> {
        [self.image, self.mask, self.probability].into_iter().flatten()
    }

    /// Writes the output files of a brain extraction for which a path was given, and the HTML page, given as its path
    /// and its text. Writes all files or none.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, head: &Volume, found: &Extraction, page: Option<(&Path, String)>) -> Result<(), Error> {
        let image = self.image.map(|path| {
            let value = |n: usize| brain::value_without_skull(head.voxels[n], found.mask.voxels[n]);
            let write: Writing<Error> = Box::new(move |path| Ok(nifti::write_values(path, &head.grid, value)?));
            (path, write)
        });
        let volumes = [(self.mask, &found.mask), (self.probability, &found.probability)];
        let volumes = volumes.into_iter().filter_map(|(path, volume)| {
            let write: Writing<Error> = Box::new(|path| Ok(nifti::write_volume(path, volume)?));
            Some((path?, write))
        });
        let mut outputs = Outputs::new();
        outputs.write_all(image.into_iter().chain(volumes).collect())?;
        if let Some((path, html)) = &page {
            outputs.write::<Error>(path, |path| Ok(write_file(path, html.as_bytes())?))?;
        }
        outputs.commit()?;
        Ok(())
    }
}
