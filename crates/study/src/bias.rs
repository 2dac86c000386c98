//! Images corrected for shading, from volumes to files.

use std::path::Path;

use antsreg_core::Volume;
use antsreg_core::io::nifti;
use antsreg_core::io::outputs::Outputs;
use antsreg_heads::bias::{self, Course, Options};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Which images are corrected for shading after they are read, before anything else is done with them. What a registration
/// writes shows the corrected images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Corrected {
    /// No image
    #[default]
    None,
    /// Those of the fixed side
    Fixed,
    /// Those of the moving side
    Moving,
    /// Those of both sides
    Both,
}

impl Corrected {
    /// Whether the images of the fixed side are corrected.
    pub fn fixed(self) -> bool {
        matches!(self, Corrected::Fixed | Corrected::Both)
    }

    /// Whether the images of the moving side are corrected.
    pub fn moving(self) -> bool {
        matches!(self, Corrected::Moving | Corrected::Both)
    }
}

/// The image without its shading, by ANTs' usual parameters from the voxels above zero. `name` is used in messages.
///
/// # Errors
/// [`Error::Bias`] where no field is found.
pub fn corrected(name: &Path, mut image: Volume) -> Result<Volume, Error> {
    let foreground = bias::foreground(&image);
    let field = bias::estimate(&image, Some(&foreground), None, &Options::default())
        .map_err(|source| Error::Bias { path: name.into(), source })?;
    field.divide(&mut image);
    Ok(image)
}

/// Whether voxels without a positive intensity count when no mask is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Only voxels above zero count, since the logarithm needs positive values.
    LeftOut,
    /// All voxels count, as in ITK; values that are not positive stand for their own logarithm.
    Counts,
}

/// A bias field correction of one image, as input data.
#[derive(Debug, Clone, Copy)]
pub struct Correction<'a> {
    /// The name of the image, for messages.
    pub name: &'a Path,
    /// The image.
    pub image: &'a Volume,
    /// The voxels (above 0) by which the field is found, and which are corrected; the others stay as they are.
    pub mask: Option<&'a Volume>,
    /// Whether voxels that are not positive count if there is no mask. All voxels are corrected.
    pub background: Background,
    /// Weight of each voxel in the fit of the field.
    pub weights: Option<&'a Volume>,
    /// The parameters of N4.
    pub options: &'a Options,
    /// Whether corrected intensities in the mask are rescaled to the range of the original intensities.
    pub rescale: bool,
}

impl Correction<'_> {
    /// The corrected image, the factor at each voxel by which it was divided, and how the levels went.
    ///
    /// # Errors
    /// [`Error::Bias`] where no field is found.
    pub fn find(&self) -> Result<(Volume, bias::BiasField), Error> {
        let Correction { name, image, mask, background, weights, options, rescale } = *self;
        let foreground = match (mask, background) {
            (None, Background::LeftOut) => Some(bias::foreground(image)),
            _ => None,
        };
        let field = bias::estimate(image, mask.or(foreground.as_ref()), weights, options)
            .map_err(|source| Error::Bias { path: name.into(), source })?;
        let mut corrected = bias::correct(image, &field, mask);
        if let Some(mask) = mask.filter(|_| rescale) {
            bias::rescale_as(image, mask, &mut corrected);
        }
        Ok((corrected, field))
    }

    /// Writes the corrected image, and the field where it has a name; both or none. Tells how the levels went.
    ///
    /// # Errors
    /// [`Error::Bias`] where no field is found; files that cannot be written.
    pub fn write(&self, to: &Path, field_to: Option<&Path>) -> Result<Vec<Course>, Error> {
        let (corrected, field) = self.find()?;
        let mut outputs = Outputs::new();
        outputs.write::<Error>(to, |path| Ok(nifti::write_volume(path, &corrected)?))?;
        if let Some(field_to) = field_to {
            let factors = field.on(&self.image.grid);
            outputs.write::<Error>(field_to, |path| Ok(nifti::write_volume(path, &factors)?))?;
        }
        outputs.commit()?;
        Ok(field.courses().to_vec())
    }
}
