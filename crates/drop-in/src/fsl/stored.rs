//! Storage types of output images.

use antsreg_console::Refusal;
use antsreg_core::io::nifti::{PlanesReader, Stored};
use antsreg_study::apply::Reading;

/// The storage type that FSL calls `name`.
///
/// # Errors
/// Another name.
pub fn named(option: &str, name: &str) -> Result<Stored, Refusal> {
    match name {
        "char" => Ok(Stored::Uint8),
        "short" => Ok(Stored::Int16),
        "int" => Ok(Stored::Int32),
        "float" => Ok(Stored::Float32),
        "double" => Ok(Stored::Float64),
        _ => Err(Refusal::new(format!("{option} {name}"), "expected char, short, int, float or double")),
    }
}

/// The storage type of an image that is resampled: the type of its file, exact for labels.
pub fn like(reader: &PlanesReader, reading: Reading) -> Stored {
    reader.whole().filter(|_| reading.keeps_values()).unwrap_or(reader.stored())
}
