//! Which images and warps are written, and how, as typed: the same of one registration or of many.

use clap::ValueEnum;

use crate::interpolation::ImageInterpolation;

/// Which images and warps are written, and how.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct WritingArgs {
    /// Format of images and warps
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub format: Format,
    /// Do not write the images Warped and InverseWarped
    #[arg(long, help_heading = "Output")]
    pub no_warped: bool,
    /// Do not write the inverse: 1InverseWarp and InverseWarped
    #[arg(long, help_heading = "Output")]
    pub no_inverse: bool,
    /// How the warped images are read between voxels
    #[arg(
        short = 'n',
        long,
        value_enum,
        default_value_t,
        value_name = "HOW",
        help_heading = "Output",
        conflicts_with = "no_warped"
    )]
    pub interpolation: ImageInterpolation,
}

/// File format of images and warps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// Compressed NIfTI
    #[default]
    #[value(name = "nii.gz")]
    NiiGz,
    /// NIfTI as it is: larger, faster
    #[value(name = "nii")]
    Nii,
}

impl Format {
    /// What a file name ends in, after the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::NiiGz => "nii.gz",
            Format::Nii => "nii",
        }
    }
}
