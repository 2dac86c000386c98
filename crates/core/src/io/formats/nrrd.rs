//! NRRD images, attached (`.nrrd`) and detached (`.nhdr` with another file) (<https://teem.sourceforge.net/nrrd/format.html>).
//!
//! `space` names the world of `space directions` and `space origin`. A header without `space` is LPS, as ITK reads it.

use std::collections::HashMap;

use ::nifti::{Endianness, NiftiType};
use nalgebra::{Matrix3, Vector3};

use super::super::ErrorKind;
use super::super::source::Packing;
use super::header::{Header, VECTOR_INTENT, dimensions, flipped};
use super::place::{File, Parsed, Place, Start};
use super::text::{joined, number, numbers, refused, wrong};
use crate::AffineTransform;

/// The fields of a header by their names in lower case without spaces.
type Fields = HashMap<String, String>;

/// The first bytes of every file.
pub(super) const MAGIC: &[u8] = b"NRRD000";

/// Names of voxel types; the first of each type is written.
const TYPES: [(NiftiType, &[&str]); 10] = [
    (NiftiType::Int8, &["signed char", "int8", "int8_t"]),
    (NiftiType::Uint8, &["unsigned char", "uchar", "uint8", "uint8_t"]),
    (NiftiType::Int16, &["short", "short int", "signed short", "signed short int", "int16", "int16_t"]),
    (NiftiType::Uint16, &["unsigned short", "ushort", "unsigned short int", "uint16", "uint16_t"]),
    (NiftiType::Int32, &["int", "signed int", "int32", "int32_t"]),
    (NiftiType::Uint32, &["unsigned int", "uint", "uint32", "uint32_t"]),
    (
        NiftiType::Int64,
        &["long long int", "longlong", "long long", "signed long long", "signed long long int", "int64", "int64_t"],
    ),
    (NiftiType::Uint64, &["unsigned long long int", "ulonglong", "unsigned long long", "uint64", "uint64_t"]),
    (NiftiType::Float32, &["float"]),
    (NiftiType::Float64, &["double"]),
];

/// Names of the worlds, and whether x and y point to the right and to the front. A world with a time is equal to the one
/// without in its first three axes.
const SPACES: [(&str, [f64; 2]); 11] = [
    ("right-anterior-superior", [1.0, 1.0]),
    ("ras", [1.0, 1.0]),
    ("left-anterior-superior", [-1.0, 1.0]),
    ("las", [-1.0, 1.0]),
    ("left-posterior-superior", [-1.0, -1.0]),
    ("lps", [-1.0, -1.0]),
    // These are not anatomical. ITK reads them as LPS.
    ("scanner-xyz", [-1.0, -1.0]),
    ("3d-right-handed", [-1.0, -1.0]),
    ("3d-left-handed", [-1.0, -1.0]),
    ("rast", [1.0, 1.0]),
    ("lpst", [-1.0, -1.0]),
];

/// Kinds of an axis whose elements are the components of a vector.
const VECTORS: [&str; 9] =
    ["vector", "covariant-vector", "normal", "3-vector", "2-vector", "3-gradient", "rgb-color", "3-color", "4-color"];

/// Reads a header; `None` if it does not end in these bytes.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Parsed>, ErrorKind> {
    let Some((fields, end)) = fields(bytes)? else { return Ok(None) };
    let field = |name: &str| fields.get(name).map(String::as_str);
    let required = |name: &'static str| field(name).ok_or(ErrorKind::FieldMissing(name));
    let axes: usize = number("dimension", required("dimension")?)?;
    let sizes: Vec<i64> = numbers("sizes", required("sizes")?, 8)?;
    if sizes.len() != axes || !(2..=4).contains(&axes) {
        return Err(refused("sizes", required("sizes")?, "2, 3 or 4 axes, as `dimension` says"));
    }
    let name = required("type")?.to_lowercase();
    let datatype = TYPES.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(datatype, _)| *datatype);
    let datatype = datatype.ok_or(ErrorKind::VoxelType { found: name })?;
    let directions = field("spacedirections").map(|text| vectors("space directions", text)).transpose()?;
    if directions.as_ref().is_some_and(|directions| directions.len() != axes) {
        return Err(wrong("space directions", field("spacedirections").unwrap_or_default()));
    }
    let kinds: Vec<String> =
        field("kinds").unwrap_or_default().to_lowercase().split_whitespace().map(Into::into).collect();
    let spatial = |axis: usize| match (&directions, kinds.get(axis).map(String::as_str)) {
        (Some(directions), _) => directions[axis].is_some(),
        (None, None | Some("domain" | "space" | "???" | "none")) => axis < 3,
        (None, Some(_)) => false,
    };
    let space: Vec<usize> = (0..axes).filter(|axis| spatial(*axis)).take(3).collect();
    // The axis beside those of space: components or volumes.
    let other = (0..axes).find(|axis| !space.contains(axis));
    let middle = other.is_some_and(|axis| axis != 0 && axis + 1 != axes);
    if space.len() < 2 || axes - space.len() > 1 || middle {
        return Err(refused(
            "kinds",
            &kinds.join(" "),
            "two or three axes of space, behind or before at most one other",
        ));
    }
    let mut extents: Vec<i64> = space.iter().map(|axis| sizes[*axis]).collect();
    extents.resize(3, 1);
    let is_vector = other.is_some_and(|axis| kinds.get(axis).is_some_and(|kind| VECTORS.contains(&kind.as_str())));
    let count = other.map(|axis| sizes[axis]);
    match count {
        Some(count) if is_vector => extents.extend([1, count]),
        Some(count) => extents.push(count),
        None if space.len() == 2 => extents.truncate(2),
        None => {}
    }
    let endianness = match field("endian").map(str::to_lowercase).as_deref() {
        Some("big") => Endianness::Big,
        Some("little") => Endianness::Little,
        None if datatype.size_of() == 1 => Endianness::Little,
        None => return Err(ErrorKind::FieldMissing("endian")),
        Some(other) => return Err(wrong("endian", other)),
    };
    let (map, step) = map(&fields, directions.as_deref(), &space)?;
    let mut header = Header::of_map(dimensions(&extents), datatype, endianness, &map);
    header.descrip = field("content").unwrap_or_default().into();
    header.intent_code = if is_vector { VECTOR_INTENT } else { 0 };
    header.pixdim[4] = if other.is_some() && !is_vector { step } else { 0.0 };
    let together =
        count.filter(|_| other == Some(0)).and_then(|count| u64::try_from(count).ok()).filter(|count| *count > 1);
    Ok(Some(Parsed { header, place: place(&fields, end, together)? }))
}

