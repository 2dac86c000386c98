//! Options for the images and warps that are written, for one registration or many.

use antsreg_register::{Interpolation, Recipe, WarpedImages};
use antsreg_study::pair::{Format, Writing};

/// Options for the images and warps that are written.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct WritingArgs {
    /// Format of images and warps
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
    /// Do not write the warped images, Warped and InverseWarped
    #[arg(long, help_heading = "Output")]
    no_warped: bool,
    /// Do not write the inverse warp and the inversely warped image: 1InverseWarp and InverseWarped
    #[arg(long, help_heading = "Output")]
    no_inverse: bool,
    /// Write the transforms of each direction as one file, Composite.h5 and InverseComposite.h5, instead of 0GenericAffine.mat,
    /// 1Warp and 1InverseWarp
    #[arg(long, help_heading = "Output")]
    composite: bool,
    /// Interpolation of the warped images
    #[arg(
        short = 'n',
        long,
        value_enum,
        default_value_t,
        value_name = "HOW",
        help_heading = "Output",
        conflicts_with = "no_warped"
    )]
    interpolation: Interpolation,
}

impl WritingArgs {
    /// Returns which output files of a registration are written, such as warped images and inverse warps, and their
    /// format.
    pub fn writing(&self) -> Writing {
        Writing { format: self.format, warped: !self.no_warped, inverse: !self.no_inverse, composite: self.composite }
    }

    /// Sets in `recipe` which results the registration computes: those that are written.
    pub fn request(&self, recipe: &mut Recipe) {
        let writing = self.writing();
        recipe.images = Some(self.images());
        recipe.inverse_warp = writing.inverse;
    }

    /// Returns which warped images a registration has to compute, and their interpolation.
    pub fn images(&self) -> WarpedImages {
        let warped = !self.no_warped;
        WarpedImages { interpolation: self.interpolation, warped, inverse_warped: warped && !self.no_inverse }
    }
}
