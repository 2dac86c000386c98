//! MetaImages, in one file (`.mha`) or with the voxels in another file (`.mhd`)
//! (<https://itk.org/Wiki/ITK/MetaIO/Documentation>). The world is LPS mm.

use std::collections::HashMap;

use ::nifti::{Endianness, NiftiType};
use nalgebra::{Matrix3, Vector3};

use super::super::ErrorKind;
use super::super::source::Packing;
use super::header::{Header, VECTOR_INTENT, dimensions, flipped};
use super::place::{File, Parsed, Place, Start};
use super::text::{joined, number, numbers, refused, wrong};
use crate::AffineTransform;

/// Names of voxel types; the first of each type is written.
const TYPES: [(NiftiType, &[&str]); 10] = [
    (NiftiType::Int8, &["MET_CHAR"]),
    (NiftiType::Uint8, &["MET_UCHAR"]),
    (NiftiType::Int16, &["MET_SHORT"]),
    (NiftiType::Uint16, &["MET_USHORT"]),
    (NiftiType::Int32, &["MET_INT", "MET_LONG"]),
    (NiftiType::Uint32, &["MET_UINT", "MET_ULONG"]),
    (NiftiType::Int64, &["MET_LONG_LONG"]),
    (NiftiType::Uint64, &["MET_ULONG_LONG"]),
    (NiftiType::Float32, &["MET_FLOAT"]),
    (NiftiType::Float64, &["MET_DOUBLE"]),
];

/// The fields of a header by name.
type Fields = HashMap<String, String>;

/// The field after which the voxels begin.
const LAST: &str = "ElementDataFile";

/// Whether a file with these first bytes is meant to be a MetaImage.
pub(super) fn starts_like(bytes: &[u8]) -> bool {
    [&b"ObjectType"[..], b"NDims", b"Comment ="].iter().any(|start| bytes.starts_with(start))
}

/// Reads a header; `None` if it does not end in these bytes.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Parsed>, ErrorKind> {
    let Some((fields, end)) = fields(bytes)? else { return Ok(None) };
    let one_of = |names: &[&str]| names.iter().find_map(|name| fields.get(*name)).map(String::as_str);
    let required = |name: &'static str| one_of(&[name]).ok_or(ErrorKind::FieldMissing(name));
    let yes = |names: &[&str]| one_of(names).is_some_and(|text| text.to_lowercase().starts_with(['t', '1']));
    let axes: usize = number("NDims", required("NDims")?)?;
    let extents: Vec<i64> = numbers("DimSize", required("DimSize")?, 8)?;
    if extents.len() != axes || !(2..=4).contains(&axes) {
        return Err(refused("DimSize", required("DimSize")?, "2, 3 or 4 axes, as NDims says"));
    }
    let name = required("ElementType")?;
    let datatype = TYPES.iter().find(|(_, names)| names.contains(&name)).map(|(datatype, _)| *datatype);
    let datatype = datatype.ok_or_else(|| ErrorKind::VoxelType { found: name.into() })?;
    // Text is the default of the format, but no program writes a header without this field.
    if one_of(&["BinaryData"]).is_some() && !yes(&["BinaryData"]) {
        return Err(refused("BinaryData", "False", "True"));
    }
    let components: i64 =
        one_of(&["ElementNumberOfChannels"]).map_or(Ok(1), |text| number("ElementNumberOfChannels", text))?;
    let reals = |names: &[&str], count: usize| -> Result<Option<Vec<f64>>, ErrorKind> {
        let Some(text) = one_of(names) else { return Ok(None) };
        let values = numbers(names[0], text, count)?;
        if values.len() == count { Ok(Some(values)) } else { Err(wrong(names[0], text)) }
    };
    let sizes = reals(&["ElementSpacing", "ElementSize"], axes)?.unwrap_or(vec![1.0; axes]);
    let origin = reals(&["Offset", "Position", "Origin"], axes)?.unwrap_or(vec![0.0; axes]);
    let turned = reals(&["TransformMatrix", "Rotation", "Orientation"], axes * axes)?;
    let mut matrix = Matrix3::identity();
    for axis in 0..axes.min(3) {
        for row in 0..axes.min(3) {
            let along =
                turned.as_ref().map_or(if row == axis { 1.0 } else { 0.0 }, |matrix| matrix[axis * axes + row]);
            matrix[(row, axis)] = along * sizes[axis];
        }
    }
    let translation = Vector3::from_fn(|row, _| origin.get(row).copied().unwrap_or(0.0));
    let map = flipped(AffineTransform { matrix, translation });
    let mut extents = extents;
    if components != 1 {
        if axes == 4 {
            return Err(refused("ElementNumberOfChannels", &components.to_string(), "1 in an image of four axes"));
        }
        extents.resize(4, 1);
        extents.push(components);
    }
    let big = yes(&["BinaryDataByteOrderMSB", "ElementByteOrderMSB"]);
    let endianness = if big { Endianness::Big } else { Endianness::Little };
    let mut header = Header::of_map(dimensions(&extents), datatype, endianness, &map);
    header.intent_code = if components > 1 { VECTOR_INTENT } else { 0 };
    header.descrip = one_of(&["Comment", "Name"]).unwrap_or_default().into();
    header.pixdim[4] = sizes.get(3).copied().unwrap_or(0.0);
    header.toffset = origin.get(3).copied().unwrap_or(0.0);
    let packing = if yes(&["CompressedData"]) { Packing::Zlib } else { Packing::None };
    let (file, before) = match required(LAST)? {
        "LOCAL" | "Local" | "local" => (File::Same, end),
        name if name.starts_with("LIST") || name.contains('%') => {
            return Err(refused(LAST, name, "LOCAL or the name of one file"));
        }
        name => (File::Named(name.into()), 0),
    };
    let skip: i64 = one_of(&["HeaderSize"]).map_or(Ok(0), |text| number("HeaderSize", text))?;
    let start = match u64::try_from(skip) {
        Ok(skip) => Start::At(before.saturating_add(skip)),
        Err(_) if skip == -1 && packing == Packing::None => Start::AtEnd,
        Err(_) => return Err(wrong("HeaderSize", &skip.to_string())),
    };
    let together = (components > 1).then_some(components.unsigned_abs());
    Ok(Some(Parsed { header, place: Place { file, start, packing, together } }))
}