/// The fields of a header by their names in lower case without spaces, and the number of bytes up to the voxels; `None`
/// if the header does not end in these bytes. A detached header may end with its file.
fn fields(bytes: &[u8]) -> Result<Option<(Fields, u64)>, ErrorKind> {
    let mut fields = HashMap::new();
    let mut rest = bytes;
    let mut at = 0;
    loop {
        let (line, after) = match rest.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None if fields.contains_key("datafile") => (rest, &rest[rest.len()..]),
            None => return Ok(None),
        };
        at += rest.len() - after.len();
        rest = after;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return Ok(Some((fields, at as u64)));
        }
        let line = std::str::from_utf8(line).map_err(|_| wrong("header", "bytes that are no text"))?;
        // A line with `:=` is a pair of the file's own, a line with `#` a comment.
        if let Some((name, value)) = line.split_once(':')
            && !line.starts_with('#')
            && !value.starts_with('=')
        {
            let name = name.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
            fields.insert(name, value.trim().to_owned());
        }
    }
}

/// Where the voxels are. `end` is the length of the header.
fn place(fields: &Fields, end: u64, together: Option<u64>) -> Result<Place, ErrorKind> {
    let field = |name: &str| fields.get(name).map(String::as_str);
    let encoding = field("encoding").ok_or(ErrorKind::FieldMissing("encoding"))?;
    let packing = match encoding.to_lowercase().as_str() {
        "raw" => Packing::None,
        "gzip" | "gz" => Packing::Gzip,
        _ => return Err(refused("encoding", encoding, "raw or gzip")),
    };
    if let Some(lines) = field("lineskip").filter(|lines| *lines != "0") {
        return Err(refused("line skip", lines, "0"));
    }
    let skip: i64 = field("byteskip").map_or(Ok(0), |skip| number("byte skip", skip))?;
    let (file, before) = match field("datafile") {
        None => (File::Same, end),
        Some(name) if name.starts_with("LIST") || name.contains('%') => {
            return Err(refused("data file", name, "the name of one file"));
        }
        Some(name) => (File::Named(name.into()), 0),
    };
    let start = match u64::try_from(skip) {
        Ok(0) => Start::At(before),
        Ok(skip) if packing == Packing::None => Start::At(before.saturating_add(skip)),
        Err(_) if skip == -1 && packing == Packing::None => Start::AtEnd,
        _ => return Err(refused("byte skip", &skip.to_string(), "0, or -1 or more with the encoding raw")),
    };
    Ok(Place { file, start, packing, together })
}

