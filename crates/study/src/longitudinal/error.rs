//! Errors of longitudinal studies.

use std::path::PathBuf;

use antsreg_cohort::longitudinal::PoseError;

/// Why the time points of a person cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Fewer than two images.
    #[error("found {found} time point, expected at least two images of one person")]
    Few {
        /// Number of images.
        found: usize,
    },
    /// Images with another number of channels.
    #[error("{name}: found {found} channels, expected one image for each time point")]
    Channels {
        /// Name of the time point.
        name: String,
        /// Number of channels.
        found: usize,
    },
    /// A BIDS folder with several persons.
    #[error("{}: found the persons {first} and {other}, expected one; give the folder of one person, such as sub-01", path.display())]
    Persons {
        /// The folder.
        path: PathBuf,
        /// Name of one person.
        first: String,
        /// Name of another person.
        other: String,
    },
    /// A date that cannot be read.
    #[error(
        "{name}: found the date `{found}`, expected a day such as 2019-03-28, or a number of years such as an age, 71.5"
    )]
    Date {
        /// Name of the time point.
        name: String,
        /// The text.
        found: String,
    },
    /// Some time points have a date and others have none, or days and ages are mixed.
    #[error(
        "{name}: the date is missing or of another kind; expected days for all time points, or ages for all, or no dates"
    )]
    SomeDates {
        /// Name of the time point.
        name: String,
    },
    /// Another number of dates than of time points.
    #[error("found {found} dates, expected {expected}, one for each time point")]
    Dates {
        /// Number of dates.
        found: usize,
        /// Number of time points.
        expected: usize,
    },
    /// A slice.
    #[error("{}: found a slice, expected a volume", path.display())]
    Slice {
        /// Path of the image.
        path: PathBuf,
    },
    /// The poses of the time points cannot be computed.
    #[error("the time points cannot be aligned: {0}")]
    Pose(#[from] PoseError),
    /// The brains of the time points do not overlap in the common space.
    #[error("the brains of the time points do not overlap after they were aligned; are the images of one person?")]
    NoBrain,
}
