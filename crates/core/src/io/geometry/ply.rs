//! Surfaces in the format PLY, as text or binary: the vertices are moved, all other properties stay. Slicer writes the
//! coordinate system into a comment. Source: Greg Turk's description of the format.

use super::carry::{BLOCK, Carrier, Layout, Numbers, Place, Real, number};
use super::fault::{Fault, Sink, wrong};
use super::read::{Bytes, Reader};
use super::vtk;
use super::world::declared;
use crate::io::ErrorKind;

/// Longest header, bytes.
const LONGEST_HEADER: u64 = 1 << 20;

/// Types of numbers by their two names, with their size in bytes.
const TYPES: [(&str, &str, usize); 8] = [
    ("char", "int8", 1),
    ("uchar", "uint8", 1),
    ("short", "int16", 2),
    ("ushort", "uint16", 2),
    ("int", "int32", 4),
    ("uint", "uint32", 4),
    ("float", "float32", 4),
    ("double", "float64", 8),
];

/// How the numbers of the file are stored.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Text,
    Binary { big_endian: bool },
}

/// What the header says.
struct Header {
    form: Form,
    /// Number of vertices.
    count: u64,
    /// Name and type of each property of a vertex.
    properties: Vec<(String, String)>,
    world: Option<super::world::World>,
}

pub(super) fn carry(mut input: Reader, sink: &mut Sink, carrier: &mut Carrier) -> Result<&'static str, Fault> {
    let header = header(&mut input, sink)?;
    let (place, coordinates) = match header.world {
        Some(world) => (Place::from(world), declared(world)),
        None => carrier.undeclared(None)?,
    };
    let mut stride = 0;
    let mut at = [None; 3];
    for (n, (name, kind)) in header.properties.iter().enumerate() {
        let known = TYPES.iter().find(|(old, new, _)| kind == old || kind == new);
        let (kind, _, size) =
            known.ok_or_else(|| wrong("the type of a property of the vertices", "a number", kind))?;
        if let Some(axis) = ["x", "y", "z"].iter().position(|axis| axis == name) {
            let real = match *kind {
                "float" => Real::Single,
                "double" => Real::Double,
                _ => return Err(wrong("the type of a coordinate", "float or double", kind).into()),
            };
            at[axis] = Some((n, stride, real));
        }
        stride += size;
    }
    let [Some(x), Some(y), Some(z)] = at else {
        return Err(wrong("the properties of the vertices", "x, y and z", "others").into());
    };
    match header.form {
        Form::Text => {
            carry_text(&mut input, sink, header.count, [x, y, z].map(|(n, _, real)| (n, real)), &place, carrier)?
        }
        Form::Binary { big_endian } => {
            let at = [x, y, z].map(|(_, at, real)| (at, Numbers { real, big_endian }));
            carrier.carry_records(
                &mut input,
                |bytes| sink.put(bytes),
                header.count,
                &Layout { stride, at },
                &place,
            )?;
        }
    }
    input.copy_rest(sink)?;
    Ok(coordinates)
}

/// Copies the header.
fn header(input: &mut Reader, sink: &mut Sink) -> Result<Header, Fault> {
    let (mut form, mut count, mut properties, mut world) = (None, None, Vec::new(), None);
    let mut element = String::new();
    let mut line = Vec::new();
    let mut first = true;
    loop {
        if !input.line(&mut line)? || input.position() > LONGEST_HEADER {
            return Err(ErrorKind::Unended.into());
        }
        sink.put(&line)?;
        let text = String::from_utf8_lossy(&line).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        if std::mem::take(&mut first) && words != ["ply"] {
            return Err(wrong("the first line", "\"ply\"", text.trim()).into());
        }
        match words[..] {
            ["format", name, _] => form = Some(form_of(name)?),
            ["comment", ..] => world = vtk::space(&text)?.or(world),
            ["element", name, number] => {
                if element.is_empty() && name != "vertex" {
                    return Err(wrong("the first element", "vertex", name).into());
                }
                if name == "vertex" {
                    count =
                        Some(number.parse().map_err(|_| wrong("the number of vertices", "a whole number", number))?);
                }
                element = name.to_owned();
            }
            ["property", kind, name] if element == "vertex" => properties.push((name.to_owned(), kind.to_owned())),
            ["property", "list", ..] if element == "vertex" => {
                return Err(wrong("the properties of the vertices", "numbers", "a list").into());
            }
            ["end_header"] => break,
            _ => {}
        }
    }
    let form = form.ok_or(ErrorKind::FieldMissing("format"))?;
    let count = count.ok_or(ErrorKind::FieldMissing("element vertex"))?;
    Ok(Header { form, count, properties, world })
}

fn form_of(name: &str) -> Result<Form, ErrorKind> {
    match name {
        "ascii" => Ok(Form::Text),
        "binary_little_endian" => Ok(Form::Binary { big_endian: false }),
        "binary_big_endian" => Ok(Form::Binary { big_endian: true }),
        _ => Err(wrong("format", "ascii, binary_little_endian or binary_big_endian", name)),
    }
}

/// Copies vertices that are lines of text. `at` has the position of each coordinate among the words of a line, and its type.
fn carry_text(
    input: &mut Reader,
    sink: &mut Sink,
    count: u64,
    at: [(usize, Real); 3],
    place: &Place,
    carrier: &mut Carrier,
) -> Result<(), Fault> {
    let (mut left, mut line, mut lines, mut points) = (count, Vec::new(), Vec::new(), Vec::new());
    while left > 0 {
        lines.clear();
        points.clear();
        while (lines.len() as u64) < left.min(BLOCK as u64) {
            if !input.line(&mut line)? {
                let done = count - left + lines.len() as u64;
                return Err(wrong("the number of vertices", count.to_string(), done).into());
            }
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            let words: Vec<&str> = text.split_whitespace().collect();
            let mut point = [0.0; 3];
            for (value, (n, _)) in point.iter_mut().zip(at) {
                *value = number("a coordinate", words.get(n).copied().unwrap_or_default())?;
            }
            points.push(point);
            lines.push(text);
        }
        left -= lines.len() as u64;
        carrier.carry(place, &mut points)?;
        for (text, point) in lines.iter().zip(&points) {
            let mut words: Vec<String> = text.split_whitespace().map(String::from).collect();
            for ((n, real), value) in at.into_iter().zip(point) {
                words[n] = vtk::written(*value, real);
            }
            sink.put((words.join(" ") + "\n").as_bytes())?;
        }
    }
    Ok(())
}
