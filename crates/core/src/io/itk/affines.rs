//! Text files with several ITK affine transforms in sequence: one for each volume of a series.

use std::io::Write;
use std::path::Path;

use nalgebra::Point3;

use super::super::replace::replace;
use super::super::{Error, ErrorKind, small};
use super::affine::TEXT;
use super::stored::Stored;
use super::{kinds, text};
use crate::AffineTransform;

/// Largest size of a file with the transforms of a series, bytes: a transform takes some 300 bytes, and a series has at
/// most 32767 volumes.
const LARGEST: u64 = 1 << 24;

/// Reads the affine maps of a text file, fixed → moving, RAS mm, in the order of the file.
///
/// # Errors
/// The file is not an ITK text file, is longer than 16 MiB, or holds a transform that is not affine.
pub fn read_affines(path: &Path) -> Result<Vec<AffineTransform>, Error> {
    let wrap = |kind| Error::new(path, kind);
    let text = small::read_text(path, "a list of ITK transforms", LARGEST)?;
    if !text.starts_with(TEXT) {
        let found = small::describe(text.as_bytes());
        return Err(wrap(ErrorKind::Format { expected: "a text file of ITK transforms", found }));
    }
    let all = text::parse_all(&text).map_err(wrap)?;
    all.iter().map(|stored| kinds::to_world(stored).map_err(wrap)).collect()
}

/// Writes affine maps, fixed → moving, RAS mm, as a text file of ITK (`.txt` or `.tfm`). `centre` (RAS mm) is the
/// centre of rotation of all maps.
///
/// # Errors
/// The file has another extension; the folder does not exist or the disk is full.
pub fn write_affines(path: &Path, all: &[AffineTransform], centre: Point3<f64>) -> Result<(), Error> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    if !matches!(extension.as_deref(), Some("txt" | "tfm")) {
        return Err(Error::new(path, ErrorKind::Extension(".txt or .tfm")));
    }
    let all: Vec<Stored> = all.iter().map(|affine| kinds::from_world(affine, centre)).collect();
    replace(path, |file| file.write_all(&text::format(&all)))
}
