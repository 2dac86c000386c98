//! Surfaces in GIfTI: XML with arrays as text or in base64. The arrays of the points are replaced in the text, which otherwise
//! stays as it is. Source: "GIFTI Surface Data Format", version 1.0.
//!
//! Coordinates lie in the world if the array says so (`DataSpace`). FreeSurfer's coordinates are those of a surface in a volume, which the
//! metadata describe (`VolGeom…`).

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use nalgebra::{Matrix4, Vector3};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::super::{ErrorKind, read_text};
use super::carry::{Carrier, Numbers, Place, Real, number};
use super::fault::{Fault, Sink, wrong};
use super::freesurfer;
use super::vtk;
use crate::AffineTransform;
use crate::io::formats::text;

/// Largest size of a file, bytes.
const LARGEST: u64 = 1 << 31;

/// The intent of an array of points.
const POINTS: &str = "NIFTI_INTENT_POINTSET";
/// The names of a space that is not known, and of the scanner's.
const UNKNOWN: &str = "NIFTI_XFORM_UNKNOWN";
const SCANNER: &str = "NIFTI_XFORM_SCANNER_ANAT";

pub(super) fn carry(from: &Path, sink: &mut Sink, carrier: &mut Carrier) -> Result<&'static str, Fault> {
    let whole = read_text(from, "a surface in GIfTI", LARGEST).map_err(|error| error.kind)?;
    let arrays = arrays(&whole)?;
    if arrays.is_empty() {
        return Err(wrong("the file", format!("an array {POINTS}"), "none").into());
    }
    let mut done = 0;
    let mut coordinates = "";
    for array in arrays {
        let place;
        (place, coordinates) = array.place()?;
        sink.put(&whole.as_bytes()[done..array.data.0])?;
        sink.put(array.moved(&whole[array.data.0..array.data.1], &place, carrier)?.as_bytes())?;
        done = array.data.1;
    }
    sink.put(&whole.as_bytes()[done..])?;
    Ok(coordinates)
}

/// An array of points.
#[derive(Default)]
struct Array {
    attributes: HashMap<String, String>,
    metadata: HashMap<String, String>,
    /// The first coordinate system: its space, the space of its matrix, and the matrix.
    data_space: Option<String>,
    other_space: Option<String>,
    matrix: Option<String>,
    /// Positions of the data in the text of the file.
    data: (usize, usize),
}