/// The fields of a header by name, and the number of bytes up to the voxels; `None` if the header does not end in these
/// bytes. The last line may lack its end.
fn fields(bytes: &[u8]) -> Result<Option<(Fields, u64)>, ErrorKind> {
    let mut fields = HashMap::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, after) = end.map_or((rest, &rest[rest.len()..]), |end| (&rest[..end], &rest[end + 1..]));
        rest = after;
        let line = std::str::from_utf8(line).map_err(|_| wrong("header", "bytes that are no text"))?;
        let Some((name, value)) = line.split_once('=') else {
            match line.trim() {
                "" => continue,
                other => return Err(wrong("header", other)),
            }
        };
        let name = name.trim().to_owned();
        let is_last = name == LAST;
        fields.insert(name, value.trim().to_owned());
        if is_last {
            return Ok(Some((fields, (bytes.len() - rest.len()) as u64)));
        }
    }
    Ok(None)
}

/// The bytes of a header. `voxels` is the name of the file with the voxels if these are apart.
pub(super) fn to_bytes(header: &Header, datatype: NiftiType, voxels: Option<&str>) -> Result<Vec<u8>, ErrorKind> {
    let (volumes, components) = (header.extent(4), header.extent(5));
    if components > 1 && (header.intent_code != VECTOR_INTENT || volumes > 1) {
        return Err(ErrorKind::NotStorable { format: "MetaImage", what: "matrices in each voxel".into() });
    }
    let map = flipped(header.sform());
    let axes = if volumes > 1 { 4 } else { 3 };
    let sizes = Vector3::from_fn(|axis, _| map.matrix.column(axis).norm());
    let mut turned = vec![0.0; axes * axes];
    for axis in 0..axes {
        for row in 0..axes {
            let inside = axis < 3 && row < 3;
            let identity = f64::from(u8::from(row == axis));
            turned[axis * axes + row] = if inside { map.matrix[(row, axis)] / sizes[axis] } else { identity };
        }
    }
    let with_time =
        |values: &Vector3<f64>, time: f64| joined(values.iter().copied().chain((axes == 4).then_some(time)));
    let names = TYPES.iter().find(|(of, _)| *of == datatype).map(|(_, names)| names[0]);
    let name = names.ok_or_else(|| ErrorKind::VoxelType { found: format!("{datatype:?}") })?;
    let mut text = format!("ObjectType = Image\nNDims = {axes}\nBinaryData = True\nBinaryDataByteOrderMSB = False\n");
    text += &format!("CompressedData = False\nTransformMatrix = {}\n", joined(turned));
    text += &format!("Offset = {}\n", with_time(&map.translation, header.toffset));
    text += &format!("CenterOfRotation = {}\n", joined(vec![0; axes]));
    text += &format!("ElementSpacing = {}\n", with_time(&sizes, header.pixdim[4]));
    text += &format!("DimSize = {}\n", joined((1..=axes).map(|dimension| header.extent(dimension))));
    if components > 1 {
        text += &format!("ElementNumberOfChannels = {components}\n");
    }
    text += &format!("ElementType = {name}\n{LAST} = {}\n", voxels.unwrap_or("LOCAL"));
    Ok(text.into_bytes())
}
