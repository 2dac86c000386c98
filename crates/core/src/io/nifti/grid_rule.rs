//! Rules by which the grid is read from a NIfTI header: this program's rule and ITK's rule.

use nalgebra::{Matrix3, Vector3};

use super::super::ErrorKind;
use super::super::formats::header::{Header, SCANNER};
use super::header;
use crate::{AffineTransform, Grid, GridError};

/// Smallest length of the third voxel axis of a slice, in the header's unit. A shorter third axis is replaced by an
/// axis of length 1 perpendicular to the first two axes.
const LEAST_THICKNESS: f64 = 1e-6;

/// The rule by which the grid is read from a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GridRule {
    /// This program's rule: the sform if its code is positive, else the qform if its code is positive, else the voxel
    /// sizes alone.
    #[default]
    Sform,
    /// The rule of ITK, and therefore of ANTs (`NiftiImageIO` and `ImageFileReader` of ITK 5.4).
    ///
    /// ITK takes the sform if its axes are orthogonal, and either its code is that of the scanner or the qform has no
    /// code; else the
    /// qform. The voxel sizes are always those of `pixdim`, and an axis with a negative size is reversed.
    Itk,
}

/// The maps from voxel indices to the world that a header may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Sform,
    Qform,
    /// The voxel sizes alone.
    Sizes,
}

impl Form {
    /// The voxel-to-world map in the header's unit of length.
    fn map(self, header: &Header) -> Result<AffineTransform, ErrorKind> {
        match self {
            Form::Sform => Ok(header.sform()),
            Form::Qform => header::qform(header),
            Form::Sizes => Ok(header::sizes_alone(header)),
        }
    }
}

impl GridRule {
    /// Computes the grid of an image from its header. `shape` is the number of voxels along each axis.
    pub(super) fn grid(self, header: &Header, shape: [usize; 3]) -> Result<Grid, ErrorKind> {
        self.form_and_grid(header, shape).map(|(_, grid)| grid)
    }

    /// Returns the form that is taken from a header, and the grid of the image.
    pub(super) fn form_and_grid(self, header: &Header, shape: [usize; 3]) -> Result<(Form, Grid), ErrorKind> {
        let (sform, qform) = (header.sform_code > 0, header.qform_code > 0);
        let by = |form: Form| {
            let map = form.map(header)?;
            let map = if self == GridRule::Itk { by_sizes(header, map) } else { map };
            Ok((form, in_mm(header, shape, map)?))
        };
        let without_sform = if qform { Form::Qform } else { Form::Sizes };
        match self {
            GridRule::Sform if sform => by(Form::Sform),
            GridRule::Itk if sform && (header.sform_code == SCANNER || !qform) => match by(Form::Sform) {
                Err(ErrorKind::Grid(GridError::Sheared(_))) if qform => by(Form::Qform),
                found => found,
            },
            _ => by(without_sform),
        }
    }
}

/// Replaces the voxel sizes of a voxel-to-world map by those of `pixdim` and keeps the directions of its axes. An
/// axis with a negative size is reversed. An invalid size counts as 1, as in ITK.
fn by_sizes(header: &Header, map: AffineTransform) -> AffineTransform {
    let sizes = signed_sizes(header);
    let step = Vector3::from_fn(|axis, _| {
        let (size, length) = (sizes[axis], map.matrix.column(axis).norm());
        // If the sform gives an axis the length 0, the axis stays 0. The grid is then singular, and the function
        // `in_mm` reports the error.
        if length > 0.0 { size / length } else { 0.0 }
    });
    AffineTransform { matrix: map.matrix * Matrix3::from_diagonal(&step), translation: map.translation }
}

/// Voxel sizes of `pixdim` in the header's unit of length, with their signs. An invalid size counts as 1, as in ITK.
pub(super) fn signed_sizes(header: &Header) -> Vector3<f64> {
    Vector3::from_fn(|axis, _| {
        let size = header.pixdim[axis + 1];
        if size != 0.0 && size.is_finite() { size } else { 1.0 }
    })
}

/// Computes the grid from a voxel-to-world map in the header's unit of length.
fn in_mm(header: &Header, shape: [usize; 3], mut map: AffineTransform) -> Result<Grid, ErrorKind> {
    let to_mm = header::unit_mm(header);
    if shape[2] == 1 && map.matrix.column(2).norm() < LEAST_THICKNESS {
        // Headers of two-dimensional images may leave the third axis undefined.
        let [x, y] = [0, 1].map(|axis| map.matrix.column(axis).normalize());
        map.matrix.set_column(2, &x.cross(&y));
    }
    map.matrix *= to_mm;
    map.translation *= to_mm;
    Ok(Grid::from_voxel_to_world(shape, &map)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_of_the_least_thickness_keeps_its_third_axis() {
        let thickness = |third: f64| {
            let matrix = Matrix3::from_diagonal(&Vector3::new(2.0, 3.0, third));
            let map = AffineTransform { matrix, translation: Vector3::zeros() };
            let header = Header::of_map([1; 8], ::nifti::NiftiType::Uint8, ::nifti::Endianness::Little, &map);
            in_mm(&header, [4, 5, 1], map).unwrap().spacing.z
        };
        assert_eq!(thickness(LEAST_THICKNESS), LEAST_THICKNESS);
        assert_eq!(thickness(0.99 * LEAST_THICKNESS), 1.0);
    }
}
