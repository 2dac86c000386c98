//! Brains of heads, from volumes to files.

use std::path::Path;
use std::sync::Arc;

use antsreg_core::Volume;
use antsreg_core::io::nifti;
use antsreg_core::io::outputs::Outputs;
use antsreg_heads::brain::{self, Brain, Template};
use antsreg_register::{Device, Progress};

use crate::{Error, inputs};

/// The template of a head and its brain from files, or the one that is built in.
///
/// # Errors
/// Files that cannot be read or do not fit each other.
pub fn template(files: Option<[&Path; 2]>) -> Result<Template, Error> {
    let Some([head, brain]) = files else { return named(Path::new("the built-in template"), Template::built_in()) };
    let volume = inputs::image(head)?;
    let mask = inputs::mask(brain, head, &volume.grid)?;
    named(head, Template::new(volume, mask))
}

/// Finds the brain of an image, whose name messages take.
///
/// # Errors
/// [`Error::Brain`]; a registration that was stopped or failed.
pub fn find(
    name: &Path,
    image: &Arc<Volume>,
    template: &Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Brain, Error> {
    named(name, brain::extract(image, template, device, progress))
}

fn named<T>(path: &Path, result: Result<T, brain::Error>) -> Result<T, Error> {
    result.map_err(|source| match source {
        brain::Error::Register(antsreg_register::Error::Stopped) => antsreg_register::Error::Stopped.into(),
        source => Error::Brain { path: path.into(), source: Box::new(source) },
    })
}

/// The files of a brain.
#[derive(Debug, Clone, Copy, Default)]
pub struct BrainFiles<'a> {
    /// The image, 0 outside the brain.
    pub image: Option<&'a Path>,
    /// The mask.
    pub mask: Option<&'a Path>,
    /// The probability of brain.
    pub probability: Option<&'a Path>,
}

impl BrainFiles<'_> {
    /// Writes those files that have names, all or none.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, image: &Volume, brain: &Brain) -> Result<(), Error> {
        let mut outputs = Outputs::new();
        if let Some(path) = self.image {
            let extracted = without_skull(image, &brain.mask);
            outputs.write::<Error>(path, |path| Ok(nifti::write_volume(path, &extracted)?))?;
        }
        for (path, volume) in [(self.mask, &brain.mask), (self.probability, &brain.probability)] {
            if let Some(path) = path {
                outputs.write::<Error>(path, |path| Ok(nifti::write_volume(path, volume)?))?;
            }
        }
        outputs.commit()?;
        Ok(())
    }
}

/// An image that is 0 where a mask on its grid is not above 0.5.
pub fn without_skull(image: &Volume, mask: &Volume) -> Volume {
    let voxels = image.voxels.iter().zip(&mask.voxels);
    let voxels = voxels.map(|(value, mask)| if *mask > 0.5 { *value } else { 0.0 }).collect();
    Volume { grid: image.grid.clone(), voxels }
}
