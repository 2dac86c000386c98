//! Fields of a NIfTI header that contradict each other, so that another program may place the image elsewhere.

use nalgebra::{Point3, Vector3};

use super::super::formats::header::{Header, SCANNER};
use super::header;
use crate::AffineTransform;

/// A contradiction in a header because of which ITK, and therefore ANTs, places the image elsewhere.
///
/// ITK always takes the voxel sizes from `pixdim`, and reverses an axis whose size is negative (`NiftiImageIO`,
/// `ImageFileReader`). This program takes the sform unchanged.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum HeaderWarning {
    /// The header has an sform and a qform that differ: this program reads positions from the sform, ITK from the
    /// qform.
    FormsApart {
        /// Largest distance, over the corners of the image, between the position by the sform and the position by the
        /// qform, mm.
        corners_mm: f64,
    },
    /// The voxel sizes of the sform differ from `pixdim`: this program takes the sizes of the sform, ITK those of
    /// `pixdim` along the directions of the sform.
    OtherSizes {
        /// Voxel sizes according to the sform, mm.
        sform_mm: [f64; 3],
        /// Voxel sizes according to `pixdim`, as ITK takes them, mm.
        pixdim_mm: [f64; 3],
        /// Largest distance between the world positions that this program and ITK give to the same corner of the image,
        /// mm.
        corners_mm: f64,
    },
    /// A voxel size in `pixdim` is negative: this program ignores the sign, ITK reverses the axis.
    NegativeSizes {
        /// Voxel sizes according to `pixdim`, with their signs, mm.
        pixdim_mm: [f64; 3],
        /// Largest distance between the world positions that this program and ITK give to the same corner of the image,
        /// mm.
        corners_mm: f64,
    },
}

impl HeaderWarning {
    /// Largest distance between the world positions that this program and ITK give to the same corner of the image, mm.
    pub fn corners_mm(&self) -> f64 {
        match self {
            HeaderWarning::FormsApart { corners_mm }
            | HeaderWarning::OtherSizes { corners_mm, .. }
            | HeaderWarning::NegativeSizes { corners_mm, .. } => *corners_mm,
        }
    }
}

/// Largest distance between positions for this program and for ITK that is taken for rounding, mm: headers store
/// single-precision numbers.
const ROUNDING_MM: f64 = 1e-3;

/// Lists the contradictions in the header of an image with this number of voxels along each axis. In a slice, the
/// voxel size along the third axis does not count.
pub(super) fn of(header: &Header, shape: [usize; 3]) -> Vec<HeaderWarning> {
    let axes = if shape[2] == 1 { 2 } else { 3 };
    [forms_apart(header, shape), other_sizes(header, shape, axes), negative_sizes(header, shape, axes)]
        .into_iter()
        .flatten()
        .filter(|warning| warning.corners_mm() > ROUNDING_MM)
        .collect()
}

/// Compares sform and qform in the case where ITK takes the qform although there is an sform: the header has both,
/// and the sform's code is not that of scanner space.
fn forms_apart(header: &Header, shape: [usize; 3]) -> Option<HeaderWarning> {
    if header.qform_code <= 0 || header.sform_code <= SCANNER {
        return None;
    }
    let (sform, qform) = (header.sform(), header::qform(header).ok()?);
    let apart = (0..8).map(|corner: usize| {
        let index = Point3::from(Vector3::from_fn(|axis, _| ((corner >> axis & 1) * (shape[axis] - 1)) as f64));
        (sform.apply(&index) - qform.apply(&index)).norm() * header::unit_mm(header)
    });
    Some(HeaderWarning::FormsApart { corners_mm: apart.fold(0.0, f64::max) })
}

fn other_sizes(header: &Header, shape: [usize; 3], axes: usize) -> Option<HeaderWarning> {
    if header.sform_code <= 0 {
        return None;
    }
    let AffineTransform { matrix, .. } = header.sform();
    let sform = Vector3::from_fn(|axis, _| matrix.column(axis).norm());
    // ITK takes the voxel size 1 where `pixdim` is not a valid size.
    let pixdim = header::sizes(header).map(|size| if size > 0.0 && size.is_finite() { size } else { 1.0 });
    let to_mm = header::unit_mm(header);
    Some(HeaderWarning::OtherSizes {
        sform_mm: (sform * to_mm).into(),
        pixdim_mm: (pixdim * to_mm).into(),
        corners_mm: reach(sform - pixdim, shape, axes) * to_mm,
    })
}

fn negative_sizes(header: &Header, shape: [usize; 3], axes: usize) -> Option<HeaderWarning> {
    let pixdim = Vector3::from_fn(|axis, _| header.pixdim[axis + 1]);
    let to_mm = header::unit_mm(header);
    Some(HeaderWarning::NegativeSizes {
        pixdim_mm: (pixdim * to_mm).into(),
        corners_mm: reach(pixdim.map(|size| 2.0 * size.min(0.0)), shape, axes) * to_mm,
    })
}

/// Distance by which the last voxel of an image of this shape moves if the voxel size along each of its first `axes`
/// axes changes by `step`. The axes are orthogonal. The distance has the unit of `step`.
fn reach(step: Vector3<f64>, shape: [usize; 3], axes: usize) -> f64 {
    (0..axes).map(|axis| (step[axis] * (shape[axis] - 1) as f64).powi(2)).sum::<f64>().sqrt()
}
