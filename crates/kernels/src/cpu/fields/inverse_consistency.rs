//! Inverse consistency of two displacement fields.

use super::residual::squared_residual_at;
use crate::InverseConsistency;
use crate::cpu::field::Field;
use crate::cpu::image::Image;
use crate::scores::Statistics;

/// Statistics of the inverse consistency ‖u(x) + v(x + u(x))‖, where u is `first` and v is `then`.
pub(in crate::cpu) fn inverse_consistency(first: &Field, then: &Field, mask: Option<&Image>) -> InverseConsistency {
    let then = then.sampler();
    let statistics = Statistics::of(
        first.shape,
        mask,
        #[inline(always)]
        |[j, k], counts| {
            let mut found = Statistics::NOTHING;
            for i in (0..first.shape[0]).filter(|i| counts(*i)) {
                found = found.and(squared_residual_at(&then, first, [i, j, k]).sqrt());
            }
            found
        },
    );
    statistics.inverse_consistency()
}
