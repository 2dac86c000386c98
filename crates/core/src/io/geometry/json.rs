//! Points in JSON: markups of Slicer (`.mrk.json`), and plain lists of points. Source: the schema of Slicer's markups,
//! version 1.0.3.

use std::path::Path;

use serde_json::Value;

use super::super::{ErrorKind, read_text};
use super::carry::{Carrier, Place};
use super::fault::{Fault, Sink, wrong};
use super::world::{World, declared, world_of};

/// Largest size of a file, bytes.
const LARGEST: u64 = 1 << 30;

/// Kinds of markups that are their control points.
const KINDS: [&str; 5] = ["Fiducial", "Line", "Angle", "Curve", "ClosedCurve"];

pub(super) fn carry(from: &Path, sink: &mut Sink, carrier: &mut Carrier) -> Result<&'static str, Fault> {
    let text = read_text(from, "a file of points", LARGEST).map_err(|error| error.kind)?;
    let mut whole: Value = serde_json::from_str(&text).map_err(|error| wrong("the file", "JSON", error))?;
    drop(text);
    let coordinates = match whole.get_mut("markups").and_then(Value::as_array_mut) {
        Some(markups) => {
            let mut coordinates = "markups without points";
            for markup in markups {
                coordinates = carry_markup(markup, carrier)?;
            }
            coordinates
        }
        None => carry_list(&mut whole, carrier)?,
    };
    let mut text = serde_json::to_vec_pretty(&whole).map_err(|error| Fault::Output(error.into()))?;
    text.push(b'\n');
    sink.put(&text)?;
    Ok(coordinates)
}

/// Moves the control points of one markup.
fn carry_markup(markup: &mut Value, carrier: &mut Carrier) -> Result<&'static str, ErrorKind> {
    let kind = markup.get("type").and_then(Value::as_str).unwrap_or_default();
    if !KINDS.contains(&kind) {
        return Err(wrong("the type of a markup", format!("one of {}", KINDS.join(", ")), kind));
    }
    // LPS is the default of the schema.
    let world = match markup.get("coordinateSystem") {
        None => World::Lps,
        Some(name) => {
            let found = name.as_str().and_then(world_of);
            found.ok_or_else(|| wrong("coordinateSystem of a markup", "RAS or LPS", name))?
        }
    };
    let points = markup.get_mut("controlPoints").and_then(Value::as_array_mut);
    // A control point without a position has not been placed yet.
    let positions = points.into_iter().flatten().filter_map(|point| point.get_mut("position"));
    carry_cells(positions.filter(|position| !position.is_null()).map(cells_of_array), &world.into(), carrier)?;
    Ok(declared(world))
}

/// Moves the points of a list: of triples or of objects with `x`, `y` and `z`, alone or as `points` of an object.
fn carry_list(whole: &mut Value, carrier: &mut Carrier) -> Result<&'static str, ErrorKind> {
    let (place, coordinates) = carrier.undeclared(Some(World::Lps))?;
    let list = match whole {
        Value::Object(_) => whole.get_mut("points").and_then(Value::as_array_mut),
        other => other.as_array_mut(),
    };
    let expected = "a list of points [x, y, z] or {\"x\": …, \"y\": …, \"z\": …}, an object with such a list as \"points\", or markups";
    let list = list.ok_or_else(|| wrong("the file", expected, "other JSON"))?;
    let cells =
        list.iter_mut().map(|point| if point.is_object() { cells_of_object(point) } else { cells_of_array(point) });
    carry_cells(cells, &place, carrier)?;
    Ok(coordinates)
}

type Cells<'v> = Result<[&'v mut Value; 3], ErrorKind>;

fn cells_of_array(point: &mut Value) -> Cells<'_> {
    let text = point.to_string();
    let array = point.as_array_mut().map(Vec::as_mut_slice);
    match array {
        Some([x, y, z]) => Ok([x, y, z]),
        _ => Err(wrong("a point", "three numbers", text)),
    }
}

fn cells_of_object(point: &mut Value) -> Cells<'_> {
    let text = point.to_string();
    let (mut x, mut y, mut z) = (None, None, None);
    for (name, value) in point.as_object_mut().into_iter().flatten() {
        match name.as_str() {
            "x" => x = Some(value),
            "y" => y = Some(value),
            "z" => z = Some(value),
            _ => {}
        }
    }
    match (x, y, z) {
        (Some(x), Some(y), Some(z)) => Ok([x, y, z]),
        _ => Err(wrong("a point", "the fields x, y and z", text)),
    }
}

fn carry_cells<'v>(
    cells: impl Iterator<Item = Cells<'v>>,
    place: &Place,
    carrier: &mut Carrier,
) -> Result<(), ErrorKind> {
    let mut cells = cells.collect::<Result<Vec<_>, _>>()?;
    let number = |value: &Value| value.as_f64().ok_or_else(|| wrong("a coordinate", "a number", value));
    let mut points = Vec::with_capacity(cells.len());
    for [x, y, z] in &cells {
        points.push([number(x)?, number(y)?, number(z)?]);
    }
    carrier.carry(place, &mut points)?;
    for (cells, point) in cells.iter_mut().zip(points) {
        cells.iter_mut().zip(point).for_each(|(cell, value)| **cell = value.into());
    }
    Ok(())
}
