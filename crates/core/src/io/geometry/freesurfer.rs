//! Surfaces of FreeSurfer in its binary format, of triangles. Coordinates are those of the surface ("tkr" RAS), mm, whose
//! origin is the centre of a volume. The end of the file describes this volume. Sources: nibabel's reader, and
//! FreeSurfer's wiki, "CoordinateSystems".

use std::path::Path;

use nalgebra::{Matrix3, Vector3};

use super::super::{ErrorKind, read_bytes};
use super::carry::{Carrier, Layout, Numbers, Place, Real};
use super::fault::{Fault, Sink, wrong};
use crate::AffineTransform;
use crate::io::formats::text;

/// First bytes of a file of triangles.
pub(super) const MAGIC: [u8; 3] = [0xff, 0xff, 0xfe];

/// Largest size of a file, bytes.
const LARGEST: u64 = 1 << 31;

/// Tags before the parts at the end of the file: whether coordinates are those of the scanner, and the volume.
const REAL_RAS: i32 = 2;
const VOLUME: i32 = 20;

const BIG: Numbers = Numbers { real: Real::Single, big_endian: true };

pub(super) fn carry(from: &Path, sink: &mut Sink, carrier: &mut Carrier) -> Result<&'static str, Fault> {
    let mut bytes = read_bytes(from, "a surface of FreeSurfer", LARGEST).map_err(|error| error.kind)?;
    let (start, end, footer) = parts(&bytes)?;
    let (place, coordinates) = match volume(&bytes[footer..])? {
        Footer::Scanner => (Place::RAS, "RAS of the scanner, as the file says"),
        Footer::Surface(to_scanner) => {
            (Place::between(to_scanner, to_scanner)?, "RAS of the surface, with the volume in the file")
        }
        Footer::Unknown => carrier.undeclared(None)?,
    };
    carrier.carry_in_place(&mut bytes[start..end], &mut Vec::new(), &Layout::plain(BIG), &place)?;
    sink.put(&bytes)?;
    Ok(coordinates)
}

/// Positions in the file of the start and the end of the vertices, and of the part after the faces.
fn parts(bytes: &[u8]) -> Result<(usize, usize, usize), ErrorKind> {
    if !bytes.starts_with(&MAGIC) {
        let found = bytes[..bytes.len().min(3)].escape_ascii();
        return Err(wrong("the first bytes", "those of a surface of triangles, ff ff fe", found));
    }
    // Two lines of text follow.
    let mut at = MAGIC.len();
    for _ in 0..2 {
        let length = bytes[at..].iter().position(|byte| *byte == b'\n');
        at += length.ok_or(ErrorKind::Unended)? + 1;
    }
    let [vertices, faces] =
        [int_at(bytes, at), int_at(bytes, at + 4)].map(|count| count.and_then(|count| u32::try_from(count).ok()));
    let (Some(vertices), Some(faces)) = (vertices, faces) else {
        return Err(wrong("the numbers of vertices and faces", "two numbers of 0 or more", "others"));
    };
    let start = at + 8;
    let needed = (start as u64) + 12 * u64::from(vertices) + 12 * u64::from(faces);
    if needed > bytes.len() as u64 {
        return Err(ErrorKind::Truncated { expected: needed, found: bytes.len() as u64, unpacked: false });
    }
    let end = start + 12 * vertices as usize;
    Ok((start, end, end + 12 * faces as usize))
}

fn int_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_be_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

/// What the end of a file says about the coordinates.
enum Footer {
    /// They are those of the scanner.
    Scanner,
    /// They are those of the surface; with the map to those of the scanner.
    Surface(AffineTransform),
    /// Nothing.
    Unknown,
}

/// Reads the part after the faces.
fn volume(mut bytes: &[u8]) -> Result<Footer, ErrorKind> {
    if int_at(bytes, 0) == Some(REAL_RAS) {
        if int_at(bytes, 4).unwrap_or_default() != 0 {
            return Ok(Footer::Scanner);
        }
        bytes = bytes.get(8..).unwrap_or_default();
    }
    if int_at(bytes, 0) != Some(VOLUME) {
        return Ok(Footer::Unknown);
    }
    let mut vectors = [None; 4];
    let mut valid = false;
    // Other tags with binary contents may follow the lines of the volume.
    for line in bytes[4..].split(|byte| *byte == b'\n').take(8) {
        let line = String::from_utf8_lossy(line);
        let Some((name, value)) = line.split_once('=') else { break };
        let name = name.trim();
        if name == "valid" {
            valid = value.trim().starts_with('1');
        }
        let names = ["xras", "yras", "zras", "cras"];
        if let Some(place) = names.iter().position(|known| *known == name) {
            let numbers: Vec<f64> = text::numbers(names[place], value, 3)?;
            vectors[place] = match numbers[..] {
                [x, y, z] if numbers.iter().all(|number| number.is_finite()) => Some(Vector3::new(x, y, z)),
                _ => return Err(text::wrong(names[place], value)),
            };
        }
    }
    match (valid, vectors) {
        (true, [Some(x), Some(y), Some(z), Some(centre)]) => Ok(Footer::Surface(to_scanner([x, y, z], centre))),
        _ => Ok(Footer::Unknown),
    }
}

/// The map from the coordinates of a surface to those of the scanner, for a volume with these directions of its axes and this
/// centre. FreeSurfer takes the axes of a surface's volume to run to the left, down and to the front.
pub(super) fn to_scanner(axes: [Vector3<f64>; 3], centre: Vector3<f64>) -> AffineTransform {
    let of_surface = Matrix3::new(-1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0);
    AffineTransform { matrix: Matrix3::from_columns(&axes) * of_surface.transpose(), translation: centre }
}
