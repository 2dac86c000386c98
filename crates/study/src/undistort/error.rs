//! Errors of the correction of distortion.

use std::path::PathBuf;

use super::PhaseEncoding;

/// Why the distortion of images cannot be corrected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There are too few images.
    #[error("found {found} image, expected at least two with opposite directions of phase encoding, or a field map")]
    Few {
        /// Number of images.
        found: usize,
    },
    /// The number of values given beside the images does not fit.
    #[error("found {found} values of {what} for {images} images, expected {expected}")]
    Count {
        /// What was given.
        what: &'static str,
        /// Number of values.
        found: usize,
        /// Number of images.
        images: usize,
        /// Allowed numbers of values.
        expected: &'static str,
    },
    /// The direction of the phase encoding of an image is not known.
    #[error(
        "{}: the direction of the phase encoding is not known; give it (i, i-, j, j-, k or k-), or as \
         PhaseEncodingDirection in {}", path.display(), sidecar.display()
    )]
    NoEncoding {
        /// Path of the image.
        path: PathBuf,
        /// Path of its JSON file, which has no direction or does not exist.
        sidecar: PathBuf,
    },
    /// A value of a JSON file cannot be used.
    #[error("{}: {key} is {found}, expected {expected}", path.display())]
    Sidecar {
        /// Path of the JSON file.
        path: PathBuf,
        /// Name of the value.
        key: &'static str,
        /// The value that was found.
        found: String,
        /// Description of allowed values.
        expected: &'static str,
    },
    /// The JSON file of an image contradicts what was given.
    #[error("{}: {key} is {found}, but {given} was given for {}; which one is right?", sidecar.display(), path.display())]
    Contradiction {
        /// Path of the image.
        path: PathBuf,
        /// Path of its JSON file.
        sidecar: PathBuf,
        /// Name of the value.
        key: &'static str,
        /// Value in the JSON file.
        found: String,
        /// Value that was given.
        given: String,
    },
    /// Two images are encoded along different axes.
    #[error(
        "{} is encoded along {}, {} along {}; expected one axis", paths[0].display(), encodings[0].letter(),
        paths[1].display(), encodings[1].letter()
    )]
    Axes {
        /// Paths of the two images.
        paths: Box<[PathBuf; 2]>,
        /// Their encodings.
        encodings: [PhaseEncoding; 2],
    },
    /// All images are encoded in the same direction.
    #[error(
        "all images are encoded in the direction {0}, expected at least one in the opposite direction, or a field map"
    )]
    OneDirection(PhaseEncoding),
    /// An image has one voxel along its phase encoding axis, or few.
    #[error("{}: {found} voxels along the phase encoding axis {axis}, expected at least {least}", path.display())]
    Thin {
        /// Path of the image.
        path: PathBuf,
        /// Letter of the axis.
        axis: char,
        /// Number of voxels.
        found: usize,
        /// Smallest number of voxels.
        least: usize,
    },
    /// Some images have a readout time and others have none.
    #[error("{}: the readout time is not known, although that of {} is; expected all or none", path.display(), other.display())]
    SomeTimes {
        /// Path of the image without readout time.
        path: PathBuf,
        /// Path of the image with readout time.
        other: PathBuf,
    },
    /// The readout time is needed, but not known.
    #[error(
        "{}: the total readout time is not known, but a field map in Hz gives displacements only by it; give it, or as \
         TotalReadoutTime in {}", path.display(), sidecar.display()
    )]
    NoReadoutTime {
        /// Path of the image.
        path: PathBuf,
        /// Path of its JSON file.
        sidecar: PathBuf,
    },
    /// The estimation of the distortion failed.
    #[error(transparent)]
    Estimate(#[from] antsreg_distortion::Error),
}
