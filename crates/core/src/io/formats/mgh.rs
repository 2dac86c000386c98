//! FreeSurfer's volumes: `.mgh`, and `.mgz`, which is the same file gzipped. All numbers are big-endian.
//!
//! The world is scanner RAS mm. The header gives the voxel sizes, the directions of the axes, and the position of the
//! point at index (width/2, height/2, depth/2) (<https://surfer.nmr.mgh.harvard.edu/fswiki/FsTutorial/MghFormat>).

use ::nifti::{Endianness, NiftiType};
use nalgebra::{Matrix3, Vector3};

use super::super::ErrorKind;
use super::header::{Header, dimensions};
use super::place::{Parsed, Place};
use crate::AffineTransform;

/// Length of the header, bytes; the voxels follow.
pub(super) const LENGTH: usize = 284;
/// The version of the format, at the start of every file.
pub(super) const VERSION: [u8; 4] = [0, 0, 0, 1];
/// NIfTI's code of the unit millisecond, for times.
const MILLISECONDS: u8 = 16;

/// FreeSurfer's codes of voxel types.
const TYPES: [(i32, NiftiType); 5] = [
    (0, NiftiType::Uint8),
    (1, NiftiType::Int32),
    (3, NiftiType::Float32),
    (4, NiftiType::Int16),
    (10, NiftiType::Uint16),
];

/// Reads a header; `None` if there are too few bytes.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Parsed>, ErrorKind> {
    let Some(bytes) = bytes.first_chunk::<LENGTH>() else { return Ok(None) };
    let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    let int = |at: usize| i32::from_be_bytes(word(at));
    let real = |at: usize| f64::from(f32::from_be_bytes(word(at)));
    let extents = [4, 8, 12, 16].map(|at| i64::from(int(at)));
    let code = int(20);
    let datatype = TYPES.iter().find(|(of, _)| *of == code).map(|(_, datatype)| *datatype);
    let datatype = datatype.ok_or_else(|| ErrorKind::VoxelType { found: format!("code {code} of FreeSurfer") })?;
    let mut sizes = Vector3::repeat(1.0);
    // Without valid geometry in the file, FreeSurfer assumes coronal slices around the origin.
    let mut axes = Matrix3::new(-1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0);
    let mut centre = Vector3::zeros();
    if i16::from_be_bytes([bytes[28], bytes[29]]) != 0 {
        sizes = Vector3::from_fn(|axis, _| real(30 + 4 * axis));
        axes = Matrix3::from_fn(|row, column| real(42 + 4 * (3 * column + row)));
        centre = Vector3::from_fn(|row, _| real(78 + 4 * row));
    }
    let matrix = axes * Matrix3::from_diagonal(&sizes);
    let half = Vector3::from_fn(|axis, _| extents[axis] as f64 / 2.0);
    let map = AffineTransform { matrix, translation: centre - matrix * half };
    let used = if extents[3] == 1 { 3 } else { 4 };
    let mut header = Header::of_map(dimensions(&extents[..used]), datatype, Endianness::Big, &map);
    header.pixdim[4] = 0.0;
    Ok(Some(Parsed { header, place: Place::here(LENGTH as u64) }))
}

/// Puts the repetition time that stands behind the voxels of a series into its header. `bytes` are those that follow the
/// voxels.
pub(super) fn put_time(header: &mut Header, bytes: &[u8]) {
    let Some(time) = bytes.first_chunk().map(|bytes| f32::from_be_bytes(*bytes)) else { return };
    if time.is_finite() && time > 0.0 {
        header.pixdim[4] = time.into();
        header.xyzt_units |= MILLISECONDS;
    }
}

/// The bytes of a header, and those that follow the voxels.
pub(super) fn to_bytes(header: &Header, datatype: NiftiType) -> Result<(Vec<u8>, Vec<u8>), ErrorKind> {
    let refuse = |what| Err(ErrorKind::NotStorable { format: "MGH", what });
    if (5..8).any(|dimension| header.extent(dimension) > 1) {
        return refuse("vectors".into());
    }
    let Some((code, _)) = TYPES.iter().find(|(_, of)| *of == datatype) else {
        return refuse(format!("voxels of type {datatype:?}"));
    };
    let extents = [1, 2, 3, 4].map(|dimension| header.extent(dimension));
    let mut bytes = VERSION.to_vec();
    for extent in extents {
        match i32::try_from(extent) {
            Ok(extent) => bytes.extend(extent.to_be_bytes()),
            Err(_) => return refuse(format!("{extent} voxels along an axis")),
        }
    }
    bytes.extend(code.to_be_bytes());
    bytes.extend(0i32.to_be_bytes());
    bytes.extend(1i16.to_be_bytes());
    let map = header.sform();
    let sizes = Vector3::from_fn(|axis, _| map.matrix.column(axis).norm());
    let axes = Matrix3::from_fn(|row, column| map.matrix[(row, column)] / sizes[column]);
    let half = Vector3::from_fn(|axis, _| extents[axis] as f64 / 2.0);
    let centre = map.matrix * half + map.translation;
    for value in sizes.iter().chain(axes.iter()).chain(centre.iter()) {
        bytes.extend((*value as f32).to_be_bytes());
    }
    bytes.resize(LENGTH, 0);
    Ok((bytes, times(header)))
}

/// The bytes that follow the voxels of a series: its repetition time, then flip angle, echo time, inversion time and
/// field of view, which are unknown.
fn times(header: &Header) -> Vec<u8> {
    if header.extent(4) <= 1 {
        return Vec::new();
    }
    let to_ms = match header.xyzt_units & 0x38 {
        MILLISECONDS => 1.0,
        24 => 1e-3,
        _ => 1e3,
    };
    let time = header.pixdim[4] * to_ms;
    [time, 0.0, 0.0, 0.0, 0.0].iter().flat_map(|value| (*value as f32).to_be_bytes()).collect()
}
