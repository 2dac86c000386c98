//! Intensity ranges: what "dark" and "bright" mean in an image with outliers.

/// The values below which the shares `low` and `high` (0…1) of the finite voxels lie, by linear interpolation between
/// order statistics. `None` if there is no finite voxel.
pub fn quantiles(voxels: &[f32], low: f64, high: f64) -> Option<(f32, f32)> {
    let mut finite: Vec<f32> = voxels.iter().copied().filter(|value| value.is_finite()).collect();
    if finite.is_empty() {
        return None;
    }
    let mut at = |share: f64| {
        let rank = share * (finite.len() - 1) as f64;
        let below = rank.floor() as usize;
        let (_, &mut lower, above) = finite.select_nth_unstable_by(below, f32::total_cmp);
        let upper = above.iter().copied().fold(f32::INFINITY, f32::min);
        if upper.is_finite() { lower + (rank - below as f64) as f32 * (upper - lower) } else { lower }
    };
    Some((at(low), at(high)))
}
