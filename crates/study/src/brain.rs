//! Brains of heads, from volumes to files.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use antsreg_core::Volume;
use antsreg_core::io::nifti;
use antsreg_core::io::outputs::Outputs;
use antsreg_heads::brain::{self, Contrast, Extraction, Template};
use antsreg_register::{Device, Progress};

use crate::{Error, inputs};

/// The template of a head and its brain from files, each with the image and the mask.
///
/// # Errors
/// Files that cannot be read or do not fit each other.
pub fn template_of([head, brain]: [&Path; 2]) -> Result<Template, Error> {
    let volume = inputs::image(head)?;
    let mask = inputs::mask(brain, head, &volume.grid)?;
    named(head, Template::new(volume, mask))
}

/// The built-in template: of one contrast, or of all.
///
/// # Errors
/// A program whose file is damaged.
pub fn built_in_template(contrast: Option<Contrast>) -> Result<Template, Error> {
    static ALL: OnceLock<Template> = OnceLock::new();
    if let (None, Some(all)) = (contrast, ALL.get()) {
        return Ok(all.clone());
    }
    let template = named(Path::new("the built-in template"), Template::built_in(contrast))?;
    Ok(if contrast.is_none() { ALL.get_or_init(|| template).clone() } else { template })
}

/// Finds the brain in an image of a head; `name` of the head is for messages.
///
/// # Errors
/// [`Error::Brain`]; a registration that was stopped or failed.
pub fn find(
    name: &Path,
    head: &Arc<Volume>,
    template: &Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Extraction, Error> {
    named(name, brain::extract(head, template, device, progress))
}

fn named<T>(path: &Path, result: Result<T, brain::Error>) -> Result<T, Error> {
    result.map_err(|source| match source {
        // An interruption by the user is not an error of the file.
        brain::Error::Register(source @ antsreg_register::Error::Stopped) => source.into(),
        source => Error::Brain { path: path.into(), source: Box::new(source) },
    })
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
    /// The names of the files to write.
    pub fn paths(&self) -> impl Iterator<Item = &'a Path> + use<'a> {
        [self.image, self.mask, self.probability].into_iter().flatten()
    }

    /// Writes those files that have names, all or none.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, head: &Volume, found: &Extraction) -> Result<(), Error> {
        let mut outputs = Outputs::new();
        let extracted = self.image.map(|path| (path, brain::without_skull(head, &found.mask)));
        if let Some((path, extracted)) = &extracted {
            outputs.write::<Error>(path, |path| Ok(nifti::write_volume(path, extracted)?))?;
        }
        for (path, volume) in [(self.mask, &found.mask), (self.probability, &found.probability)] {
            if let Some(path) = path {
                outputs.write::<Error>(path, |path| Ok(nifti::write_volume(path, volume)?))?;
            }
        }
        outputs.commit()?;
        Ok(())
    }
}
