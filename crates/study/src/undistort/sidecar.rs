//! What is known about the acquisition of an image: from the caller, or from the JSON file beside the image (BIDS).

use std::path::{Path, PathBuf};

use antsreg_core::io::{ImageFormat, read_text};
use serde_json::Value;

use super::{Error, PhaseEncoding};
use crate::Error as StudyError;

/// An image file and its phase encoding.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedFile {
    /// Path of the image.
    pub path: PathBuf,
    /// The direction of the phase encoding.
    pub encoding: PhaseEncoding,
    /// Total readout time as BIDS defines it, seconds; `None` if it is not known.
    pub readout_s: Option<f64>,
}

/// Names of the values in JSON files.
const DIRECTION: &str = "PhaseEncodingDirection";
const TIME: &str = "TotalReadoutTime";
/// Largest total readout time, seconds. Larger ones are in another unit.
const LONGEST_S: f64 = 2.0;
/// Largest size of a JSON file, bytes.
const LARGEST: u64 = 1 << 24;

impl EncodedFile {
    /// Joins what was given for an image with the JSON file beside the image, if there is one.
    ///
    /// # Errors
    /// A JSON file that cannot be read or has unusable values; values given that contradict it; no direction.
    pub fn new(
        path: &Path,
        encoding: Option<PhaseEncoding>,
        readout_s: Option<f64>,
    ) -> Result<EncodedFile, StudyError> {
        let sidecar = sidecar(path);
        let values = read(&sidecar)?;
        let found = match values.get(DIRECTION) {
            None => None,
            Some(value) => {
                let direction = value.as_str().and_then(|text| text.parse::<PhaseEncoding>().ok());
                Some(direction.ok_or_else(|| Error::Sidecar {
                    path: sidecar.clone(),
                    key: DIRECTION,
                    found: value.to_string(),
                    expected: "\"i\", \"i-\", \"j\", \"j-\", \"k\" or \"k-\"",
                })?)
            }
        };
        let time = match values.get(TIME) {
            None => None,
            Some(value) => Some(value.as_f64().filter(|time| *time > 0.0 && *time < LONGEST_S).ok_or_else(|| {
                Error::Sidecar {
                    path: sidecar.clone(),
                    key: TIME,
                    found: value.to_string(),
                    expected: "seconds, above 0 and below 2",
                }
            })?),
        };
        let contradiction = |key, found: String, given: String| Error::Contradiction {
            path: path.into(),
            sidecar: sidecar.clone(),
            key,
            found,
            given,
        };
        match (found, encoding) {
            (Some(found), Some(given)) if found != given => {
                return Err(contradiction(DIRECTION, found.to_string(), given.to_string()).into());
            }
            _ => {}
        }
        match (time, readout_s) {
            (Some(found), Some(given)) if (found - given).abs() > 1e-3 * found => {
                return Err(contradiction(TIME, found.to_string(), given.to_string()).into());
            }
            _ => {}
        }
        let missing = || Error::NoEncoding { path: path.into(), sidecar: sidecar.clone() };
        let encoding = encoding.or(found).ok_or_else(missing)?;
        Ok(EncodedFile { path: path.into(), encoding, readout_s: readout_s.or(time) })
    }
}

/// Path of the JSON file beside an image.
pub(super) fn sidecar(image: &Path) -> PathBuf {
    let name = image.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = ImageFormat::stem(image).unwrap_or(name);
    image.with_file_name(format!("{stem}.json"))
}

/// Reads the values of a JSON file; none if there is no such file.
fn read(path: &Path) -> Result<Value, StudyError> {
    if !path.is_file() {
        return Ok(Value::Null);
    }
    let text = read_text(path, "a JSON file", LARGEST)?;
    serde_json::from_str(&text).map_err(|source| StudyError::Json { path: path.into(), source })
}
