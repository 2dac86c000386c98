//! Tracts of MRtrix (`.tck`): a header of text, then triples of numbers in RAS mm. A triple of NaN ends a streamline, a
//! triple of infinity ends the file. Source: MRtrix3's documentation, "Tracks file format".

use super::super::formats::text;
use super::carry::{BLOCK, Carrier, Layout, Numbers, Place, Real};
use super::fault::{Fault, Sink, wrong};
use super::read::{Bytes, Reader};
use crate::io::ErrorKind;

/// Longest header, bytes.
const LONGEST_HEADER: u64 = 1 << 24;

pub(super) fn carry(mut input: Reader, sink: &mut Sink, carrier: &mut Carrier) -> Result<&'static str, Fault> {
    let (numbers, start) = header(&mut input, sink)?;
    let mut gap = vec![0; usize::try_from(start - input.position()).unwrap_or_default()];
    if input.fill(&mut gap)? < gap.len() {
        return Err(input.ended(start).into());
    }
    sink.put(&gap)?;
    let layout = Layout::plain(numbers);
    let mut bytes = vec![0; BLOCK * layout.stride];
    let (mut points, mut places) = (Vec::new(), Vec::new());
    let mut ended = false;
    while !ended {
        let filled = input.fill(&mut bytes)?;
        if filled == 0 || filled % layout.stride != 0 {
            // Without its last triple the file may be cut off between two streamlines.
            return Err(input
                .ended(input.position() + layout.stride as u64 - (filled % layout.stride) as u64)
                .into());
        }
        points.clear();
        places.clear();
        for (n, record) in bytes[..filled].chunks_exact(layout.stride).enumerate() {
            let point = layout.get(record);
            if point.iter().all(|value| value.is_infinite()) {
                ended = true;
                break;
            }
            if !point.iter().all(|value| value.is_nan()) {
                points.push(point);
                places.push(n);
            }
        }
        carrier.carry(&Place::RAS, &mut points)?;
        for (n, point) in places.iter().zip(&points) {
            layout.put(&mut bytes[n * layout.stride..], point);
        }
        sink.put(&bytes[..filled])?;
    }
    input.copy_rest(sink)?;
    Ok("RAS, as in all such files")
}

/// Copies the header. Returns the type of the numbers and the position of the first one, bytes.
fn header(input: &mut Reader, sink: &mut Sink) -> Result<(Numbers, u64), Fault> {
    let mut line = Vec::new();
    input.line(&mut line)?;
    if line.trim_ascii_end() != b"mrtrix tracks" {
        return Err(wrong("the first line", "\"mrtrix tracks\"", line.escape_ascii()).into());
    }
    let (mut numbers, mut start) = (None, None);
    loop {
        sink.put(&line)?;
        if !input.line(&mut line)? || input.position() > LONGEST_HEADER {
            return Err(ErrorKind::Unended.into());
        }
        let text = String::from_utf8_lossy(&line);
        if text.trim() == "END" {
            sink.put(&line)?;
            break;
        }
        let Some((name, value)) = text.split_once(':') else { continue };
        match (name.trim(), value.trim()) {
            ("datatype", value) => numbers = Some(numbers_of(value)?),
            ("file", value) => {
                let place = value
                    .strip_prefix('.')
                    .ok_or_else(|| text::refused("file", value, "a position in this file, such as \". 67\""))?;
                start = Some(text::number("file", place)?);
            }
            _ => {}
        }
    }
    let numbers = numbers.ok_or(ErrorKind::FieldMissing("datatype"))?;
    let start = start.ok_or(ErrorKind::FieldMissing("file"))?;
    if !(input.position()..=LONGEST_HEADER).contains(&start) {
        return Err(text::wrong("file", &format!(". {start}")).into());
    }
    Ok((numbers, start))
}

fn numbers_of(name: &str) -> Result<Numbers, ErrorKind> {
    let (real, order) = match (name.strip_prefix("Float32"), name.strip_prefix("Float64")) {
        (Some(order), _) => (Real::Single, order),
        (_, Some(order)) => (Real::Double, order),
        _ => (Real::Single, name),
    };
    match order {
        "LE" => Ok(Numbers { real, big_endian: false }),
        "BE" => Ok(Numbers { real, big_endian: true }),
        _ => Err(text::refused("datatype", name, "Float32LE, Float32BE, Float64LE or Float64BE")),
    }
}
