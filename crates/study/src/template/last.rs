//! The last pass of template building, from which the final template is made.

use std::borrow::Cow;
use std::sync::Arc;

use antsreg_core::io::itk;
use antsreg_core::{AffineTransform, DisplacementField};

use super::contribution::Contribution;
use super::pass::Done;
use super::reference::Reference;
use super::session::Session;
use crate::Error;

/// Results of the last pass of template building, from which the final template is made.
pub struct Last<'a> {
    /// The template that resulted from the last pass of template building.
    pub reference: Arc<Reference>,
    /// Mean of the affine transforms without rotation and shift, from the template to the subjects, in the last pass.
    pub stretch: AffineTransform,
    /// Displacements of the shape update (which moves the average to the mean shape), from points of the new template
    /// to points of the average.
    pub shape: Cow<'a, DisplacementField>,
    /// The transforms and resampled images of the subjects, if this run has done the last pass and they fit in memory.
    pub contributions: Option<&'a [Arc<Contribution>]>,
    /// Whether an earlier run may have written the final files of some subjects.
    pub resumed: bool,
}

impl<'a> Last<'a> {
    /// The results of the last pass of template building, if this run has done the pass.
    pub fn of(done: &'a Done) -> Last<'a> {
        Last {
            reference: done.updated.reference.clone(),
            stretch: done.stretch,
            shape: Cow::Borrowed(&done.updated.shape),
            contributions: done.contributions.as_deref(),
            resumed: false,
        }
    }

    /// Reads the results of the last pass of template building from the files of an earlier run.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(session: &Session, pass: usize) -> Result<Last<'a>, Error> {
        let reference = session.reference(Some(pass))?;
        let grid = reference.images[0].grid.clone();
        let shape = itk::read_warp(&session.layout.template(Some(pass)).shape)?;
        Ok(Last {
            reference: Arc::new(reference),
            stretch: itk::read_affine(&session.layout.average(pass).stretch)?,
            shape: Cow::Owned(DisplacementField { grid, ..shape }),
            contributions: None,
            resumed: true,
        })
    }
}
