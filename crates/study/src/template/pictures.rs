//! Pictures of templates and subjects for the report, drawn while their images are in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use antsreg_core::Volume;
use antsreg_core::io::nifti;
use antsreg_report::{Overview, overview};

use crate::Error;

/// What a picture in the report of a template shows: a template or a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PictureOf {
    /// The template that results from a pass, or the template before all passes.
    Template(Option<usize>),
    /// A subject on the final template, by its index in the template's list of subjects.
    Subject(usize),
}

/// Pictures drawn so far, encoded as `data:` URLs for the HTML report.
#[derive(Debug, Default)]
pub struct Pictures(Mutex<BTreeMap<PictureOf, String>>);

impl Pictures {
    /// Draws the first channel of a template or a subject as a picture for the HTML report; returns the picture.
    pub fn draw(&self, shown: PictureOf, first: &Volume) -> Result<String, Error> {
        let size = match shown {
            PictureOf::Template(_) => Overview::Large,
            PictureOf::Subject(_) => Overview::Small,
        };
        let picture = overview(first, size)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(shown, picture.clone());
        Ok(picture)
    }

    /// Returns a picture for the HTML report. At the first call the picture is drawn from the image at `path`.
    pub fn get(&self, shown: PictureOf, path: &Path) -> Result<String, Error> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&shown).cloned();
        known.map_or_else(|| self.draw(shown, &nifti::read_volume(path)?), Ok)
    }
}
