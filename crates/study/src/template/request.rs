//! The request to build a template, as plain data.

use std::path::{Path, PathBuf};

use antsreg_register::{Model, Recipe};

use super::Error as TemplateError;
use super::layout::Layout;
use super::options::{TemplateOptions, check_range};
use crate::Error;
use crate::pair::Format;
use crate::subjects::Listing;

/// The request to build a template.
#[derive(Debug, Clone)]
pub struct Request {
    /// The folder of all outputs: a new or empty folder, or the folder of a template whose building is continued.
    pub folder: PathBuf,
    /// The subjects of the template. Their masks are not used.
    pub listing: Listing,
    /// Paths of the tables that list subjects. No output file may replace a table.
    pub tables: Vec<PathBuf>,
    /// The weight of each channel in the registrations, within [`TemplateOptions::WEIGHT`]; empty for equal weights.
    pub weights: Vec<f64>,
    /// What the template starts from: the average of all subjects after affine registration, the images of one subject,
    /// or given images.
    pub start: StartImage,
    /// Options of the registrations of subjects. The metric of the first channel is used for all channels. The fields
    /// `inverse_warp`, `scores` and `images` of these options are not used.
    pub recipe: Recipe,
    /// Options of building the template.
    pub options: TemplateOptions,
    /// Format of the final images and warps.
    pub format: Format,
}

/// What the template starts from: the average of all subjects after affine registration, the images of one subject, or
/// given images.
#[derive(Debug, Clone, Default)]
pub enum StartImage {
    /// The template starts from the average of all subjects, registered affinely to the first subject.
    #[default]
    Average,
    /// The template starts from the images of the subject with this name.
    Subject(String),
    /// The template starts from the images in these files, one file for each channel, all on one grid.
    Images(Vec<PathBuf>),
}

impl Request {
    /// Checks options and names before anything is read, and returns the names of the subjects. Workflow engines need
    /// the names, because they run one registration in each pass for each subject.
    ///
    /// # Errors
    /// Options out of range; names of subjects or channels that cannot be used in file names.
    pub fn subjects(&self) -> Result<Vec<&str>, Error> {
        self.check()?;
        Ok(self.listing.subjects.iter().map(|subject| subject.name.as_str()).collect())
    }

    /// Checks options and names before any file is read.
    ///
    /// # Errors
    /// Options out of range; names of subjects or channels that cannot be used in file names.
    pub(super) fn check(&self) -> Result<(), Error> {
        let Request { listing: Listing { subjects, channels }, recipe, options, weights, .. } = self;
        options.check()?;
        if recipe.model != Model::Syn {
            return Err(TemplateError::Model { found: recipe.model }.into());
        }
        if !weights.is_empty() && weights.len() != channels.len() {
            let (expected, found) = (channels.len(), weights.len());
            return Err(TemplateError::Count { what: "weights, one for each channel", expected, found }.into());
        }
        for weight in weights {
            check_range("the weight of a channel", &TemplateOptions::WEIGHT, *weight)?;
        }
        let names = || subjects.iter().map(|subject| subject.name.as_str());
        names().chain(channels.iter().map(String::as_str)).try_for_each(check_name)?;
        Layout::new(&self.folder, channels).check_names(names(), self.format.extension())?;
        Ok(())
    }

    /// Paths of all input files.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        let start: &[PathBuf] = match &self.start {
            StartImage::Images(files) => files,
            StartImage::Average | StartImage::Subject(_) => &[],
        };
        let subjects = self.listing.subjects.iter().flat_map(|subject| subject.images.iter().chain(&subject.labels));
        subjects.chain(&self.tables).chain(start).map(PathBuf::as_path)
    }
}

/// Checks that a name is allowed in file names and in rules of workflow engines.
fn check_name(name: &str) -> Result<(), TemplateError> {
    let plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    match name.starts_with(char::is_alphanumeric) && name.chars().all(plain) {
        true => Ok(()),
        false => Err(TemplateError::BadName { name: name.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_must_do_for_files_and_rules() {
        assert!(check_name("sub-01_ses-1").is_ok());
        for name in ["", "-a", "../a", "a b", ".a"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
