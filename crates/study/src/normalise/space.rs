//! The template space to which a normalisation brings heads: a template and its name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use antsreg_heads::brain::{Contrast, without_skull};
use antsreg_register::Side;

use super::names::label;
use crate::words::stem;
use crate::{Error, FileIdentity, brain, inputs};

/// The BIDS name of the built-in template's space.
const BUILT_IN: &str = "MNI152NLin2009cAsym";

/// The template space to which heads are registered: a template, whose brain is the fixed image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// Name of the template's space in the names of output files: letters and digits.
    pub name: String,
    /// Paths of the template and of its brain mask; `None` for the built-in template. Without a mask, the brain of
    /// the template is extracted when the first scan is registered.
    pub template: Option<(PathBuf, Option<PathBuf>)>,
}

impl Space {
    /// The space of the template in a file, or of the built-in template. `name` is the name of the space; by default
    /// it is made from the name of the file.
    pub fn new(template: Option<PathBuf>, mask: Option<PathBuf>, name: Option<String>) -> Space {
        let usual = template.as_deref().map_or(BUILT_IN.into(), |template| label(&stem(template)));
        Space { name: name.unwrap_or(usual), template: template.map(|template| (template, mask)) }
    }

    /// Name of the fixed image in records and messages: the path of its file, or the name of the space.
    pub fn path(&self) -> PathBuf {
        self.template.as_ref().map_or_else(|| self.name.clone().into(), |(template, _)| template.clone())
    }

    /// Path of the brain mask of the template.
    pub fn mask(&self) -> Option<&Path> {
        self.template.as_ref()?.1.as_deref()
    }

    /// Reads the template. The built-in template, and a template with a brain mask, are set to 0 outside the brain.
    /// Also returns the identities (size, time, inode) of the files that were read.
    ///
    /// # Errors
    /// A file that cannot be read; a mask on another grid than the template.
    pub fn read(&self) -> Result<(Side, Vec<FileIdentity>), Error> {
        let Some((template, mask)) = &self.template else {
            let built_in = brain::built_in_template(Some(Contrast::T1))?;
            return Ok((Side::new(without_skull(built_in.head(), built_in.brain())), Vec::new()));
        };
        let identities =
            FileIdentity::of_all([Some(template), mask.as_ref()].into_iter().flatten().map(PathBuf::as_path));
        let image = inputs::image(template)?;
        let image = match mask {
            Some(mask) => without_skull(&image, &inputs::mask(mask, template, &image.grid)?),
            None => image,
        };
        Ok((Side::new(Arc::new(image)), identities))
    }
}
