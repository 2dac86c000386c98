//! Pictures of templates and subjects for the report, drawn while their images are in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use antsreg_core::Volume;
use antsreg_core::io::nifti;
use antsreg_report::{Overview, overview};

use super::session::Session;
use crate::Error;

/// What a picture in the report of a template shows: a template or a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drawn {
    /// The template that results from a pass of template building, or the template before all passes.
    Template(Option<usize>),
    /// A subject on the final template, by its index in the template's list of subjects.
    Subject(usize),
}

/// Pictures drawn so far, encoded as `data:` URLs for the HTML report.
#[derive(Debug, Default)]
pub struct Pictures(Mutex<BTreeMap<Drawn, String>>);

impl Session {
    /// Draws the first channel of a template or a subject as a picture for the HTML report; returns the picture.
    pub(super) fn draw(&self, drawn: Drawn, first: &Volume) -> Result<String, Error> {
        let size = match drawn {
            Drawn::Template(_) => Overview::Large,
            Drawn::Subject(_) => Overview::Small,
        };
        let picture = overview(first, size)?;
        let Pictures(pictures) = &self.pictures;
        pictures.lock().unwrap_or_else(PoisonError::into_inner).insert(drawn, picture.clone());
        Ok(picture)
    }

    /// Returns the picture of a template or subject for the HTML report. At the first call the picture is drawn from
    /// the image file.
    pub(super) fn picture(&self, drawn: Drawn) -> Result<String, Error> {
        let Pictures(pictures) = &self.pictures;
        if let Some(picture) = pictures.lock().unwrap_or_else(PoisonError::into_inner).get(&drawn) {
            return Ok(picture.clone());
        }
        let path = match drawn {
            Drawn::Template(pass) => self.layout.template(pass).images.swap_remove(0),
            Drawn::Subject(subject) => {
                self.layout.subject(&self.subject(subject).name, self.extension()).warped.swap_remove(0)
            }
        };
        self.draw(drawn, &nifti::read_volume(&path)?)
    }
}
