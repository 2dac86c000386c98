//! The alignment of centres by `antsAI`, without a search.

use std::path::PathBuf;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::GridRule;
use antsreg_core::io::{itk, outputs};
use antsreg_core::{AffineTransform, Volume};
use antsreg_register::Description;
use nalgebra::{Matrix3, Point3};

use super::words::{Given, last};
use crate::call::Call;

/// The centres that are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Centres {
    /// Centres of mass.
    OfMass,
    /// Middles of the grids.
    Geometric,
}

impl Centres {
    /// The centres that the transform of a command line aligns; `None` if the transform is searched for.
    ///
    /// # Errors
    /// The transform is missing.
    pub fn of(given: &[Given]) -> Result<Option<Centres>, Refusal> {
        let transform = last(given, "transform").ok_or_else(|| Refusal::new("--transform", "is missing"))?;
        Ok(match transform.name.to_ascii_lowercase().as_str() {
            "aligncentersofmass" => Some(Centres::OfMass),
            "aligngeometriccenters" => Some(Centres::Geometric),
            _ => None,
        })
    }

    fn centre(self, image: &Volume) -> Option<Point3<f64>> {
        match self {
            Centres::OfMass => image.centre_of_gravity(),
            Centres::Geometric => Some(image.grid.centre()),
        }
    }
}

/// The images and the output of an alignment.
pub struct Ends {
    /// Whether the images have two dimensions.
    pub slices: bool,
    /// Path of the fixed image.
    pub fixed: PathBuf,
    /// Path of the moving image.
    pub moving: PathBuf,
    /// Output file of the transform from fixed to moving points.
    pub output: PathBuf,
}

/// Writes the translation from the centre of the fixed image to that of the moving image.
///
/// # Errors
/// Files that cannot be read or written; an image without mass.
pub fn run(call: &Call, ends: &Ends, centres: Centres) -> Result<(), CliError> {
    let output = ends.output.as_path();
    super::check_affine_name(output)?;
    outputs::check([output], [&ends.fixed, &ends.moving])?;
    let centre = |path: &PathBuf| {
        let image = GridRule::Itk.read_volume(path)?;
        super::check_dimension(ends.slices, [(path.as_path(), &image.grid)])?;
        let missing = || Refusal::new(path.display(), "the intensities add up to 0, so there is no centre of mass");
        Ok::<_, CliError>(centres.centre(&image).ok_or_else(missing)?)
    };
    let [fixed, moving] = [centre(&ends.fixed)?, centre(&ends.moving)?];
    let affine = AffineTransform { matrix: Matrix3::identity(), translation: moving - fixed };
    match ends.slices {
        true => itk::write_affine_of_slices(output, &affine, fixed)?,
        false => itk::write_affine(output, &affine, fixed)?,
    }
    call.tell(&Description::Cpu, &[]);
    Ok(())
}
