//! Fiducials of Slicer (`.fcsv`): a table with its coordinate system in a comment. Source: the documentation of Slicer's markups.

use super::super::ErrorKind;
use super::carry::{BLOCK, Carrier, Place, number};
use super::fault::{Fault, Sink, wrong};
use super::read::Reader;
use super::world::{World, declared, world_of};

/// The columns x, y and z of a file that does not name its columns.
const USUAL: [usize; 3] = [1, 2, 3];

pub(super) fn carry(mut input: Reader, sink: &mut Sink, carrier: &mut Carrier) -> Result<&'static str, Fault> {
    let (mut world, mut columns, mut place) = (None, USUAL, None);
    let (mut line, mut rows, mut points) = (Vec::new(), Vec::new(), Vec::new());
    while input.line(&mut line)? {
        let text = std::str::from_utf8(&line)
            .map_err(|_| wrong("a line of the table", "text in UTF-8", line.escape_ascii()))?;
        match comment(text) {
            Some(("coordinatesystem", name)) => world = Some(world_in(name)?),
            Some(("columns", names)) => columns = columns_in(names)?,
            _ => {}
        }
        if text.starts_with('#') || text.trim().is_empty() {
            // A comment stays where it is: the points before it are written first.
            flush(&mut rows, &mut points, columns, place.as_ref(), sink, carrier)?;
            sink.put(&line)?;
            continue;
        }
        if place.is_none() {
            place = Some(match world {
                Some(world) => (Place::from(world), declared(world)),
                None => carrier.undeclared(None)?,
            });
        }
        let row = cells(text)?;
        let mut point = [0.0; 3];
        for (value, column) in point.iter_mut().zip(columns) {
            *value = number("a coordinate", row.0.get(column).unwrap_or_default())?;
        }
        points.push(point);
        rows.push(row);
        if rows.len() == BLOCK {
            flush(&mut rows, &mut points, columns, place.as_ref(), sink, carrier)?;
        }
    }
    flush(&mut rows, &mut points, columns, place.as_ref(), sink, carrier)?;
    Ok(place.map_or("a table without points", |(_, coordinates)| coordinates))
}

/// A row of the table, with the end of its line.
type Row = (csv::StringRecord, &'static str);

/// The name in lower case and the value of a comment `# name = value`.
fn comment(line: &str) -> Option<(&'static str, &str)> {
    let (name, value) = line.strip_prefix('#')?.split_once('=')?;
    let known = ["coordinatesystem", "columns"];
    Some((known.into_iter().find(|known| name.trim().eq_ignore_ascii_case(known))?, value.trim()))
}

/// The coordinate system by its name, or by the number that Slicer wrote before version 4.11.
fn world_in(name: &str) -> Result<World, ErrorKind> {
    match name {
        "0" => Ok(World::Ras),
        "1" => Ok(World::Lps),
        name => world_of(name).ok_or_else(|| wrong("CoordinateSystem", "RAS or LPS", name)),
    }
}

fn columns_in(names: &str) -> Result<[usize; 3], ErrorKind> {
    let names: Vec<&str> = names.split(',').map(str::trim).collect();
    let mut columns = USUAL;
    for (column, expected) in columns.iter_mut().zip(["x", "y", "z"]) {
        let found = || names.iter().map(|name| name.to_string()).collect();
        let place = names.iter().position(|name| name.eq_ignore_ascii_case(expected));
        *column = place.ok_or_else(|| ErrorKind::Column { expected, found: found() })?;
    }
    Ok(columns)
}

fn cells(line: &str) -> Result<Row, ErrorKind> {
    let end = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line.as_bytes());
    let mut record = csv::StringRecord::new();
    reader.read_record(&mut record).map_err(ErrorKind::Table)?;
    Ok((record, end))
}

/// Moves and writes the rows that are in memory.
fn flush(
    rows: &mut Vec<Row>,
    points: &mut Vec<[f64; 3]>,
    columns: [usize; 3],
    place: Option<&(Place, &'static str)>,
    sink: &mut Sink,
    carrier: &mut Carrier,
) -> Result<(), Fault> {
    let Some((place, _)) = place else { return Ok(()) };
    carrier.carry(place, points)?;
    for ((row, end), point) in rows.drain(..).zip(points.drain(..)) {
        let texts = point.map(|value| value.to_string());
        let cell =
            |(n, cell)| columns.iter().position(|column| *column == n).map_or(cell, |axis| texts[axis].as_str());
        let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
        writer.write_record(row.iter().enumerate().map(cell)).map_err(|error| Fault::Output(error.into()))?;
        let written = writer.into_inner().map_err(|error| Fault::Output(std::io::Error::other(error.to_string())))?;
        sink.put(written.trim_ascii_end())?;
        sink.put(end.as_bytes())?;
    }
    Ok(())
}
