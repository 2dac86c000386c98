//! Builds NIfTI files byte by byte from the standard, independently of the code under test.

use std::path::{Path, PathBuf};

use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

use antsreg_core::Grid;

/// The fields of a NIfTI file that tests vary. All other bytes are zero.
#[derive(Clone)]
pub struct RawNifti {
    pub big_endian: bool,
    pub dim: [i16; 8],
    pub datatype: i16,
    pub pixdim: [f32; 8],
    pub vox_offset: f32,
    pub slope_intercept: [f32; 2],
    pub units: u8,
    pub intent: i16,
    pub qform_code: i16,
    pub sform_code: i16,
    /// Quaternion and offset of the qform: b, c, d, x, y, z.
    pub quaternion: [f32; 6],
    pub rows: [[f32; 4]; 3],
    pub magic: [u8; 4],
    /// The voxels as bytes, in the byte order of the file.
    pub data: Vec<u8>,
}

impl RawNifti {
    /// A NIfTI file with a volume of the type `datatype` and the identity as its sform.
    pub fn new(shape: [i16; 3], datatype: i16, data: Vec<u8>) -> RawNifti {
        RawNifti {
            big_endian: false,
            dim: [3, shape[0], shape[1], shape[2], 1, 1, 1, 1],
            datatype,
            pixdim: [1.0; 8],
            vox_offset: 352.0,
            slope_intercept: [0.0; 2],
            units: 2,
            intent: 0,
            qform_code: 0,
            sform_code: 1,
            quaternion: [0.0; 6],
            rows: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
            magic: *b"n+1\0",
            data,
        }
    }

    /// Returns the bytes of a complete NIfTI file: header and voxels.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; 352];
        let mut put = |at: usize, little: &[u8]| {
            let mut field = little.to_vec();
            if self.big_endian {
                field.reverse();
            }
            bytes[at..at + field.len()].copy_from_slice(&field);
        };
        put(0, &348i32.to_le_bytes());
        (0..8).for_each(|i| put(40 + 2 * i, &self.dim[i].to_le_bytes()));
        put(68, &self.intent.to_le_bytes());
        put(70, &self.datatype.to_le_bytes());
        (0..8).for_each(|i| put(76 + 4 * i, &self.pixdim[i].to_le_bytes()));
        put(108, &self.vox_offset.to_le_bytes());
        put(112, &self.slope_intercept[0].to_le_bytes());
        put(116, &self.slope_intercept[1].to_le_bytes());
        put(123, &[self.units]);
        put(252, &self.qform_code.to_le_bytes());
        put(254, &self.sform_code.to_le_bytes());
        (0..6).for_each(|i| put(256 + 4 * i, &self.quaternion[i].to_le_bytes()));
        (0..12).for_each(|i| put(280 + 4 * i, &self.rows[i / 4][i % 4].to_le_bytes()));
        bytes[344..348].copy_from_slice(&self.magic);
        bytes.extend_from_slice(&self.data);
        bytes
    }
}

/// Grids of both handednesses, permuted axes, odd sizes and unequal spacings, straight and oblique.
pub fn grids() -> Vec<(&'static str, Grid)> {
    let oblique = Rotation3::from_euler_angles(0.3, -0.2, 0.7).into_inner();
    let upside_down = Rotation3::from_euler_angles(-2.9, 0.2, 0.1).into_inner();
    let axes = |x: [f64; 3], y: [f64; 3], z: [f64; 3]| Matrix3::from_columns(&[x.into(), y.into(), z.into()]);
    let grid = |direction| Grid {
        shape: [7, 5, 3],
        spacing: Vector3::new(1.0, 1.25, 2.5),
        origin: Point3::new(-20.5, 31.0, 8.25),
        direction,
    };
    let (right, anterior, superior) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
    let (left, posterior) = ([-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]);
    vec![
        ("RAS", grid(axes(right, anterior, superior))),
        ("LAS", grid(axes(left, anterior, superior))),
        ("LPS", grid(axes(left, posterior, superior))),
        ("ASL", grid(axes(anterior, superior, left))),
        ("oblique", grid(oblique)),
        ("oblique, upside down", grid(upside_down)),
        ("oblique, reflected", grid(oblique * Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0)))),
    ]
}

/// Compresses `bytes` by gzip.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Writes a file and returns its path.
pub fn save(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}
