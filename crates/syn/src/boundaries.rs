//! Boundaries of tissues, as intensities: where an image has such an intensity, it changes most. A curve of intensity that
//! is steep there and flat between gives the boundaries more contrast, and the noise inside a tissue less.
//!
//! At a boundary, voxels hold both tissues in varying shares, and their intensities change from voxel to voxel; inside a
//! tissue they hardly change. So the mean gradient magnitude of the voxels of one intensity has a maximum at each
//! boundary (Weszka and Rosenfeld 1979 choose a threshold by such a maximum).

/// Standard deviation of the Gaussian that smooths the mean gradient magnitudes, as a share of the range of
/// intensities.
const SMOOTH: f64 = 3.0 / 128.0;
/// The same for the Gaussian that gives their usual value near an intensity, with which they are compared.
const WIDE: f64 = 28.0 / 128.0;
/// Least share by which the mean gradient magnitude at a boundary exceeds the usual value.
const LEAST_EXCESS: f64 = 0.1;
/// A boundary is a mean of intensities, each with the weight excess^`SHARPNESS`.
const SHARPNESS: i32 = 8;
/// Width of the step of the curve at a boundary: scale of the logistic function, as a share of the range.
const STEP: f64 = 0.025;
/// Number of linear pieces of the curve.
const PIECES: usize = 1024;

/// The curve, as [`map_intensities`](antsreg_kernels::Backend::map_intensities) takes it: a mixture of the identity and,
/// with the weight `share`, of steps of equal height, one at each boundary. `None` if there is no boundary. `profile` has
/// the mean gradient magnitudes of equal bins of intensity from 0 to 1
/// ([`gradient_profile`](antsreg_kernels::Backend::gradient_profile)).
pub(crate) fn curve(profile: &[Option<f64>], share: f64) -> Option<Vec<f32>> {
    let boundaries = boundaries(profile);
    if boundaries.is_empty() {
        return None;
    }
    let steps = |at: f64| {
        let step = |boundary: &f64| 1.0 / (1.0 + ((boundary - at) / STEP).exp());
        boundaries.iter().map(step).sum::<f64>() / boundaries.len() as f64
    };
    let at = |n: usize| n as f64 / PIECES as f64;
    Some((0..=PIECES).map(|n| ((1.0 - share) * at(n) + share * steps(at(n))) as f32).collect())
}

/// The intensities of boundaries, ascending.
fn boundaries(profile: &[Option<f64>]) -> Vec<f64> {
    let magnitudes = smoothed(profile, SMOOTH);
    let usual = smoothed(&magnitudes, WIDE);
    // By which share the mean magnitude of each bin exceeds the usual one.
    let excess: Vec<f64> = magnitudes
        .into_iter()
        .zip(usual)
        .map(|pair| match pair {
            (Some(magnitude), Some(usual)) if usual > 0.0 => magnitude / usual - 1.0,
            _ => -1.0,
        })
        .collect();
    let centres = (0..profile.len()).map(|n| (n as f64 + 0.5) / profile.len() as f64);
    let bins: Vec<(f64, f64)> = centres.zip(excess).collect();
    let runs = bins.chunk_by(|a, b| (a.1 > 0.0) == (b.1 > 0.0));
    let runs = runs.filter(|run| run.iter().any(|(_, excess)| *excess > LEAST_EXCESS));
    runs.map(|run| {
        let [places, weights] = run.iter().fold([0.0; 2], |[places, weights], (centre, excess)| {
            let weight = excess.powi(SHARPNESS);
            [places + centre * weight, weights + weight]
        });
        places / weights
    })
    .collect()
}

