//! Measures how much the intensities of a corrected series change from one volume to the next.

use antsreg_core::Volume;
use antsreg_core::intensity;
use antsreg_report::robust::median;
use rayon::prelude::*;

/// A voxel belongs to the head if its intensity in the reference exceeds p₂ + s·(p₉₈ − p₂). Here s is this share, and
/// p₂ and p₉₈ are the 2nd and the 98th percentile of the reference's intensities.
const HEAD: f32 = 0.2;
/// Largest number of voxels whose intensities over time are stored, to estimate the noise for DVARS.
const MOST_COURSES: usize = 20_000;
/// Largest number of intensities that are stored to estimate the noise for DVARS, all voxels and volumes together.
const MOST_VALUES: usize = 1 << 24;
/// Largest number of voxels of which volumes are correlated with each other.
const MOST_COMPARED: usize = 2000;
/// Each volume is correlated with this many volumes near it in time, and as many over the whole series.
const MOST_NEIGHBOURS: usize = 32;
/// A volume resembles no other if all its correlations are below this, and below half of those of other volumes. Measured
/// on made series of four images (EPI, FLAIR) with a ratio of signal to noise from 50 to 2: 0.41 to 1.0; volumes of noise
/// at most 0.1, turned by 180° at most 0.29.
const LEAST_LIKENESS: f64 = 0.35;
/// Number of voxels whose values one thread sums at a time.
const PIECE: usize = 1 << 14;

/// DVARS of a series (Power et al. 2012): the root of the mean squared change of the head's voxels from volume to
/// volume. Standardised DVARS is the ratio to the value expected for a series that only has noise (Nichols 2013,
/// "Notes on creating a standardized version of DVARS").
pub(super) struct Quality {
    /// Indices of the voxels of the head.
    head: Vec<usize>,
    /// Intensities of the head's voxels in the previous volume, from which the next volume's DVARS is computed.
    before: Option<Vec<f32>>,
    /// Of the head's voxels, every nth voxel has its intensities over time stored. This is n: 1 stores all voxels.
    every: usize,
    /// Stored intensities of some voxels of the head (every nth voxel), volume after volume, to estimate the noise.
    courses: Vec<f32>,
    /// DVARS (root mean squared change of the head's intensities since the previous volume) of each volume except the
    /// first.
    dvars: Vec<f64>,
}

impl Quality {
    /// Starts measuring DVARS of a corrected series of `volumes` volumes, all on the grid of `reference`.
    pub fn new(reference: &Volume, volumes: usize) -> Quality {
        let (low, high) = intensity::quantiles(&reference.voxels, 0.02, 0.98).unwrap_or((0.0, 0.0));
        let threshold = low + HEAD * (high - low);
        let head: Vec<usize> = (0..reference.voxels.len()).filter(|n| reference.voxels[*n] > threshold).collect();
        let most = MOST_COURSES.min(MOST_VALUES / volumes.max(1)).max(1);
        let every = head.len().div_ceil(most).max(1);
        Quality { head, before: None, every, courses: Vec::new(), dvars: Vec::new() }
    }

    /// Adds the next corrected volume of the series to the measurement of DVARS.
    pub fn add(&mut self, volume: &Volume) {
        let values: Vec<f32> = self.head.par_iter().with_min_len(PIECE).map(|n| volume.voxels[*n]).collect();
        if let Some(before) = &self.before {
            let changes = values.par_chunks(PIECE).zip(before.par_chunks(PIECE)).map(|(now, before)| {
                now.iter().zip(before).map(|(now, before)| f64::from(now - before).powi(2)).sum::<f64>()
            });
            // The partial sums of the squared changes of intensity are added in the order of the voxels, so that the
            // result does not depend on the number of threads.
            let sum: f64 = changes.collect::<Vec<f64>>().iter().sum();
            self.dvars.push((sum / values.len().max(1) as f64).sqrt());
        }
        self.courses.extend(values.iter().step_by(self.every));
        self.before = Some(values);
    }

    /// The intensities of some voxels of the head over time: a row for each voxel, in the order of the voxels.
    pub fn courses(&self) -> Vec<Vec<f32>> {
        /// Number of voxels whose intensities over time are copied together, because in each volume their values lie
        /// next to each other in memory.
        const TOGETHER: usize = 64;
        let kept = self.head.len().div_ceil(self.every);
        let mut courses: Vec<Vec<f32>> = vec![Vec::new(); kept];
        courses.par_chunks_mut(TOGETHER).enumerate().for_each(|(chunk, courses)| {
            for volume in self.courses.chunks_exact(kept) {
                courses.iter_mut().zip(&volume[chunk * TOGETHER..]).for_each(|(course, value)| course.push(*value));
            }
        });
        courses
    }

    /// DVARS and standardised DVARS of each volume; `None` for the first volume. `courses` holds the intensities of
    /// voxels over time, as [`Quality::courses`] returns them.
    pub fn finish(&self, courses: &[Vec<f32>]) -> Vec<Option<[f64; 2]>> {
        let expected = expected_change(courses);
        let standard = |dvars: f64| if expected > 0.0 { dvars / expected } else { 0.0 };
        std::iter::once(None).chain(self.dvars.iter().map(|dvars| Some([*dvars, standard(*dvars)]))).collect()
    }
}

