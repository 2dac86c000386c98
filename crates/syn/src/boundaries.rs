//! The boundaries of tissues, as intensities.
//!
//! At a boundary, voxels hold both tissues in varying shares, and their intensities change from voxel to voxel; inside a
//! tissue they hardly change. So the mean gradient magnitude of the voxels of one intensity has a maximum at each
//! boundary; thresholds have been chosen so (survey: Weszka 1978).

use antsreg_kernels::ProfileBin;

/// Standard deviation of the Gaussian that smooths the mean gradient magnitudes, as a share of the range of
/// intensities.
const SMOOTH: f64 = 3.0 / 128.0;
/// The same for the Gaussian that gives their usual value near an intensity, with which they are compared.
const WIDE: f64 = 28.0 / 128.0;
/// Least share by which the mean gradient magnitude at a boundary exceeds the usual value.
const LEAST_EXCESS: f64 = 0.12;
/// A boundary is a mean of intensities, each with the weight excess^`SHARPNESS`.
const SHARPNESS: i32 = 8;

/// The intensities of the boundaries of an image, ascending, from 0 to 1. `profile` is that of the image
/// ([`gradient_profile`](antsreg_kernels::ops::Intensity::gradient_profile)).
pub(crate) fn boundaries(profile: &[ProfileBin]) -> Vec<f64> {
    let found: Vec<_> = profile.iter().map(|bin| (bin.voxels > 0).then_some(bin.gradient)).collect();
    let magnitudes = smoothed(&found, SMOOTH);
    let usual = smoothed(&magnitudes, WIDE);
    // By which share the mean magnitude of each bin exceeds the usual one.
    let excess = magnitudes.into_iter().zip(usual).map(|pair| match pair {
        (Some(magnitude), Some(usual)) if usual > 0.0 => magnitude / usual - 1.0,
        _ => -1.0,
    });
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
pub(crate) mod tests {
    use antsreg_kernels::{Cpu, PROFILE_BINS};

    use super::*;
    use antsreg_kernels::ops::{Intensity, Memory};

    /// A profile with a maximum of the given height at each given intensity, above a constant, and as many voxels in
    /// each bin.
    pub(crate) fn profile(maxima: &[(f64, f64)]) -> Vec<ProfileBin> {
        let at = |n: usize| (n as f64 + 0.5) / PROFILE_BINS as f64;
        let bump = |n: usize, (place, height): &(f64, f64)| height * (-0.5 * ((at(n) - place) / 0.06).powi(2)).exp();
        let gradient = |n: usize| 0.1 + maxima.iter().map(|maximum| bump(n, maximum)).sum::<f64>();
        (0..PROFILE_BINS).map(|n| ProfileBin { voxels: 100, gradient: gradient(n) }).collect()
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
            let kept = |(n, bin): (usize, &ProfileBin)| if n % 5 < 2 { *bin } else { ProfileBin::default() };
            let sparse = full.iter().enumerate().map(kept).collect();
            for profile in [full, sparse] {
                let found = boundaries(&profile);
                assert!(near(&found, expected, 0.01), "{found:?}, expected {expected:?}");
            }
        }
    }

    #[test]
    fn images_without_maxima_have_no_boundaries() {
        let nothing = vec![ProfileBin::default(); PROFILE_BINS];
        let constant = vec![ProfileBin { voxels: 5, gradient: 0.0 }; PROFILE_BINS];
        for profile in [nothing, constant, profile(&[]), profile(&[(0.5, 0.01)])] {
            assert_eq!(boundaries(&profile), [0.0; 0]);
        }
    }

    #[test]
    fn between_two_tissues_the_boundary_is_half_way() {
        // A ball of 0.9 in a shell of 0.5 in nothing, with borders of a voxel's width.
        let value = |n: usize| {
            let from_middle = [n % 48, n / 48 % 48, n / 2304].map(|index| index as f32 - 23.5);
            let radius = from_middle.iter().map(|mm| mm * mm).sum::<f32>().sqrt();
            let within = |limit: f32| 1.0 / (1.0 + ((radius - limit) / 0.6).exp());
            0.5 * within(20.0) + 0.4 * within(12.0)
        };
        let voxels: Vec<f32> = (0..48 * 48 * 48).map(value).collect();
        let image = Cpu.upload([48; 3], &voxels).expect("an image");
        let found = boundaries(&Cpu.gradient_profile(&image, [1.0; 3]).expect("a profile"));
        assert!(near(&found, &[0.25, 0.7], 0.035), "{found:?}");
    }
}
