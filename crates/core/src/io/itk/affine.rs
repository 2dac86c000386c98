//! Files with one affine transform of ITK, either MATLAB 4 or text.

use std::io::Write;
use std::path::Path;

use nalgebra::Point3;

use super::super::replace::replace;
use super::super::{Error, ErrorKind, small};
use super::stored::Stored;
use super::{kinds, matlab, text};
use crate::AffineTransform;

/// Largest size of a transform file, bytes. A transform takes a few hundred bytes.
const LARGEST: u64 = 1 << 16;
/// Name of the expected format, for error messages.
const EXPECTED: &str = "an ITK transform (MATLAB 4 or text)";
/// The characters with which ITK's text transforms begin.
pub(super) const TEXT: &str = "#Insight Transform File";

/// Reads an affine map, fixed → moving, RAS mm. Whether the file is MATLAB 4 or text is recognised by its contents,
/// not by its name.
pub fn read_affine(path: &Path) -> Result<AffineTransform, Error> {
    kinds::to_world(&read(path)?).map_err(|kind| Error::new(path, kind))
}

/// Reads an affine map as [`read_affine`] does, with its centre of rotation, RAS mm. Maps without a centre have the
/// origin.
pub fn read_centred_affine(path: &Path) -> Result<(AffineTransform, Point3<f64>), Error> {
    let stored = read(path)?;
    let affine = kinds::to_world(&stored).map_err(|kind| Error::new(path, kind))?;
    Ok((affine, kinds::centre_of(&stored)))
}

/// Whether a file of an ITK transform contains a two-dimensional affine map.
pub(super) fn is_of_slices(path: &Path) -> Result<bool, Error> {
    Ok(read(path)?.name.ends_with(kinds::OF_SLICES))
}

fn read(path: &Path) -> Result<Stored, Error> {
    let wrap = |kind| Error::new(path, kind);
    let (bytes, whole) = small::read_start(path, LARGEST)?;
    let stored = match small::text_of(&bytes) {
        Some(text) if text.starts_with(TEXT) => text::parse(text),
        // The file is text but does not begin like an ITK text transform. It is no binary transform either: these begin
        // with integers, some bytes of which are zero.
        Some(_) => Err(ErrorKind::Format { expected: EXPECTED, found: small::describe(&bytes) }),
        None => matlab::parse(&bytes),
    };
    match stored {
        Ok(_) if !whole => Err(wrap(ErrorKind::TooLong { what: "a transform", most: LARGEST })),
        stored => stored.map_err(wrap),
    }
}

/// Writes an affine map, fixed → moving, RAS mm, about `centre` (RAS mm): MATLAB 4 for `.mat`, text for `.txt` and
/// `.tfm`.
///
/// The centre does not change the map. Programs that continue from the transform rotate and scale about the centre.
pub fn write_affine(path: &Path, affine: &AffineTransform, centre: Point3<f64>) -> Result<(), Error> {
    write(path, &kinds::from_world(affine, centre))
}

/// Writes an affine map between slices perpendicular to the world's third axis as ITK's two-dimensional transform of
/// the first two coordinates. A map that mixes the third coordinate with the first two is an error.
pub fn write_affine_of_slices(path: &Path, affine: &AffineTransform, centre: Point3<f64>) -> Result<(), Error> {
    let stored = kinds::from_world_of_slices(affine, centre);
    write(path, &stored.ok_or_else(|| Error::new(path, ErrorKind::OutOfPlane))?)
}

/// Whether an affine map can be written as a two-dimensional ITK transform: it must not mix the third coordinate with
/// the first two.
pub fn stays_in_plane(affine: &AffineTransform) -> bool {
    kinds::from_world_of_slices(affine, Point3::origin()).is_some()
}

fn write(path: &Path, stored: &Stored) -> Result<(), Error> {
    for (what, numbers) in [("parameters", &stored.parameters), ("fixed parameters", &stored.fixed_parameters)] {
        if let Some((index, value)) = numbers.iter().enumerate().find(|(_, number)| !number.is_finite()) {
            return Err(Error::new(path, ErrorKind::NotFiniteNumber { what, index, value: *value }));
        }
    }
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let bytes = match extension.as_deref() {
        Some("mat") => matlab::format(stored),
        Some("txt" | "tfm") => text::format(std::slice::from_ref(stored)),
        _ => return Err(Error::new(path, ErrorKind::Extension(".mat, .txt or .tfm"))),
    };
    replace(path, |file| file.write_all(&bytes))
}
