//! Contribution of a subject to an average: its transforms from the template, and its images on the template's grid.

use std::sync::Arc;

use antsreg_cohort::template::Brightness;
use antsreg_core::io::{itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, Grid, Volume};

use super::session::Session;
use crate::Error;

/// What one subject contributes to the average of a pass: its transforms and its images on the template's grid.
pub struct Contribution {
    /// Affine transform, template → subject, RAS mm, with numbers rounded as in its file.
    pub affine: AffineTransform,
    /// Displacements that are added to points of the template before the affine transform is applied; `None` in the
    /// affine pass.
    pub warp: Option<DisplacementField>,
    /// The image of each channel on the template's grid.
    pub warped: Vec<Volume>,
    /// Mean intensity and foreground threshold of the image of each channel.
    pub brightness: Vec<Brightness>,
}

/// The contributions of all subjects of a pass, in the order of the subjects.
pub type Contributions = Vec<Arc<Contribution>>;

impl Contribution {
    /// Reads the files of a finished registration. `grid` is the template's grid without the rounding of file
    /// headers, so that the result is the same as from memory.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(session: &Session, pass: usize, subject: usize, grid: &Grid) -> Result<Contribution, Error> {
        let files = session.layout.registration(pass, &session.subject(subject).name);
        let warped = files.warped.iter().map(|path| Ok(Volume { grid: grid.clone(), ..nifti::read_volume(path)? }));
        let warped = warped.collect::<Result<Vec<_>, Error>>()?;
        Ok(Contribution {
            brightness: warped.iter().map(Brightness::of).collect(),
            warped,
            ..Contribution::read_transforms(session, pass, subject, grid)?
        })
    }

    /// Reads a subject's transforms from the files of its finished registration; the resampled images are not read.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read_transforms(
        session: &Session,
        pass: usize,
        subject: usize,
        grid: &Grid,
    ) -> Result<Contribution, Error> {
        let files = session.layout.registration(pass, &session.subject(subject).name);
        Ok(Contribution {
            affine: itk::read_affine(&files.affine)?,
            warp: match session.is_affine(pass) {
                true => None,
                false => Some(DisplacementField { grid: grid.clone(), ..itk::read_warp(&files.warp)? }),
            },
            warped: Vec::new(),
            brightness: Vec::new(),
        })
    }
}
