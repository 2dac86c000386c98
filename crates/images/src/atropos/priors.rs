//! First labels from maps of prior probabilities.

use super::random::Random;

/// Labels voxels by the largest prior, and divides the priors by their sum. Voxels whose largest prior does not exceed
/// the threshold get no label and no priors. Of equally large priors, chance decides.
pub fn from_priors(maps: &mut [Vec<f32>], inside: &[usize], threshold: f32, random: &mut Random) -> Vec<u8> {
    let voxels = maps.first().map_or(0, Vec::len);
    let (mut labels, mut largest) = (vec![0u8; voxels], vec![0.0f32; voxels]);
    for (class, map) in maps.iter().enumerate() {
        for voxel in inside.iter().copied() {
            if map[voxel] > largest[voxel] {
                (largest[voxel], labels[voxel]) = (map[voxel], class as u8 + 1);
            } else if almost_equal(map[voxel], largest[voxel]) && (class == 0 || random.up_to(1) == 1) {
                labels[voxel] = class as u8 + 1;
            }
        }
    }
    for voxel in inside.iter().copied() {
        let sum: f32 = maps.iter().map(|map| map[voxel]).sum();
        let none = largest[voxel] <= threshold || crate::is_zero(sum);
        if none {
            labels[voxel] = 0;
        }
        maps.iter_mut().for_each(|map| map[voxel] = if none { 0.0 } else { map[voxel] / sum });
    }
    labels
}

/// Whether two numbers are equal but for rounding: ITK's `FloatAlmostEqual`.
pub fn almost_equal(a: f32, b: f32) -> bool {
    (a - b).abs() <= 0.1 * f32::EPSILON
        || (a.is_sign_negative() == b.is_sign_negative() && a.to_bits().abs_diff(b.to_bits()) <= 4)
}
