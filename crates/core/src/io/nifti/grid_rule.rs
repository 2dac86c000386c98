//! Where a header says that its voxels lie: by this program's rule, or by ITK's.

use ::nifti::NiftiHeader;
use nalgebra::{Matrix3, Vector3};

use super::super::ErrorKind;
use super::header;
use crate::{AffineTransform, Grid, GridError};

/// A voxel thinner than this, in the header's unit, has no thickness given.
const LEAST_THICKNESS: f64 = 1e-6;

/// NIfTI's code of the space of the scanner.
pub(super) const SCANNER: i16 = 1;

/// Which of a header's statements say where its voxels lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GridRule {
    /// The sform as it stands if its code is positive, else the qform, else the voxel sizes alone.
    #[default]
    Sform,
    /// ITK's rule, and so that of ANTs (`NiftiImageIO` and `ImageFileReader` of ITK 5.4).
    ///
    /// The sform if its code is that of the scanner or the qform has none, and its axes are at right angles; else the qform.
    /// The voxel sizes are those of `pixdim` in any case, and an axis whose size is negative is turned round.
    Itk,
}

impl GridRule {
    /// The grid of a header.
    pub(super) fn grid(self, header: &NiftiHeader, shape: [usize; 3]) -> Result<Grid, ErrorKind> {
        let (sform, qform) = (header.sform_code > 0, header.qform_code > 0);
        match self {
            GridRule::Sform if sform => in_mm(header, shape, header::sform(header)),
            GridRule::Itk if sform && (header.sform_code == SCANNER || !qform) => {
                match in_mm(header, shape, by_sizes(header, header::sform(header))) {
                    Err(ErrorKind::Grid(GridError::Sheared(_))) if qform => {
                        in_mm(header, shape, by_sizes(header, header::qform(header)?))
                    }
                    grid => grid,
                }
            }
            GridRule::Sform if qform => in_mm(header, shape, header::qform(header)?),
            GridRule::Itk if qform => in_mm(header, shape, by_sizes(header, header::qform(header)?)),
            GridRule::Sform => in_mm(header, shape, header::sizes_alone(header)),
            GridRule::Itk => in_mm(header, shape, by_sizes(header, header::sizes_alone(header))),
        }
    }
}

/// A header's map with steps of the sizes in `pixdim`, along its own directions, or against them where a size is negative. ITK
/// makes 1 of what is no size.
fn by_sizes(header: &NiftiHeader, map: AffineTransform) -> AffineTransform {
    let step = Vector3::from_fn(|axis, _| {
        let size = f64::from(header.pixdim[axis + 1]);
        let length = map.matrix.column(axis).norm();
        let size = if size != 0.0 && size.is_finite() { size } else { 1.0 };
        // What has no direction is refused with the grid, or gets one there.
        if length > 0.0 { size / length } else { 0.0 }
    });
    AffineTransform { matrix: map.matrix * Matrix3::from_diagonal(&step), translation: map.translation }
}

/// The grid of a map in the header's unit.
fn in_mm(header: &NiftiHeader, shape: [usize; 3], mut map: AffineTransform) -> Result<Grid, ErrorKind> {
    let to_mm = header::unit_mm(header);
    if shape[2] == 1 && map.matrix.column(2).norm() < LEAST_THICKNESS {
        // Two-dimensional headers may say nothing of the third axis.
        let [x, y] = [0, 1].map(|axis| map.matrix.column(axis).normalize());
        map.matrix.set_column(2, &x.cross(&y));
    }
    map.matrix *= to_mm;
    map.translation *= to_mm;
    Ok(Grid::from_voxel_to_world(shape, &map)?)
}
