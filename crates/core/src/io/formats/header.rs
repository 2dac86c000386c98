//! The header of an image, independent of the file format.

use ::nifti::{Endianness, NiftiType};
use nalgebra::{Matrix3, Vector3};

use super::super::ErrorKind;
use crate::AffineTransform;

/// NIfTI's code of scanner space, for qform and sform.
pub(in crate::io) const SCANNER: i32 = 1;
/// NIfTI's code of the unit mm.
pub(in crate::io) const MILLIMETRES: u8 = 2;
/// NIfTI's intent code of vectors.
pub(in crate::io) const VECTOR_INTENT: i32 = 1007;

/// The types of NIfTI.
const TYPES: [NiftiType; 16] = [
    NiftiType::Uint8,
    NiftiType::Int16,
    NiftiType::Int32,
    NiftiType::Float32,
    NiftiType::Complex64,
    NiftiType::Float64,
    NiftiType::Rgb24,
    NiftiType::Int8,
    NiftiType::Uint16,
    NiftiType::Uint32,
    NiftiType::Int64,
    NiftiType::Uint64,
    NiftiType::Float128,
    NiftiType::Complex128,
    NiftiType::Complex256,
    NiftiType::Rgba32,
];
/// The types that are not integers or real numbers of up to 64 bits.
const NOT_REAL: [NiftiType; 6] = [
    NiftiType::Complex64,
    NiftiType::Rgb24,
    NiftiType::Float128,
    NiftiType::Complex128,
    NiftiType::Complex256,
    NiftiType::Rgba32,
];

/// The fields of an image's header. Names, meanings and codes are those of NIfTI-2, whose types are the widest of all
/// formats. Readers of other formats convert their fields to these, writers convert these to their fields.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io) struct Header {
    /// Number of dimensions, then the number of elements along each dimension.
    pub dim: [i64; 8],
    /// Sign of the third axis of the qform, then the voxel size along each dimension.
    pub pixdim: [f64; 8],
    /// NIfTI's code of the type of the stored values.
    pub datatype: i16,
    /// Byte order of the file.
    pub endianness: Endianness,
    /// Factor of stored values; 0 if they are not scaled.
    pub scl_slope: f64,
    /// Number that is added to scaled values.
    pub scl_inter: f64,
    pub intent_code: i32,
    /// First number that tells more about the intent.
    pub intent_p1: f64,
    pub intent_name: String,
    /// Codes of the units of length and time.
    pub xyzt_units: u8,
    /// Time of the first volume.
    pub toffset: f64,
    /// A text, in most files the name of the program that wrote it.
    pub descrip: String,
    pub qform_code: i32,
    pub sform_code: i32,
    /// b, c and d of the qform's quaternion.
    pub quaternion: [f64; 3],
    /// Position of the first voxel by the qform.
    pub qoffset: [f64; 3],
    /// Rows of the sform.
    pub srow: [[f64; 4]; 3],
}

impl Header {
    /// The header of an image that has a map from voxel indices to the world (RAS mm) and no further geometry. `dim` is
    /// as in the field of this name.
    pub fn of_map(dim: [i64; 8], datatype: NiftiType, endianness: Endianness, map: &AffineTransform) -> Header {
        let mut pixdim = [1.0; 8];
        (0..3).for_each(|axis| pixdim[axis + 1] = map.matrix.column(axis).norm());
        Header {
            dim,
            pixdim,
            datatype: datatype as i16,
            endianness,
            scl_slope: 0.0,
            scl_inter: 0.0,
            intent_code: 0,
            intent_p1: 0.0,
            intent_name: String::new(),
            xyzt_units: MILLIMETRES,
            toffset: 0.0,
            descrip: String::new(),
            qform_code: 0,
            sform_code: SCANNER,
            quaternion: [0.0; 3],
            qoffset: [0.0; 3],
            srow: rows(map),
        }
    }

    /// The sform: the map from voxel indices to the world, in the header's unit of length.
    pub fn sform(&self) -> AffineTransform {
        AffineTransform {
            matrix: Matrix3::from_fn(|row, column| self.srow[row][column]),
            translation: Vector3::from_fn(|row, _| self.srow[row][3]),
        }
    }

    /// The type of the stored values.
    pub fn data_type(&self) -> Result<NiftiType, ErrorKind> {
        let found = TYPES.into_iter().find(|datatype| *datatype as i16 == self.datatype);
        match found {
            None => Err(ErrorKind::VoxelType { found: format!("code {}", self.datatype) }),
            Some(found) if NOT_REAL.contains(&found) => Err(ErrorKind::VoxelType { found: format!("{found:?}") }),
            Some(found) => Ok(found),
        }
    }

    /// Number of elements along dimension `number`, counted from 1; 1 beyond the last dimension.
    pub fn extent(&self, number: usize) -> i64 {
        if number as i64 <= self.dim[0] { self.dim[number] } else { 1 }
    }
}

/// The three rows of a map.
pub(in crate::io) fn rows(map: &AffineTransform) -> [[f64; 4]; 3] {
    std::array::from_fn(|row| {
        std::array::from_fn(|column| if column < 3 { map.matrix[(row, column)] } else { map.translation[row] })
    })
}

/// The field `dim` of a header with these extents.
pub(in crate::io) fn dimensions(extents: &[i64]) -> [i64; 8] {
    let mut dim = [1; 8];
    dim[0] = extents.len() as i64;
    extents.iter().zip(&mut dim[1..]).for_each(|(extent, place)| *place = *extent);
    dim
}

/// Converts a map from voxel indices to RAS into one to LPS, or back: the signs of x and y.
pub(in crate::io) fn flipped(mut map: AffineTransform) -> AffineTransform {
    for row in 0..2 {
        map.matrix.row_mut(row).neg_mut();
        map.translation[row] = -map.translation[row];
    }
    map
}
