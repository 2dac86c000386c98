//! NIfTI-1 headers: reading the grid, and writing headers.

use ::nifti::{NiftiHeader, NiftiType};
use nalgebra::{Matrix3, Matrix4, Quaternion, Rotation3, UnitQuaternion, Vector3};

use super::super::{ErrorKind, foreign};
use crate::{AffineTransform, Grid};

/// Length of a NIfTI header in bytes, with the four bytes after it that say whether extensions follow.
pub(super) const WITH_EXTENDER: usize = 352;
/// Length of a NIfTI header in bytes, without the four bytes that say whether extensions follow.
pub(super) const LENGTH: usize = 348;

/// Reads the header from the first bytes of a file; `None` if there are too few bytes.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<NiftiHeader>, ErrorKind> {
    let not_nifti = |found: String| ErrorKind::Format { expected: "a NIfTI file", found };
    let Some(size) = bytes.first_chunk() else { return Ok(None) };
    match (i32::from_le_bytes(*size), i32::from_be_bytes(*size)) {
        (348, _) | (_, 348) => {}
        (540, _) | (_, 540) => return Err(ErrorKind::Unsupported("NIfTI-2")),
        _ => {
            let unknown = || format!("a file that starts with \"{}\"", size.escape_ascii());
            return Err(not_nifti(foreign::name(bytes).map_or_else(unknown, String::from)));
        }
    }
    let Some(magic) = bytes.get(344..LENGTH) else { return Ok(None) };
    if magic == [0; 4] {
        return Err(not_nifti("an ANALYZE 7.5 header, which does not say where left and right are".into()));
    }
    if magic != b"n+1\0" && magic != b"ni1\0" {
        return Err(not_nifti(format!("magic \"{}\" instead of \"n+1\\0\"", magic.escape_ascii())));
    }
    let header = NiftiHeader::from_reader(bytes).map_err(|error| not_nifti(error.to_string()))?;
    // The NIfTI crate determines the byte order from `dim[0]`. If the size of the header is wrong in this byte order,
    // `dim[0]` is wrong, so the dimensions are reported.
    if header.sizeof_hdr != LENGTH as i32 {
        return Err(ErrorKind::Dimensions { dim: dimensions(&header).map(i16::swap_bytes) });
    }
    Ok(Some(header))
}

/// Offset of the voxels from the start of their file, bytes.
pub(super) fn voxel_offset(header: &NiftiHeader) -> Result<u64, ErrorKind> {
    let offset = header.vox_offset;
    let single_file = header.magic == *b"n+1\0";
    let least = if single_file { LENGTH } else { 0 };
    match offset {
        0.0 if single_file => Ok(WITH_EXTENDER as u64),
        _ if offset.fract() == 0.0 && offset >= least as f32 => Ok(offset as u64),
        _ => Err(ErrorKind::Format { expected: "a NIfTI file", found: format!("voxels at byte {offset}") }),
    }
}

/// The header field `dim` as signed numbers.
pub(super) fn dimensions(header: &NiftiHeader) -> [i16; 8] {
    header.dim.map(|n| n as i16)
}

/// Number of elements along each of the seven dimensions; 1 for unused dimensions.
pub(super) fn extents(header: &NiftiHeader) -> Result<[u64; 7], ErrorKind> {
    let dim = dimensions(header);
    let used = match usize::try_from(dim[0]) {
        Ok(used @ 1..=7) => used,
        _ => return Err(ErrorKind::Dimensions { dim }),
    };
    let mut extents = [1; 7];
    for axis in 0..used {
        extents[axis] = match u64::try_from(dim[axis + 1]) {
            Ok(extent) if extent > 0 => extent,
            _ => return Err(ErrorKind::Dimensions { dim }),
        };
    }
    Ok(extents)
}

/// The sform: the map from voxel indices to the world, in the header's unit of length.
pub(super) fn sform(header: &NiftiHeader) -> AffineTransform {
    let rows = [header.srow_x, header.srow_y, header.srow_z];
    AffineTransform {
        matrix: Matrix3::from_fn(|row, column| f64::from(rows[row][column])),
        translation: Vector3::from_fn(|row, _| f64::from(rows[row][3])),
    }
}

/// Voxel sizes that a NIfTI header states, in its unit of length and without their signs.
pub(super) fn sizes(header: &NiftiHeader) -> Vector3<f64> {
    Vector3::from_fn(|axis, _| f64::from(header.pixdim[axis + 1]).abs())
}

/// The header's unit of length in mm.
pub(super) fn unit_mm(header: &NiftiHeader) -> f64 {
    match header.xyzt_units & 7 {
        1 => 1e3,
        3 => 1e-3,
        _ => 1.0,
    }
}

/// The voxel-to-world map of a header that has voxel sizes only, no sform and no qform. Programs disagree about the
/// axes of such images. This map follows ITK (first axis to the left, second to the back, third up), so that the
/// transforms written here have the same meaning in ANTs.
pub(super) fn sizes_alone(header: &NiftiHeader) -> AffineTransform {
    let spacing = sizes(header);
    let axes = Vector3::new(-spacing.x, -spacing.y, spacing.z);
    AffineTransform { matrix: Matrix3::from_diagonal(&axes), translation: Vector3::zeros() }
}