/// Finds the arrays of points.
fn arrays(whole: &str) -> Result<Vec<Array>, ErrorKind> {
    let broken = |error: &dyn std::fmt::Display| wrong("the file", "XML", error);
    let mut reader = Reader::from_str(whole);
    let (mut arrays, mut array) = (Vec::new(), None::<Array>);
    let (mut name, mut value, mut words) = (String::new(), String::new(), String::new());
    loop {
        let event = reader.read_event().map_err(|error| broken(&error))?;
        let position = usize::try_from(reader.buffer_position()).unwrap_or(whole.len());
        match event {
            Event::Start(start) => {
                words.clear();
                match start.name().as_ref() {
                    "DataArray" => array = Some(Array { attributes: attributes(&start)?, ..Array::default() }),
                    "Data" => array.iter_mut().for_each(|array| array.data.0 = position),
                    _ => {}
                }
            }
            Event::Empty(empty) if empty.name().as_ref() == "Data" => {
                return Err(wrong("Data", "an array", "nothing"));
            }
            Event::Text(text) => words += &text.xml10_content(),
            Event::CData(text) => words += &text.xml10_content(),
            Event::End(end) => {
                let text = std::mem::take(&mut words);
                match (end.name().as_ref(), &mut array) {
                    ("Name", _) => name = text.trim().to_owned(),
                    ("Value", _) => value = text.trim().to_owned(),
                    ("MD", Some(array)) => {
                        array.metadata.insert(std::mem::take(&mut name), std::mem::take(&mut value));
                    }
                    ("DataSpace", Some(array)) => {
                        array.data_space.get_or_insert(text.trim().to_owned());
                    }
                    ("TransformedSpace", Some(array)) => {
                        array.other_space.get_or_insert(text.trim().to_owned());
                    }
                    ("MatrixData", Some(array)) => {
                        array.matrix.get_or_insert(text);
                    }
                    ("Data", Some(array)) => array.data.1 = whole[..position].rfind("</").unwrap_or_default(),
                    ("DataArray", found) => {
                        let is_points =
                            |array: &Array| array.attributes.get("Intent").is_some_and(|name| name == POINTS);
                        arrays.extend(found.take().filter(is_points));
                    }
                    _ => {}
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    match arrays.iter().any(|array: &Array| array.data.1 <= array.data.0) {
        true => Err(wrong("Data", "an array", "nothing")),
        false => Ok(arrays),
    }
}

fn attributes(start: &BytesStart) -> Result<HashMap<String, String>, ErrorKind> {
    let read = start.attributes().map(|attribute| {
        let attribute = attribute.ok()?;
        Some((attribute.key.as_ref().to_owned(), attribute.value.to_string()))
    });
    let read: Option<_> = read.collect();
    read.ok_or_else(|| wrong("the attributes of an array", "names with values", "others"))
}

impl Array {
    /// The place of the coordinates in the world, with words for messages.
    fn place(&self) -> Result<(Place, &'static str), ErrorKind> {
        match self.data_space.as_deref() {
            Some(space) if space != UNKNOWN => return Ok((Place::RAS, "RAS, as the file says")),
            _ => {}
        }
        if let Some(to_scanner) = self.volume()? {
            return Ok((
                Place::between(to_scanner, to_scanner)?,
                "RAS of the surface, with the volume in the metadata",
            ));
        }
        match (self.other_space.as_deref(), &self.matrix) {
            (Some(SCANNER), Some(matrix)) => {
                let numbers: Vec<f64> = text::numbers("MatrixData", matrix, 16)?;
                let (16, true) = (numbers.len(), numbers.iter().all(|number| number.is_finite())) else {
                    return Err(text::wrong("MatrixData", matrix));
                };
                let rows = Matrix4::from_row_slice(&numbers);
                let map = AffineTransform::from_homogeneous(&rows);
                Ok((Place::between(map, map)?, "RAS of the scanner, by the matrix of the file"))
            }
            _ => Ok((Place::RAS, "RAS, as is usual for surfaces in an unknown space")),
        }
    }

    /// The map from the coordinates of FreeSurfer's surface to RAS mm; `None` if there is no volume in the metadata.
    fn volume(&self) -> Result<Option<AffineTransform>, ErrorKind> {
        let vector = |axis: &str| -> Result<Option<Vector3<f64>>, ErrorKind> {
            let mut vector = Vector3::zeros();
            for (value, end) in vector.iter_mut().zip(["R", "A", "S"]) {
                let Some(word) = self.metadata.get(&format!("VolGeom{axis}_{end}")) else { return Ok(None) };
                *value = number("VolGeom of the metadata", word)?;
            }
            Ok(Some(vector))
        };
        Ok(match (vector("C")?, vector("X")?, vector("Y")?, vector("Z")?) {
            (Some(centre), Some(x), Some(y), Some(z)) => Some(freesurfer::to_scanner([x, y, z], centre)),
            (Some(centre), ..) => Some(AffineTransform { translation: centre, ..AffineTransform::identity() }),
            _ => None,
        })
    }

    fn attribute(&self, name: &'static str) -> Result<&str, ErrorKind> {
        self.attributes.get(name).map(String::as_str).ok_or(ErrorKind::FieldMissing(name))
    }

    /// The data in `text` with the points moved, in the same encoding.
    fn moved(&self, text: &str, place: &Place, carrier: &mut Carrier) -> Result<String, Fault> {
        let count = self.points()?;
        let real = match self.attribute("DataType")? {
            "NIFTI_TYPE_FLOAT32" => Real::Single,
            "NIFTI_TYPE_FLOAT64" => Real::Double,
            other => {
                return Err(text::refused("DataType", other, "NIFTI_TYPE_FLOAT32 or NIFTI_TYPE_FLOAT64").into());
            }
        };
        let big_endian = self.attributes.get("Endian").is_some_and(|name| name == "BigEndian");
        let numbers = Numbers { real, big_endian };
        let encoding = self.attribute("Encoding")?;
        let bytes = match encoding {
            "ASCII" => {
                let words = text.split_whitespace().map(|word| number("a coordinate", word));
                let mut bytes = Vec::new();
                for value in words {
                    let start = bytes.len();
                    bytes.resize(start + numbers.size(), 0);
                    numbers.put(value?, &mut bytes[start..]);
                }
                bytes
            }
            "Base64Binary" => unpacked(text)?,
            "GZipBase64Binary" => inflated(&unpacked(text)?, count.saturating_mul(3 * numbers.size()))?,
            other => {
                let expected = "ASCII, Base64Binary or GZipBase64Binary";
                return Err(text::refused("Encoding", other, expected).into());
            }
        };
        if bytes.len() != count.saturating_mul(3 * numbers.size()) {
            let expected = count.saturating_mul(3);
            return Err(ErrorKind::Count { what: "Data", expected, found: bytes.len() / numbers.size() }.into());
        }
        let columns = self.attributes.get("ArrayIndexingOrder").is_some_and(|order| order == "ColumnMajorOrder");
        let at = |point: usize, axis: usize| {
            numbers.size() * if columns { axis * count + point } else { 3 * point + axis }
        };
        let get = |point| std::array::from_fn(|axis| numbers.get(&bytes[at(point, axis)..]));
        let mut points: Vec<[f64; 3]> = (0..count).map(get).collect();
        carrier.carry(place, &mut points)?;
        let mut bytes = bytes;
        for (n, point) in points.iter().enumerate() {
            (0..3).for_each(|axis| numbers.put(point[axis], &mut bytes[at(n, axis)..]));
        }
        Ok(match encoding {
            "ASCII" => {
                let words = bytes.chunks_exact(numbers.size()).map(|value| vtk::written(numbers.get(value), real));
                words.collect::<Vec<_>>().chunks(3).map(|row| row.join(" ") + "\n").collect()
            }
            "Base64Binary" => STANDARD.encode(&bytes),
            _ => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&bytes).map_err(Fault::Output)?;
                STANDARD.encode(encoder.finish().map_err(Fault::Output)?)
            }
        })
    }

    /// Number of points by the dimensions of the array.
    fn points(&self) -> Result<usize, ErrorKind> {
        let dimension = |name: &'static str| text::number::<usize>(name, self.attribute(name)?);
        let shape = [dimension("Dimensionality")?, dimension("Dim0")?, dimension("Dim1")?];
        match shape {
            [2, count, 3] => Ok(count),
            _ => Err(wrong("the dimensions of the points", "2, n, 3", format!("{shape:?}"))),
        }
    }
}

/// The bytes that a text in base64 holds.
fn unpacked(text: &str) -> Result<Vec<u8>, ErrorKind> {
    let letters: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(letters).map_err(|error| wrong("Data", "base64", error))
}

/// Decompresses at most one byte more than `expected`.
fn inflated(packed: &[u8], expected: usize) -> Result<Vec<u8>, ErrorKind> {
    let mut bytes = Vec::new();
    ZlibDecoder::new(packed)
        .take((expected as u64).saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| wrong("Data", "a zlib stream", error))?;
    Ok(bytes)
}
