//! Reads the geometry of an image with the rounding errors that it has in ITK.

use std::path::Path;

use nalgebra::Matrix3;

use super::super::formats::header::Header;
use super::super::itk::{ItkGeometry, are_same};
use super::super::{Error, ErrorKind};
use super::file::ImageFile;
use super::grid_rule::{Form, GridRule, signed_sizes};
use super::header;

impl ItkGeometry {
    /// Reads the geometry from the header of an image as ITK 5.4 does, with the same bits.
    ///
    /// # Errors
    /// A file that cannot be read, or whose header has no usable grid.
    pub fn read(path: &Path) -> Result<ItkGeometry, Error> {
        let file = ImageFile::open(path, GridRule::Itk)?;
        geometry(&file.header).map_err(|kind| Error::new(path, kind))
    }
}

fn geometry(header: &Header) -> Result<ItkGeometry, ErrorKind> {
    let extents = header::extents(header)?;
    let shape = [0, 1, 2].map(|axis| extents[axis] as usize);
    let (form, _) = GridRule::Itk.form_and_grid(header, shape)?;
    // NIfTI-1 stores single-precision numbers, and ITK computes with these.
    let rows = header.srow.map(|row| row.map(|value| value as f32));
    let sform = (Matrix3::from_fn(|row, column| rows[row][column]), rows.map(|row| row[3]));
    let qform = (quaternion_map(header), header.qoffset.map(|value| value as f32));
    let (map, origin) = match form {
        Form::Sform => sform,
        Form::Qform if header.sform_code > 0 && are_same(&sform.0, &qform.0, [sform.1, qform.1]) => sform,
        Form::Qform => qform,
        Form::Sizes => (Matrix3::from_diagonal(&[-1.0, -1.0, 1.0].into()), [0.0; 3]),
    };
    let to_mm = header::unit_mm(header);
    let mut geometry = ItkGeometry::of_header(&map, origin, to_mm * signed_sizes(header));
    geometry.origin *= to_mm;
    Ok(geometry)
}

/// The matrix of the qform in single precision, by the formula of NIfTI's own library.
fn quaternion_map(header: &Header) -> Matrix3<f32> {
    let [mut b, mut c, mut d] = header.quaternion;
    let mut a = 1.0 - (b * b + c * c + d * d);
    if a < 1e-7 {
        let factor = 1.0 / (b * b + c * c + d * d).sqrt();
        (a, b, c, d) = (0.0, b * factor, c * factor, d * factor);
    } else {
        a = a.sqrt();
    }
    let size = |axis: usize| {
        let size = header.pixdim[axis + 1];
        if size > 0.0 { size } else { 1.0 }
    };
    let (x, y) = (size(0), size(1));
    let z = if header.pixdim[0] < 0.0 { -size(2) } else { size(2) };
    Matrix3::new(
        (a * a + b * b - c * c - d * d) * x,
        2.0 * (b * c - a * d) * y,
        2.0 * (b * d + a * c) * z,
        2.0 * (b * c + a * d) * x,
        (a * a + c * c - b * b - d * d) * y,
        2.0 * (c * d - a * b) * z,
        2.0 * (b * d - a * c) * x,
        2.0 * (c * d + a * b) * y,
        (a * a + d * d - c * c - b * b) * z,
    )
    .map(|value| value as f32)
}
