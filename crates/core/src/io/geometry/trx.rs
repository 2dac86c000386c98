//! Tracts in TRX: a zip archive with a file of positions in RAS mm, a header in JSON, and files of other data, which are copied
//! unchanged. Source: the specification of TRX, version 0.1.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use serde_json::{Value, json};
use zip::read::ZipFile;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::super::ErrorKind;
use super::super::target::Heard;
use super::carry::{Carrier, Layout, Numbers, Place, Real};
use super::fault::{Fault, wrong};
use super::read::Bytes;
use crate::Grid;

/// Largest size of the header, bytes.
const LONGEST_HEADER: u64 = 1 << 24;

/// The name of the header.
const HEADER: &str = "header.json";

pub(super) fn carry(from: &Path, file: &mut Heard, carrier: &mut Carrier) -> Result<&'static str, Fault> {
    let input = File::open(from).map_err(|error| Fault::Input(error.into()))?;
    let mut archive = ZipArchive::new(BufReader::new(input)).map_err(of_input)?;
    let mut copy = ZipWriter::new(BufWriter::with_capacity(1 << 18, &mut *file.file));
    let mut found = 0;
    let mut header = None;
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(of_input)?;
        let name = entry.name().map_err(of_input)?.into_owned();
        if let Some(numbers) = numbers_of(&name)? {
            found += 1;
            carry_positions(entry, &name, numbers, &mut copy, carrier)?;
        } else if name == HEADER {
            header = Some(carry_header(entry, &mut copy, carrier.onto)?);
        } else {
            drop(entry);
            let entry = archive.by_index_raw(index).map_err(of_input)?;
            copy.raw_copy_file(entry).map_err(of_output)?;
        }
    }
    if found != 1 {
        return Err(wrong("the archive", "one file of positions", found).into());
    }
    let vertices = header.ok_or(ErrorKind::FieldMissing(HEADER))?;
    if vertices != carrier.points() {
        return Err(wrong("the number of positions", vertices.to_string(), carrier.points()).into());
    }
    let mut written = copy.finish().map_err(of_output)?;
    written.flush().map_err(Fault::Output)?;
    Ok("RAS, as in all such files")
}

/// The type of the positions, if this is the name of their file.
fn numbers_of(name: &str) -> Result<Option<Numbers>, ErrorKind> {
    let Some(end) = name.strip_prefix("positions.") else { return Ok(None) };
    let real = match end {
        "3.float16" => Real::Half,
        "3.float32" => Real::Single,
        "3.float64" => Real::Double,
        _ => return Err(wrong("the file of positions", "positions.3.float16, .float32 or .float64", name)),
    };
    Ok(Some(Numbers { real, big_endian: false }))
}

fn carry_positions(
    entry: ZipFile<impl Read>,
    name: &str,
    numbers: Numbers,
    copy: &mut ZipWriter<impl Write + std::io::Seek>,
    carrier: &mut Carrier,
) -> Result<(), Fault> {
    let layout = Layout::plain(numbers);
    let size = entry.size();
    if !size.is_multiple_of(layout.stride as u64) {
        return Err(wrong("the size of the positions", format!("a multiple of {}", layout.stride), size).into());
    }
    copy.start_file(name, options(&entry)).map_err(of_output)?;
    let mut input = Unpacked { entry, position: 0 };
    let put = |bytes: &[u8]| copy.write_all(bytes).map_err(Fault::Output);
    carrier.carry_records(&mut input, put, size / layout.stride as u64, &layout, &Place::RAS)?;
    // The checksum is compared at the end of the file.
    if input.fill(&mut [0])? > 0 {
        return Err(wrong("the size of the positions", size.to_string(), "more").into());
    }
    Ok(())
}

/// Copies the header, with the grid of a reference if there is one. Returns the number of positions.
fn carry_header(
    entry: ZipFile<impl Read>,
    copy: &mut ZipWriter<impl Write + std::io::Seek>,
    onto: Option<&Grid>,
) -> Result<u64, Fault> {
    copy.start_file(HEADER, options(&entry)).map_err(of_output)?;
    let mut bytes = Vec::new();
    entry.take(LONGEST_HEADER).read_to_end(&mut bytes).map_err(|error| wrong(HEADER, "a readable file", error))?;
    let mut header: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(HEADER, "JSON", error))?;
    let vertices = header.get("NB_VERTICES").and_then(Value::as_u64);
    let vertices = vertices.ok_or(ErrorKind::FieldMissing("NB_VERTICES"))?;
    if let (Some(grid), Some(fields)) = (onto, header.as_object_mut()) {
        let matrix = grid.voxel_to_world().to_homogeneous();
        let rows: Vec<Vec<f64>> = matrix.row_iter().map(|row| row.iter().copied().collect()).collect();
        fields.insert("VOXEL_TO_RASMM".into(), json!(rows));
        fields.insert("DIMENSIONS".into(), json!(grid.shape));
        bytes = serde_json::to_vec(&header).map_err(|error| Fault::Output(error.into()))?;
    }
    copy.write_all(&bytes).map_err(Fault::Output)?;
    Ok(vertices)
}

/// Options with which a file is stored as in the archive that is read.
fn options(entry: &ZipFile<impl Read>) -> SimpleFileOptions {
    let time = entry.last_modified().unwrap_or_default();
    let options = SimpleFileOptions::default().compression_method(entry.compression()).last_modified_time(time);
    // 4 GiB is the limit of the older form of the format; compression of noise may add a little.
    options.large_file(entry.size() >= (1 << 32) - (1 << 24))
}

/// A file of the archive as a stream.
struct Unpacked<R> {
    entry: R,
    position: u64,
}

impl<R: Read> Bytes for Unpacked<R> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.entry.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(wrong("a file of the archive", "one that can be unpacked", error)),
            }
        }
        self.position += filled as u64;
        Ok(filled)
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn ended(&self, expected: u64) -> ErrorKind {
        ErrorKind::Truncated { expected, found: self.position, unpacked: true }
    }
}

fn of_input(error: ZipError) -> Fault {
    Fault::Input(match error {
        ZipError::Io(error) => error.into(),
        other => wrong("the file", "a zip archive", other),
    })
}

fn of_output(error: ZipError) -> Fault {
    Fault::Output(match error {
        ZipError::Io(error) => error,
        other => std::io::Error::other(other),
    })
}
