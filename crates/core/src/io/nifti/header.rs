//! The geometry in headers, and the headers of new files.

use ::nifti::{Endianness, NiftiType};
use nalgebra::{Matrix3, Quaternion, Rotation3, UnitQuaternion, Vector3};

use super::super::ErrorKind;
use super::super::formats::header::{Header, SCANNER, VECTOR_INTENT};
use crate::{AffineTransform, Grid};

/// Largest number of elements along an axis, and of voxels of a volume. A file with more of them would be larger than a
/// disk, and with less the numbers of voxels and bytes fit into 64 bits.
const LARGEST_EXTENT: u64 = i32::MAX as u64;
const MOST_VOXELS: u64 = 1 << 45;

/// Number of elements along each of the seven dimensions; 1 for unused dimensions.
pub(super) fn extents(header: &Header) -> Result<[u64; 7], ErrorKind> {
    let dim = header.dim;
    let used = match usize::try_from(dim[0]) {
        Ok(used @ 1..=7) => used,
        _ => return Err(ErrorKind::Dimensions { dim: dim.into() }),
    };
    let mut extents = [1; 7];
    for axis in 0..used {
        extents[axis] = match u64::try_from(dim[axis + 1]) {
            Ok(extent @ 1..=LARGEST_EXTENT) => extent,
            _ => return Err(ErrorKind::Dimensions { dim: dim.into() }),
        };
    }
    match extents[..3].iter().fold(1, |product: u64, extent| product.saturating_mul(*extent)) {
        ..=MOST_VOXELS => Ok(extents),
        _ => Err(ErrorKind::Dimensions { dim: dim.into() }),
    }
}

/// Voxel sizes that a NIfTI header states, in its unit of length and without their signs.
pub(super) fn sizes(header: &Header) -> Vector3<f64> {
    Vector3::from_fn(|axis, _| header.pixdim[axis + 1].abs())
}

/// The header's unit of length in mm.
pub(super) fn unit_mm(header: &Header) -> f64 {
    match header.xyzt_units & 7 {
        1 => 1e3,
        3 => 1e-3,
        _ => 1.0,
    }
}

/// The voxel-to-world map of a header that has voxel sizes only, no sform and no qform. Programs disagree about the
/// axes of such images. This map follows ITK (first axis to the left, second to the back, third up), so that the
/// transforms written here have the same meaning in ANTs.
pub(super) fn sizes_alone(header: &Header) -> AffineTransform {
    let spacing = sizes(header);
    let axes = Vector3::new(-spacing.x, -spacing.y, spacing.z);
    AffineTransform { matrix: Matrix3::from_diagonal(&axes), translation: Vector3::zeros() }
}

/// The qform: the map from voxel indices to the world, in the header's unit of length. The third axis is reversed if
/// qfac (`pixdim[0]`) is negative.
pub(super) fn qform(header: &Header) -> Result<AffineTransform, ErrorKind> {
    let mut spacing = sizes(header);
    let [b, c, d] = header.quaternion;
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
        translation: header.qoffset.into(),
    })
}

/// Makes the header of images on `grid`. For vector images, `axes` is the number of components of a vector; for scalar
/// images it is `None`. The qform and the sform are equal, both with code 1 (scanner); the unit is mm.
pub(super) fn for_grid(grid: &Grid, datatype: NiftiType, axes: Option<usize>) -> Header {
    let [nx, ny, nz] = grid.shape.map(|n| n as i64);
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
    let world = grid.voxel_to_world();
    let [dx, dy, dz] = [0, 1, 2].map(|axis| grid.spacing[axis]);
    let qfac = if reflected { -1.0 } else { 1.0 };
    let dim = axes.map_or([dimensions, nx, ny, nz, 1, 1, 1, 1], |axes| [5, nx, ny, nz, 1, axes as i64, 1, 1]);
    Header {
        pixdim: [qfac, dx, dy, dz, if axes.is_some() { 0.0 } else { 1.0 }, 1.0, 1.0, 1.0],
        intent_code: if axes.is_some() { VECTOR_INTENT } else { 0 },
        qform_code: SCANNER,
        quaternion: [quaternion.i, quaternion.j, quaternion.k].map(|q| sign * q),
        qoffset: world.translation.into(),
        ..Header::of_map(dim, datatype, Endianness::Little, &world)
    }
}
