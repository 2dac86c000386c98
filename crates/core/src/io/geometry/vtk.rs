//! Geometry of VTK in its legacy format, as text or binary: the points are moved, all other data stays. Slicer writes the
//! coordinate system into the title. Source: VTK's "File Formats" for version 3.0 and later.

use super::carry::{BLOCK, Carrier, Layout, Numbers, Place, Real, number};
use super::fault::{Fault, Sink, wrong};
use super::read::{Bytes, Reader};
use super::world::{World, declared, world_of};
use crate::io::ErrorKind;

/// Kinds of data that list their points.
const KINDS: [&str; 3] = ["POLYDATA", "UNSTRUCTURED_GRID", "STRUCTURED_GRID"];

/// Most bytes before the points.
const LONGEST_START: u64 = 1 << 24;

pub(super) fn carry(mut input: Reader, sink: &mut Sink, carrier: &mut Carrier) -> Result<&'static str, Fault> {
    let mut line = Vec::new();
    let mut next = |input: &mut Reader, sink: &mut Sink| -> Result<String, Fault> {
        if !input.line(&mut line)? || input.position() > LONGEST_START {
            return Err(wrong("the file", "a line POINTS", "none").into());
        }
        sink.put(&line)?;
        Ok(String::from_utf8_lossy(&line).trim().to_owned())
    };
    let first = next(&mut input, sink)?;
    if !first.starts_with("# vtk DataFile Version") {
        return Err(wrong("the first line", "\"# vtk DataFile Version\"", first).into());
    }
    let world = space(&next(&mut input, sink)?)?;
    let (place, coordinates) = match world {
        Some(world) => (Place::from(world), declared(world)),
        None => carrier.undeclared(None)?,
    };
    let form = next(&mut input, sink)?;
    let binary = match form.to_ascii_uppercase().as_str() {
        "ASCII" => false,
        "BINARY" => true,
        _ => return Err(wrong("the third line", "ASCII or BINARY", form).into()),
    };
    let mut kind = next(&mut input, sink)?;
    while kind.is_empty() {
        kind = next(&mut input, sink)?;
    }
    if !kind.split_whitespace().nth(1).is_some_and(|kind| KINDS.contains(&kind.to_ascii_uppercase().as_str())) {
        return Err(wrong("the kind of data", format!("DATASET with {}", KINDS.join(", ")), kind).into());
    }
    let (count, real) = loop {
        let line = next(&mut input, sink)?;
        if let Some(points) = points_of(&line)? {
            break points;
        }
    };
    if binary {
        let layout = Layout::plain(Numbers { real, big_endian: true });
        carrier.carry_records(&mut input, |bytes| sink.put(bytes), count, &layout, &place)?;
    } else {
        carry_text(&mut input, sink, count, real, &place, carrier)?;
    }
    input.copy_rest(sink)?;
    Ok(coordinates)
}

/// The coordinate system that a title or comment names by `SPACE=`.
pub(super) fn space(text: &str) -> Result<Option<World>, ErrorKind> {
    let Some((_, name)) = text.split_once("SPACE=") else { return Ok(None) };
    let name: String = name.chars().take_while(|letter| letter.is_ascii_alphanumeric()).collect();
    world_of(&name).map(Some).ok_or_else(|| wrong("SPACE", "RAS or LPS", name))
}

/// The number of points and the type of their coordinates, if this line begins the points.
fn points_of(line: &str) -> Result<Option<(u64, Real)>, ErrorKind> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, count, kind] = words[..] else { return Ok(None) };
    if !name.eq_ignore_ascii_case("POINTS") {
        return Ok(None);
    }
    let count = count.parse().map_err(|_| wrong("the number of points", "a whole number", count))?;
    match kind.to_ascii_lowercase().as_str() {
        "float" => Ok(Some((count, Real::Single))),
        "double" => Ok(Some((count, Real::Double))),
        _ => Err(wrong("the type of the points", "float or double", kind)),
    }
}

/// Copies points that are text, one in each line.
fn carry_text(
    input: &mut Reader,
    sink: &mut Sink,
    count: u64,
    real: Real,
    place: &Place,
    carrier: &mut Carrier,
) -> Result<(), Fault> {
    let (mut left, mut points, mut word) = (count, Vec::new(), Vec::new());
    while left > 0 {
        points.clear();
        for _ in 0..left.min(BLOCK as u64) {
            let mut point = [0.0; 3];
            for value in &mut point {
                input.word(&mut word)?;
                *value = number("a coordinate", &String::from_utf8_lossy(&word))?;
            }
            points.push(point);
        }
        left -= points.len() as u64;
        carrier.carry(place, &mut points)?;
        let mut text = String::new();
        for [x, y, z] in &points {
            text += &format!("{} {} {}\n", written(*x, real), written(*y, real), written(*z, real));
        }
        sink.put(text.as_bytes())?;
    }
    if count > 0 {
        // The rest of the line of the last number.
        input.line(&mut word)?;
        if !word.trim_ascii().is_empty() {
            sink.put(&word)?;
        }
    }
    Ok(())
}

/// A number with the digits that its type holds.
pub(super) fn written(value: f64, real: Real) -> String {
    match real {
        Real::Half | Real::Single => (value as f32).to_string(),
        Real::Double => value.to_string(),
    }
}