/// The qform: the map from voxel indices to the world, in the header's unit of length. The third axis is reversed if
/// qfac (`pixdim[0]`) is negative.
pub(super) fn qform(header: &NiftiHeader) -> Result<AffineTransform, ErrorKind> {
    let mut spacing = sizes(header);
    let [b, c, d] = [header.quatern_b, header.quatern_c, header.quatern_d].map(f64::from);
    // If 1 − b² − c² − d² of the qform's quaternion is this small, its difference from 0 is a rounding error of b, c
    // and d: the rotation is by 180°, as for grids in LPS order. NIfTI's own library uses the same limit.
    let remainder = 1.0 - (b * b + c * c + d * d);
    if remainder < -1e-3 {
        return Err(ErrorKind::Quaternion(1.0 - remainder));
    }
    let a = if remainder < 1e-7 { 0.0 } else { remainder.sqrt() };
    let rotation = UnitQuaternion::from_quaternion(Quaternion::new(a, b, c, d)).to_rotation_matrix();
    if header.pixdim[0] < 0.0 {
        spacing.z = -spacing.z;
    }
    Ok(AffineTransform {
        matrix: rotation.matrix() * Matrix3::from_diagonal(&spacing),
        translation: Vector3::new(header.quatern_x, header.quatern_y, header.quatern_z).map(f64::from),
    })
}

/// Makes a NIfTI header for images on `grid`. For vector images, `axes` is the number of components of a vector; for
/// scalar images it is `None`. The qform and the sform are equal, both with code 1 (scanner); the unit is mm.
pub(super) fn for_grid(grid: &Grid, datatype: NiftiType, axes: Option<usize>) -> Result<NiftiHeader, ErrorKind> {
    let shape = grid.shape;
    if shape.iter().any(|&n| n > i16::MAX as usize) {
        return Err(ErrorKind::TooLarge { shape });
    }
    let [nx, ny, nz] = shape.map(|n| n as u16);
    // The header of a slice has two dimensions. With three dimensions, ITK would ignore the directions of the axes
    // when it reads the file as a two-dimensional image.
    let dimensions = if grid.is_slice_across_z() { 2 } else { 3 };
    let reflected = grid.direction.determinant() < 0.0;
    let mut rotation = grid.direction;
    if reflected {
        rotation.column_mut(2).neg_mut();
    }
    let quaternion = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(rotation));
    // NIfTI stores b, c and d of the quaternion (a, b, c, d) and assumes a ≥ 0.
    let sign = if quaternion.w < 0.0 { -1.0 } else { 1.0 };
    let [b, c, d] = [quaternion.i, quaternion.j, quaternion.k].map(|q| (sign * q) as f32);
    let world: Matrix4<f64> = grid.voxel_to_world().to_homogeneous();
    let row = |row: usize| std::array::from_fn(|column| world[(row, column)] as f32);
    let [dx, dy, dz] = [0, 1, 2].map(|axis| grid.spacing[axis] as f32);
    let qfac = if reflected { -1.0 } else { 1.0 };
    Ok(NiftiHeader {
        regular: b'r',
        dim: axes.map_or([dimensions, nx, ny, nz, 1, 1, 1, 1], |axes| [5, nx, ny, nz, 1, axes as u16, 1, 1]),
        intent_code: if axes.is_some() { 1007 } else { 0 },
        datatype: datatype as i16,
        bitpix: 8 * datatype.size_of() as i16,
        pixdim: [qfac, dx, dy, dz, if axes.is_some() { 0.0 } else { 1.0 }, 1.0, 1.0, 1.0],
        scl_slope: 1.0,
        xyzt_units: 2,
        quatern_b: b,
        quatern_c: c,
        quatern_d: d,
        quatern_x: world[(0, 3)] as f32,
        quatern_y: world[(1, 3)] as f32,
        quatern_z: world[(2, 3)] as f32,
        srow_x: row(0),
        srow_y: row(1),
        srow_z: row(2),
        magic: *b"n+1\0",
        // By default, both codes of the forms are 1, and the voxel data begin after the header and the four bytes that
        // say whether extensions follow.
        ..NiftiHeader::default()
    })
}

/// Returns the bytes of a NIfTI header, little-endian, and the four bytes which say that no extension follows.
pub(super) fn to_bytes(header: &NiftiHeader) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(WITH_EXTENDER);
    macro_rules! put {
        ($($field:expr),*) => { $( bytes.extend_from_slice(&$field.to_le_bytes()); )* };
    }
    let h = header;
    put!(h.sizeof_hdr);
    bytes.extend_from_slice(&h.data_type);
    bytes.extend_from_slice(&h.db_name);
    put!(h.extents, h.session_error, h.regular, h.dim_info);
    h.dim.iter().for_each(|value| {
        put!(value);
    });
    put!(h.intent_p1, h.intent_p2, h.intent_p3, h.intent_code, h.datatype, h.bitpix, h.slice_start);
    h.pixdim.iter().for_each(|value| {
        put!(value);
    });
    put!(h.vox_offset, h.scl_slope, h.scl_inter, h.slice_end, h.slice_code, h.xyzt_units);
    put!(h.cal_max, h.cal_min, h.slice_duration, h.toffset, h.glmax, h.glmin);
    bytes.extend((0..80).map(|index| h.descrip.get(index).copied().unwrap_or(0)));
    bytes.extend_from_slice(&h.aux_file);
    put!(h.qform_code, h.sform_code);
    put!(h.quatern_b, h.quatern_c, h.quatern_d, h.quatern_x, h.quatern_y, h.quatern_z);
    [h.srow_x, h.srow_y, h.srow_z].iter().flatten().for_each(|value| {
        put!(value);
    });
    bytes.extend_from_slice(&h.intent_name);
    bytes.extend_from_slice(&h.magic);
    bytes.extend_from_slice(&[0; WITH_EXTENDER - LENGTH]);
    bytes
}