/// The map from voxel indices to RAS mm, and the step along a fourth axis.
fn map(
    fields: &Fields,
    directions: Option<&[Option<Vec<f64>>]>,
    space: &[usize],
) -> Result<(AffineTransform, f64), ErrorKind> {
    let field = |name: &str| fields.get(name).map(String::as_str);
    let mut matrix = Matrix3::identity();
    let mut translation = Vector3::zeros();
    let mut step = 1.0;
    if let Some(directions) = directions {
        for (column, axis) in space.iter().enumerate() {
            let direction = directions[*axis].as_deref().unwrap_or_default();
            if direction.len() < 2 || direction.iter().skip(3).any(|value| *value != 0.0) {
                return Err(refused(
                    "space directions",
                    field("spacedirections").unwrap_or_default(),
                    "axes of space",
                ));
            }
            matrix.set_column(column, &padded(direction));
        }
        if let Some(time) = directions.get(3).and_then(|direction| direction.as_deref()?.get(3)) {
            step = *time;
        }
        if let Some(text) = field("spaceorigin") {
            let origin = vectors("space origin", text)?;
            let Some([Some(origin)]) = origin.first_chunk() else { return Err(wrong("space origin", text)) };
            translation = padded(origin);
        }
    } else {
        let axes = |name: &str, text: &str| -> Result<Vec<f64>, ErrorKind> {
            let values: Vec<f64> = numbers(name, text, 8)?;
            space.iter().map(|axis| values.get(*axis).copied().ok_or_else(|| wrong(name, text))).collect()
        };
        if let Some(text) = field("spacings") {
            let values = axes("spacings", text)?;
            values.iter().enumerate().for_each(|(axis, size)| matrix[(axis, axis)] = *size);
        }
        if let Some(text) = field("axismins") {
            // Voxels are taken as cells, so that the first centre is half a voxel from the least coordinate, as in ITK.
            let values = axes("axis mins", text)?;
            values
                .iter()
                .enumerate()
                .for_each(|(axis, least)| translation[axis] = least + matrix[(axis, axis)] / 2.0);
        }
    }
    let name = field("space").unwrap_or("lps").to_lowercase();
    let name = name.strip_suffix("-time").unwrap_or(&name);
    let signs = SPACES.iter().find(|(of, _)| *of == name).map(|(_, signs)| signs);
    let signs = signs.ok_or_else(|| refused("space", name, "an anatomical space such as left-posterior-superior"))?;
    let signs = Matrix3::from_diagonal(&Vector3::new(signs[0], signs[1], 1.0));
    Ok((AffineTransform { matrix: signs * matrix, translation: signs * translation }, step))
}

fn padded(values: &[f64]) -> Vector3<f64> {
    Vector3::from_fn(|row, _| values.get(row).copied().unwrap_or(0.0))
}

/// Reads vectors such as `(1,0,0) (0,1,0) none`. A vector of numbers that are not finite counts as `none`.
fn vectors(field: &str, text: &str) -> Result<Vec<Option<Vec<f64>>>, ErrorKind> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("none") {
            found.push(None);
            rest = after.trim_start();
            continue;
        }
        let inner = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let Some((inner, after)) = inner.filter(|_| found.len() < 8) else { return Err(wrong(field, text)) };
        let vector: Vec<f64> = numbers(field, &inner.replace(',', " "), 4)?;
        found.push(Some(vector).filter(|vector| vector.iter().all(|value| value.is_finite())));
        rest = after.trim_start();
    }
    Ok(found)
}

/// The bytes of a header, in LPS. `voxels` is the name of the file with the voxels if these are apart.
pub(super) fn to_bytes(header: &Header, datatype: NiftiType, voxels: Option<&str>) -> Result<Vec<u8>, ErrorKind> {
    let (volumes, components) = (header.extent(4), header.extent(5));
    let is_vector = header.intent_code == VECTOR_INTENT;
    if components > 1 && (!is_vector || volumes > 1) {
        return Err(ErrorKind::NotStorable { format: "NRRD", what: "matrices in each voxel".into() });
    }
    let map = flipped(header.sform());
    let mut sizes: Vec<i64> = (1..=3).map(|dimension| header.extent(dimension)).collect();
    let mut kinds = vec!["domain"; 3];
    let series = volumes > 1;
    let vector = |values: &[f64], time: f64| {
        let values = values.iter().copied().chain(series.then_some(time));
        format!("({})", values.map(|value| value.to_string()).collect::<Vec<_>>().join(","))
    };
    let mut directions: Vec<String> =
        map.matrix.column_iter().map(|axis| vector(&[axis.x, axis.y, axis.z], 0.0)).collect();
    if series {
        sizes.push(volumes);
        kinds.push("domain");
        directions.push(vector(&[0.0; 3], header.pixdim[4]));
    } else if is_vector {
        sizes.push(components);
        kinds.push("vector");
        directions.push("none".into());
    }
    let names = TYPES.iter().find(|(of, _)| *of == datatype).map(|(_, names)| names[0]);
    let name = names.ok_or_else(|| ErrorKind::VoxelType { found: format!("{datatype:?}") })?;
    let mut text = String::from("NRRD0005\n# Complete NRRD file format specification at:\n");
    text += "# http://teem.sourceforge.net/nrrd/format.html\n";
    text += &format!("type: {name}\ndimension: {}\n", sizes.len());
    text += &format!("space: left-posterior-superior{}\n", if series { "-time" } else { "" });
    text += &format!("sizes: {}\nspace directions: {}\n", joined(sizes), directions.join(" "));
    text += &format!("kinds: {}\nendian: little\nencoding: gzip\n", kinds.join(" "));
    text += &format!("space origin: {}\n", vector(map.translation.as_slice(), header.toffset));
    if let Some(name) = voxels {
        text += &format!("data file: {name}\n");
    }
    text.push('\n');
    Ok(text.into_bytes())
}
