//! The reference volume, to which all volumes of a series are aligned.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The reference volume, to which all volumes of a series are aligned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceVolume {
    /// The reference is the volume in the middle of the series.
    Middle,
    /// The reference is the mean of the series, after all volumes have been aligned to the volume in the middle.
    Mean,
    /// The reference is a volume of the series, chosen by its index, counted from 0.
    Volume(usize),
    /// The reference is an image in a file other than that of the series.
    File(PathBuf),
}

impl ReferenceVolume {
    /// The file of a reference outside the series; `None` for a volume of the series.
    pub fn file(&self) -> Option<&Path> {
        match self {
            ReferenceVolume::File(path) => Some(path),
            _ => None,
        }
    }
}

impl FromStr for ReferenceVolume {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<ReferenceVolume, Self::Err> {
        Ok(match (text, text.parse()) {
            ("middle", _) => ReferenceVolume::Middle,
            ("mean", _) => ReferenceVolume::Mean,
            (_, Ok(index)) => ReferenceVolume::Volume(index),
            _ => ReferenceVolume::File(text.into()),
        })
    }
}

/// Writes the choice of the reference as the user gives it on the command line: `middle`, `mean`, an index or a path.
impl fmt::Display for ReferenceVolume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReferenceVolume::Middle => f.write_str("middle"),
            ReferenceVolume::Mean => f.write_str("mean"),
            ReferenceVolume::Volume(index) => write!(f, "{index}"),
            ReferenceVolume::File(path) => write!(f, "{}", path.display()),
        }
    }
}
