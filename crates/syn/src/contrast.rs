//! More contrast at the boundaries of tissues: curves of intensity for a fixed and a moving image that are steep at the
//! same boundaries in both, and flatter between. They make boundaries count more, and the noise inside a tissue less.
//!
//! Curves that are steep at different boundaries would do harm. So both images keep their intensities unless they have the
//! same boundaries: the share of the object that is darker tells whether two intensities belong to each other. A scan and
//! a mean of many heads often have different ones, as have scans of two contrasts.

use antsreg_kernels::ProfileBin;

use crate::boundaries::boundaries;

/// Width of the step of a curve at a boundary: scale of the logistic function, as a share of the range of intensities.
const STEP: f64 = 0.025;
/// Number of linear pieces of a curve.
const PIECES: usize = 1024;
/// Intensities from this bin on are those of the object, the others of the background.
const FIRST_OF_OBJECT: usize = 3;
/// Boundaries of two images are the same if each, carried over to the other image by its rank, is no farther from the
/// other than this share of the range.
const SAME: f64 = 0.08;

/// A curve of intensity, in the form of [`map_intensities`](antsreg_kernels::ops::Intensity::map_intensities).
pub(crate) type Curve = Vec<f32>;

/// The curves of a fixed and a moving image: each a mixture of the identity and, with the weight `share`, of one step of
/// equal height at each boundary. `None` unless the images have the same boundaries.
pub(crate) fn curves(profiles: [&[ProfileBin]; 2], share: f64) -> Option<[Curve; 2]> {
    let places = profiles.map(boundaries);
    are_the_same(profiles, &places).then(|| places.map(|places| curve(&places, share)))
}

fn curve(boundaries: &[f64], share: f64) -> Curve {
    let steps = |at: f64| {
        let step = |boundary: &f64| 1.0 / (1.0 + ((boundary - at) / STEP).exp());
        boundaries.iter().map(step).sum::<f64>() / boundaries.len() as f64
    };
    let at = |n: usize| n as f64 / PIECES as f64;
    (0..=PIECES).map(|n| ((1.0 - share) * at(n) + share * steps(at(n))) as f32).collect()
}

/// Whether two images have the same boundaries, at least one.
fn are_the_same(profiles: [&[ProfileBin]; 2], places: &[Vec<f64>; 2]) -> bool {
    let ([fixed, moving], [of_fixed, of_moving]) = (profiles, places);
    let same = |(a, b): (&f64, &f64)| {
        let carried = [of_rank(moving, rank(fixed, *a)) - b, of_rank(fixed, rank(moving, *b)) - a];
        carried.iter().all(|apart| apart.abs() <= SAME)
    };
    !of_fixed.is_empty() && of_fixed.len() == of_moving.len() && of_fixed.iter().zip(of_moving).all(same)
}

/// The share of the object's voxels that are darker than an intensity.
fn rank(profile: &[ProfileBin], at: f64) -> f64 {
    let position = at * profile.len() as f64;
    let below = |(n, bin): (usize, &ProfileBin)| bin.voxels as f64 * (position - n as f64).clamp(0.0, 1.0);
    let darker: f64 = profile.iter().enumerate().skip(FIRST_OF_OBJECT).map(below).sum();
    darker / object(profile).max(1.0)
}

/// The intensity with a given [`rank`].
fn of_rank(profile: &[ProfileBin], rank: f64) -> f64 {
    let mut darker = rank * object(profile);
    for (n, bin) in profile.iter().enumerate().skip(FIRST_OF_OBJECT) {
        let voxels = bin.voxels as f64;
        if darker <= voxels && bin.voxels > 0 {
            return (n as f64 + darker / voxels) / profile.len() as f64;
        }
        darker -= voxels;
    }
    1.0
}

/// Number of voxels of the object.
fn object(profile: &[ProfileBin]) -> f64 {
    profile.iter().skip(FIRST_OF_OBJECT).map(|bin| bin.voxels as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundaries::tests::profile;

    #[test]
    fn ranks_and_intensities_belong_to_each_other() {
        let mut profile = profile(&[]);
        profile.iter_mut().enumerate().for_each(|(n, bin)| bin.voxels = (n % 7) as u64 * 30);
        for at in [0.1, 0.33, 0.5, 0.98] {
            let found = of_rank(&profile, rank(&profile, at));
            // A bin without voxels has one rank.
            assert!((found - at).abs() <= 1.0 / profile.len() as f64, "{at}: {found}");
        }
        assert_eq!([rank(&profile, 0.0), rank(&profile, 1.0), of_rank(&profile, 1.1)], [0.0, 1.0, 1.0]);
        assert_eq!(rank(&[ProfileBin::default(); 8], 0.5), 0.0);
    }

    #[test]
    fn boundaries_are_the_same_if_as_much_of_the_object_is_darker() {
        let same = |a: &[ProfileBin], b: &[ProfileBin]| {
            let found = curves([a, b], 0.5).is_some();
            assert_eq!(curves([b, a], 0.5).is_some(), found);
            found
        };
        let image = profile(&[(0.3, 0.2), (0.7, 0.2)]);
        assert!(same(&image, &profile(&[(0.34, 0.2), (0.69, 0.1)])));
        for other in [&[(0.3, 0.2)][..], &[(0.3, 0.2), (0.8, 0.2)], &[]] {
            assert!(!same(&image, &profile(other)), "{other:?}");
        }
        assert!(!same(&profile(&[]), &profile(&[])));
        // Half of this object is as bright as can be: the same intensities have lower ranks.
        let mut bright = image.clone();
        bright[127].voxels = 125 * 100;
        assert!(!same(&image, &bright) && same(&bright, &bright));
        // The same object, of which the darker part has half the intensities.
        let other = profile(&[(0.15, 0.2), (0.7, 0.2)]);
        let stretched = |(n, bin): (usize, &ProfileBin)| {
            let voxels = match n {
                0..3 => bin.voxels,
                3..32 => 200,
                32..64 => 60,
                _ => bin.voxels,
            };
            ProfileBin { voxels, ..*bin }
        };
        let other: Vec<_> = other.iter().enumerate().map(stretched).collect();
        assert!(same(&image, &other));
    }

    #[test]
    fn curves_rise_by_equal_steps_at_the_boundaries() {
        let profile = profile(&[(0.3, 0.2), (0.75, 0.1)]);
        let [curve, other] = curves([&profile, &profile], 0.8).expect("boundaries");
        assert_eq!(curve, other);
        let value = |at: f64| f64::from(curve[(at * PIECES as f64).round() as usize]);
        // A fifth of the range is that of the identity; each step has half of the rest.
        for (at, expected) in [(0.0, 0.0), (0.3, 0.26), (0.52, 0.504), (0.75, 0.75), (1.0, 1.0)] {
            assert!((value(at) - expected).abs() < 0.04, "{at}: {}", value(at));
        }
        assert!(curve.is_sorted_by(|a, b| a < b));
        let steepest = curve.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f32::max) * PIECES as f32;
        // Half of 0.8 over four times the scale of the logistic function, and the identity's share.
        assert!((steepest - 4.2).abs() < 0.05, "{steepest}");
    }
}