/// Smooths numbers by a Gaussian with the standard deviation `share` of their range; at both ends the numbers are
/// mirrored. Missing numbers have no weight; `None` where all are missing.
fn smoothed(values: &[Option<f64>], share: f64) -> Vec<Option<f64>> {
    let (count, sigma) = (values.len() as i64, share * values.len() as f64);
    let reach = (4.0 * sigma) as i64;
    let weights: Vec<f64> = (-reach..=reach).map(|d| (-0.5 * (d as f64 / sigma).powi(2)).exp()).collect();
    // Twice as many numbers, of which the second half is the mirror image of the first, repeat without end.
    let mirrored = |n: i64| {
        let n = n.rem_euclid(2 * count);
        values[n.min(2 * count - 1 - n) as usize]
    };
    let at = |n: i64| {
        let near = (-reach..=reach).zip(&weights).filter_map(|(d, weight)| Some((mirrored(n + d)?, weight)));
        let [sum, all] = near.fold([0.0; 2], |[sum, all], (value, weight)| [sum + weight * value, all + weight]);
        (all > 0.0).then(|| sum / all)
    };
    (0..count).map(at).collect()
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::{Backend, Cpu};

    use super::*;

    const BINS: usize = 128;

    /// A profile with a maximum of the given height at each given intensity, above a constant.
    fn profile(maxima: &[(f64, f64)]) -> Vec<Option<f64>> {
        let at = |n: usize| (n as f64 + 0.5) / BINS as f64;
        let bump = |n: usize, (place, height): &(f64, f64)| height * (-0.5 * ((at(n) - place) / 0.06).powi(2)).exp();
        (0..BINS).map(|n| Some(0.1 + maxima.iter().map(|maximum| bump(n, maximum)).sum::<f64>())).collect()
    }

    fn near(found: &[f64], expected: &[f64], tolerance: f64) -> bool {
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < tolerance)
    }

    #[test]
    fn boundaries_are_at_the_maxima_whatever_their_height() {
        for (maxima, expected) in [
            (&[(0.3, 0.2), (0.75, 0.1)][..], &[0.3, 0.75][..]),
            (&[(0.3, 0.1), (0.75, 0.2)], &[0.3, 0.75]),
            (&[(0.55, 0.1)], &[0.55]),
        ] {
            let full = profile(maxima);
            // An image with few different intensities has bins without voxels.
            let sparse: Vec<_> = full.iter().enumerate().map(|(n, mean)| mean.filter(|_| n % 5 < 2)).collect();
            for profile in [full, sparse] {
                let found = boundaries(&profile);
                assert!(near(&found, expected, 0.01), "{found:?}, expected {expected:?}");
            }
        }
    }

    #[test]
    fn an_image_without_boundaries_keeps_its_intensities() {
        for profile in [vec![None; BINS], vec![Some(0.0); BINS], vec![Some(0.2); BINS], profile(&[(0.5, 0.005)])] {
            assert_eq!(curve(&profile, 0.5), None);
        }
    }

    #[test]
    fn the_curve_rises_by_equal_steps_at_the_boundaries() {
        let profile = profile(&[(0.3, 0.2), (0.75, 0.1)]);
        let curve = curve(&profile, 0.8).expect("boundaries");
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

    #[test]
    fn between_two_tissues_the_boundary_is_half_way() {
        // A ball of 0.9 in a shell of 0.5 in nothing, with borders of a voxel's width.
        let shape = [48; 3];
        let value = |n: usize| {
            let from_middle = [n % 48, n / 48 % 48, n / 2304].map(|index| index as f32 - 23.5);
            let radius = from_middle.iter().map(|mm| mm * mm).sum::<f32>().sqrt();
            let within = |limit: f32| 1.0 / (1.0 + ((radius - limit) / 0.6).exp());
            0.5 * within(20.0) + 0.4 * within(12.0)
        };
        let voxels: Vec<f32> = (0..48 * 48 * 48).map(value).collect();
        let image = Cpu.upload(shape, &voxels).expect("an image");
        let found = boundaries(&Cpu.gradient_profile(&image, [1.0; 3]).expect("a profile"));
        assert!(near(&found, &[0.25, 0.7], 0.03), "{found:?}");
    }
}
