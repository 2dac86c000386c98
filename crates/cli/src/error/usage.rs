//! Options that do not go together.

use crate::device::DeviceChoice;

/// Options that do not go together; clap finds the simpler cases.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UsageError {
    /// A number of degrees of freedom that the images do not have.
    #[error("--dof {found}: {images} have {expected}")]
    Dof {
        /// As typed.
        found: u8,
        /// What the images are.
        images: &'static str,
        /// What they can have.
        expected: &'static str,
    },
    /// An option that would do nothing.
    #[error("{option} has no effect with {with}; leave one of them out")]
    NoEffect {
        /// The option.
        option: &'static str,
        /// What makes it useless.
        with: String,
    },
    /// Lists of levels of different lengths.
    #[error("--reinvert-every has {found} values for {levels} levels; give one a level, or one for all")]
    Reinversions { found: usize, levels: usize },
    #[error(
        "the levels do not match: --shrink-factors {shrink}, --smoothing-sigmas {sigmas} and --iterations {iterations}, \
         of which those not given suit the image; give all three with one value a level"
    )]
    Levels {
        /// Shrink factors as typed, or the default ones.
        shrink: String,
        /// Sigmas, alike.
        sigmas: String,
        /// Iteration counts, alike.
        iterations: String,
    },
    /// A shrink factor larger than the image.
    #[error(
        "shrink factor {factor} leaves fewer than {least} voxels of the {extent} along an axis; give a smaller one"
    )]
    Shrink {
        /// The factor.
        factor: usize,
        /// The shortest axis of the fixed image.
        extent: usize,
        /// What must be left.
        least: usize,
    },
    /// A window that the kernels of a GPU do not have.
    #[error(
        "--cc-radius {radius} cannot be had on {device}, where windows with the exact derivative or masks have a radius \
         of up to {most}; give a smaller one, or --device cpu"
    )]
    Radius {
        /// The radius.
        radius: usize,
        /// The device.
        device: DeviceChoice,
        /// The largest there is.
        most: usize,
    },
    /// More than one device for one registration.
    #[error("--device {asked}: several devices are for batch, where each takes some of the subjects; name one here")]
    SeveralDevices {
        /// The devices as typed.
        asked: String,
    },
    /// Two atlases of one name.
    #[error("two atlases are called {name}, {} and {}; name them apart, or give one of them only", images[0], images[1])]
    AtlasTwice {
        /// The name.
        name: String,
        /// Their images.
        images: [String; 2],
    },
    /// Too few images to leave one out.
    #[error("--leave-one-out labels each image by the others: give two or more with --atlas, found {found}")]
    TooFewToLeaveOut {
        /// How many there are.
        found: usize,
    },
    /// An option is missing.
    #[error("{option} is needed {why}")]
    Missing {
        /// The option.
        option: &'static str,
        /// For what.
        why: &'static str,
    },
    /// A folder where the start of names belongs.
    #[error("--output {0}: the names of all files would begin so; for files in that folder give {0}/")]
    HiddenPrefix(String),
    /// The program cannot tell which of two formats a file has.
    #[error("{0}: cannot tell whether this is ITK's or FSL's; say so with --from or --to")]
    UnclearFormat(String),
}
