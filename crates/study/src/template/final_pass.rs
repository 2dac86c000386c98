//! The last pass, from which the final template is made.

use std::borrow::Cow;
use std::sync::Arc;

use antsreg_core::io::itk;
use antsreg_core::{AffineTransform, DisplacementField};

use super::contribution::Contribution;
use super::pass::FinishedPass;
use super::reference::Reference;
use super::session::Session;
use crate::Error;

/// Results of the last pass, from which the final template is made.
pub struct FinalPass<'a> {
    /// The template that is built.
    pub session: &'a Session,
    /// Number of this pass.
    pub pass: usize,
    /// The template that resulted from the last pass.
    pub reference: Arc<Reference>,
    /// Mean of the affine transforms without rotation and shift, from the template to the subjects, in the last pass.
    pub stretch: AffineTransform,
    /// Displacements of the shape update, from points of the new template to points of the average.
    pub shape: Cow<'a, DisplacementField>,
    /// The transforms and resampled images of the subjects, if this run has done the last pass and they fit in memory.
    pub contributions: Option<&'a [Arc<Contribution>]>,
    /// Whether an earlier run may have written the final files of some subjects.
    pub resumed: bool,
}

impl<'a> FinalPass<'a> {
    /// The results of the last pass, if this run has done the pass.
    pub fn of(session: &'a Session, done: &'a FinishedPass) -> FinalPass<'a> {
        FinalPass {
            session,
            pass: done.updated.results.pass,
            reference: done.updated.reference.clone(),
            stretch: done.stretch,
            shape: Cow::Borrowed(&done.updated.shape),
            contributions: done.contributions.as_deref(),
            resumed: false,
        }
    }

    /// Reads the results of the last pass from the files of an earlier run.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(session: &'a Session, pass: usize) -> Result<FinalPass<'a>, Error> {
        let reference = session.reference(Some(pass))?;
        let grid = reference.images[0].grid.clone();
        let shape = itk::read_warp(&session.layout.template(Some(pass)).shape)?;
        Ok(FinalPass {
            session,
            pass,
            reference: Arc::new(reference),
            stretch: itk::read_affine(&session.layout.average(pass).stretch)?,
            shape: Cow::Owned(DisplacementField { grid, ..shape }),
            contributions: None,
            resumed: true,
        })
    }
}