/// The volumes that resemble no other volume of a corrected series, with the largest correlation of the head's intensities
/// with another volume: noise, for instance, or a volume that was stored upside down. `courses` holds the intensities of
/// voxels over time, as [`Quality::courses`] returns them.
pub(super) fn unlike(courses: &[Vec<f32>]) -> Vec<(usize, f64)> {
    let volumes = courses.first().map_or(0, Vec::len);
    let step = courses.len().div_ceil(MOST_COMPARED).max(1);
    let standard = |t: usize| {
        let values = || courses.iter().step_by(step).map(move |course| f64::from(course[t]));
        let count = values().count().max(1) as f64;
        let mean = values().sum::<f64>() / count;
        let norm = values().map(|value| (value - mean).powi(2)).sum::<f64>().sqrt();
        values().map(|value| if norm > 0.0 { ((value - mean) / norm) as f32 } else { 0.0 }).collect::<Vec<f32>>()
    };
    let standard: Vec<Vec<f32>> = (0..volumes).into_par_iter().map(standard).collect();
    let correlation = |a: usize, b: usize| {
        standard[a].iter().zip(&standard[b]).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>()
    };
    let spread = volumes.div_ceil(MOST_NEIGHBOURS).max(1);
    let best = |t: usize| {
        let near = t.saturating_sub(MOST_NEIGHBOURS / 2)..volumes.min(t + MOST_NEIGHBOURS / 2 + 1);
        let others = near.chain((0..volumes).step_by(spread)).filter(|other| *other != t);
        others.map(|other| correlation(t, other)).fold(f64::NEG_INFINITY, f64::max)
    };
    let best: Vec<f64> = (0..volumes).into_par_iter().map(best).collect();
    let usual = median(best.clone());
    let is_unlike = |(_, best): &(usize, f64)| *best < LEAST_LIKENESS && *best < 0.5 * usual;
    best.into_iter().enumerate().filter(is_unlike).collect()
}

/// Change from volume to volume that is expected of noise alone, as a mean over the voxels. For each voxel: the
/// standard deviation of the change, computed from the robust standard deviation and the lag-one autocorrelation of
/// the voxel.
fn expected_change(courses: &[Vec<f32>]) -> f64 {
    let of_voxel = |course: &Vec<f32>| {
        let course: Vec<f64> = course.iter().copied().map(f64::from).collect();
        robust_deviation(&course) * (2.0 * (1.0 - lag_one_correlation(&course))).max(0.0).sqrt()
    };
    let changes: Vec<f64> = courses.par_iter().map(of_voxel).collect();
    changes.iter().sum::<f64>() / courses.len().max(1) as f64
}

/// Robust standard deviation: the interquartile range divided by the interquartile range of a standard normal
/// distribution.
fn robust_deviation(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len() as f64 - 1.0;
    let [lower, upper] = [(0.25 * last).floor(), (0.75 * last).ceil()].map(|place| sorted[place as usize]);
    (upper - lower) / 1.349
}

/// Lag-one autocorrelation of a voxel's intensities over time; 0 if they are constant.
fn lag_one_correlation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let common: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if square > 0.0 { common / square } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    #[test]
    fn volumes_of_noise_and_turned_volumes_resemble_no_other() {
        let mut state = 5u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f32 / (1u64 << 24) as f32
        };
        let anatomy: Vec<f32> = (0..3000).map(|_| uniform()).collect();
        let mut course = |n: usize| {
            let value = |t| match t {
                3 => uniform(),
                6 => anatomy[2999 - n],
                _ => anatomy[n] + 0.3 * uniform(),
            };
            (0..9).map(value).collect::<Vec<f32>>()
        };
        let courses: Vec<Vec<f32>> = (0..3000).map(&mut course).collect();
        let found: Vec<usize> = unlike(&courses).into_iter().map(|(n, _)| n).collect();
        assert_eq!(found, [3, 6]);
        assert!(unlike(&[]).is_empty());
    }

    #[test]
    fn changes_are_told_and_noise_is_one() {
        let grid = Grid::axis_aligned([20, 20, 20], [1.0; 3]);
        let mut state = 7u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f32 / (1u64 << 24) as f32
        };
        let head = |n: usize| n % 20 >= 5;
        let reference =
            Volume { voxels: (0..8000).map(|n| if head(n) { 100.0 } else { 0.0 }).collect(), grid: grid.clone() };
        let mut quality = Quality::new(&reference, 60);
        for t in 0..60 {
            let jump = if t == 30 { 20.0 } else { 0.0 };
            let voxels = (0..8000)
                .map(|n| {
                    let normal = (0..12).map(|_| uniform()).sum::<f32>() - 6.0;
                    if head(n) { 100.0 + jump + normal } else { 0.0 }
                })
                .collect();
            quality.add(&Volume { grid: grid.clone(), voxels });
        }
        let found = quality.finish(&quality.courses());
        assert_eq!(found.len(), 60);
        assert_eq!(found[0], None);
        let [dvars, standard] = found[10].unwrap();
        // The noises of two volumes are independent, each with standard deviation 1.
        assert!((dvars - 2f64.sqrt()).abs() < 0.05 && (standard - 1.0).abs() < 0.1, "{dvars}, {standard}");
        let [jumped, _] = found[30].unwrap();
        assert!((jumped - (400.0f64 + 2.0).sqrt()).abs() < 0.2, "{jumped}");
    }
}
