//! Statistics of the Jacobian determinants of a displacement field.

use antsreg_core::jacobian::JacobianSummary;

use super::jacobian_determinant::determinant_at;
use crate::cpu::corners;
use crate::cpu::field::Field;
use crate::cpu::image::Image;
use crate::cpu::lanes::LANES;
use crate::scores::Statistics;

/// Statistics of the Jacobian determinants det(I + ∂u/∂x), and of the smallest determinant at the cell corners of each
/// voxel.
pub(in crate::cpu) fn jacobian_summary(field: &Field, mask: Option<&Image>) -> JacobianSummary {
    let nx = field.shape[0];
    let statistics = Statistics::of(
        field.shape,
        mask,
        #[inline(always)]
        |[j, k], counts| {
            let mut found = Statistics::NOTHING;
            for first in (0..nx).step_by(LANES) {
                let corners = corners::smallest(field, [first, j, k]).to_array();
                for (i, corner) in (first..nx).zip(corners).filter(|(i, _)| counts(*i)) {
                    found = found.and(determinant_at(field, [i, j, k])).and_corner(corner);
                }
            }
            found
        },
    );
    statistics.jacobian_summary()
}
