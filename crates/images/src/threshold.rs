//! Thresholds of intensities: given, by Otsu's method, by k-means. ANTs' `ThresholdImage`.

use crate::Error;
use crate::histogram::Histogram;
use crate::intensity::mean;

/// Sets the intensities from `low` to `high` to `inside`, all others to `outside`.
pub fn between(voxels: &mut [f32], [low, high]: [f32; 2], [inside, outside]: [f32; 2]) {
    voxels.iter_mut().for_each(|value| *value = if (low..=high).contains(value) { inside } else { outside });
}

/// Sets intensities of at least `factor` times the mean to 1, all others to 0.
pub fn at_mean(voxels: &mut [f32], factor: f32) {
    let threshold = mean(voxels.iter().copied()) * factor;
    // ANTs takes the first intensity as maximum only if it is above −10⁹.
    let most = voxels.iter().copied().fold(-1e9, f32::max);
    between(voxels, [threshold, most], [1.0, 0.0]);
}

/// Number of bins of the histogram for Otsu's method: of a whole image, and of a masked one.
const BINS: [usize; 2] = [128, 200];

/// Divides an image into classes of intensities by `count` thresholds of Otsu's method, and replaces intensities by the
/// numbers of classes.
///
/// Without a mask, classes are counted from 0, and a threshold belongs to the class below. With a mask, only voxels
/// where the mask is 1 are divided, classes are counted from 1, a threshold belongs to the class above, and other voxels
/// become 0.
///
/// # Errors
/// The mask is empty.
pub fn otsu(voxels: &mut [f32], count: usize, mask: Option<&[bool]>) -> Result<(), Error> {
    match mask {
        None => {
            let (least, most) = range(voxels.iter().copied()).ok_or(Error::EmptyRegion)?;
            // ITK widens the range, so that the largest intensity lies in the last bin.
            let margin = (most - least) / BINS[0] as f32 / 100.0;
            let histogram = Histogram::of(voxels, BINS[0], [least.into(), (most + margin).into()]);
            let thresholds = otsu_thresholds(&histogram, count);
            let class = |value: f32| thresholds.partition_point(|threshold| f64::from(value) > *threshold);
            voxels.iter_mut().for_each(|value| *value = class(*value) as f32);
        }
        Some(mask) => {
            let counted: Vec<f32> =
                voxels.iter().zip(mask).filter(|(_, inside)| **inside).map(|(value, _)| *value).collect();
            let (least, most) = range(counted.iter().copied()).ok_or(Error::EmptyRegion)?;
            let histogram = Histogram::of(&counted, BINS[1], [least.into(), most.into()]);
            let thresholds = otsu_thresholds(&histogram, count);
            for (value, inside) in voxels.iter_mut().zip(mask) {
                let class = thresholds.partition_point(|threshold| *value >= *threshold as f32);
                *value = if *inside { class as f32 + 1.0 } else { 0.0 };
            }
        }
    }
    Ok(())
}

fn range(values: impl Iterator<Item = f32> + Clone) -> Option<(f32, f32)> {
    let least = values.clone().reduce(f32::min)?;
    Some((least, values.reduce(f32::max)?))
}

/// The thresholds that make the variance between the classes largest, found by trying all of them: upper limits of
/// bins. Of equally good ones, the first is taken.
fn otsu_thresholds(histogram: &Histogram, count: usize) -> Vec<f64> {
    let bins = histogram.counts.len();
    // Sums over the bins before each bin: of counts, and of counts times intensities.
    let mut sums = vec![[0.0; 2]];
    for (bin, frequency) in histogram.counts.iter().enumerate() {
        let [counts, moments] = sums[bin];
        sums.push([counts + frequency, moments + frequency * histogram.middle(bin)]);
    }
    // The part of the variance between classes of a class that ends after the bin `last` and begins at `first`.
    let part = |first: usize, end: usize| {
        let [counts, moments] = [0, 1].map(|n| sums[end][n] - sums[first][n]);
        if counts > 0.0 { moments * moments / counts } else { 0.0 }
    };
    // The best division of the bins from `first` on, for each number of thresholds, by dynamic programming: the sum of
    // parts is largest when the sums of both sides are.
    let mut best: Vec<Vec<(f64, usize)>> = vec![(0..=bins).map(|first| (part(first, bins), bins)).collect()];
    for thresholds in 1..=count {
        let before = &best[thresholds - 1];
        let of_first = |first: usize| {
            // The last bin never ends a class, as in ITK.
            let ends = first + 1..bins.saturating_sub(thresholds - 1);
            let all = ends.map(|end| (part(first, end) + before[end].0, end));
            all.fold((f64::NEG_INFINITY, bins), |best, next| if next.0 > best.0 { next } else { best })
        };
        best.push((0..=bins).map(of_first).collect());
    }
    let mut first = 0;
    (1..=count)
        .rev()
        .map(|left| {
            first = best[left][first].1.min(bins);
            histogram.upper_limit(first.max(1) - 1)
        })
        .collect()
}

/// Largest number of iterations of k-means.
const ITERATIONS: usize = 200;

/// Divides an image into `classes` classes of intensities by k-means, and replaces intensities by the numbers of their
/// classes, counted from 1 in ascending order of means. Voxels outside the mask become 0. The first means divide the
/// range evenly.
///
/// # Errors
/// The mask is empty.
pub fn k_means(voxels: &mut [f32], classes: usize, mask: Option<&[bool]>) -> Result<(), Error> {
    let is_inside = |voxel: usize| mask.is_none_or(|mask| mask[voxel]);
    let counted = voxels.iter().enumerate().filter(|(voxel, _)| is_inside(*voxel)).map(|(_, value)| *value);
    let means = k_means_from(counted.collect(), classes, None).ok_or(Error::EmptyRegion)?;
    for (voxel, value) in voxels.iter_mut().enumerate() {
        *value = if is_inside(voxel) { nearest(&means, f64::from(*value)) as f32 + 1.0 } else { 0.0 };
    }
    Ok(())
}

/// The means of k-means, in ascending order; `None` without values. The means start from `first`, or else divide the
/// range evenly.
pub fn k_means_from(mut values: Vec<f32>, classes: usize, first: Option<Vec<f64>>) -> Option<Vec<f64>> {
    values.sort_unstable_by(f32::total_cmp);
    let (least, most) = (*values.first()?, *values.last()?);
    let share = |class: usize| (class as f32 + 0.5) / classes as f32;
    let even = || (0..classes).map(|class| f64::from(least + (most - least) * share(class))).collect();
    let mut means: Vec<f64> = first.unwrap_or_else(even);
    means.sort_unstable_by(f64::total_cmp);
    let mut sums = vec![0.0];
    for value in &values {
        sums.push(sums[sums.len() - 1] + f64::from(*value));
    }
    for _ in 0..ITERATIONS {
        // Values between two borders, the middles between adjacent means, belong to a class.
        let borders =
            means.windows(2).map(|pair| values.partition_point(|value| 2.0 * f64::from(*value) <= pair[0] + pair[1]));
        let borders: Vec<usize> = [0].into_iter().chain(borders).chain([values.len()]).collect();
        let moved: Vec<f64> = borders
            .windows(2)
            .zip(&means)
            .map(|(ends, mean)| match ends[1] - ends[0] {
                0 => *mean,
                count => (sums[ends[1]] - sums[ends[0]]) / count as f64,
            })
            .collect();
        if moved == means {
            break;
        }
        means = moved;
    }
    Some(means)
}

/// Number of the mean nearest to a value.
pub fn nearest(means: &[f64], value: f64) -> usize {
    let distance = |class: usize| (means[class] - value).abs();
    (1..means.len()).fold(0, |best, class| if distance(class) < distance(best) { class } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_classes() -> Vec<f32> {
        (0..300).map(|n| [10.0, 50.0, 100.0][n % 3] + (n * 37 % 17) as f32 / 4.0).collect()
    }

    #[test]
    fn classes_that_are_apart_are_found() {
        let class = |n: usize| (n % 3) as f32;
        let mut voxels = three_classes();
        otsu(&mut voxels, 2, None).unwrap();
        assert!(voxels.iter().enumerate().all(|(n, value)| *value == class(n)));
        let (mut voxels, mask) = (three_classes(), (0..300_usize).map(|n| n.is_multiple_of(2)).collect::<Vec<_>>());
        otsu(&mut voxels, 2, Some(&mask)).unwrap();
        let expected = |n: usize| if n.is_multiple_of(2) { class(n) + 1.0 } else { 0.0 };
        assert!(voxels.iter().enumerate().all(|(n, value)| *value == expected(n)));
        let mut voxels = three_classes();
        k_means(&mut voxels, 3, Some(&mask)).unwrap();
        assert!(voxels.iter().enumerate().all(|(n, value)| *value == expected(n)));
        assert_eq!(k_means(&mut voxels, 3, Some(&[false; 300])), Err(Error::EmptyRegion));
    }

    #[test]
    fn thresholds_are_the_best_of_all() {
        let values: Vec<f32> = (0..500).map(|n| ((n * n) % 97) as f32 + (n % 5) as f32 * 20.0).collect();
        let histogram = Histogram::of(&values, 16, [0.0, 177.0]);
        let variance = |ends: [usize; 3]| {
            let limits = [0, ends[0], ends[1], ends[2], 16];
            let parts = limits.windows(2).map(|ends| {
                let counts: f64 = histogram.counts[ends[0]..ends[1]].iter().sum();
                let moment: f64 = (ends[0]..ends[1]).map(|bin| histogram.counts[bin] * histogram.middle(bin)).sum();
                if counts > 0.0 { moment * moment / counts } else { 0.0 }
            });
            parts.sum::<f64>()
        };
        let all = (1..14).flat_map(|a| (a + 1..15).flat_map(move |b| (b + 1..16).map(move |c| [a, b, c])));
        let best = all.max_by(|a, b| variance(*a).total_cmp(&variance(*b))).unwrap();
        assert_eq!(otsu_thresholds(&histogram, 3), best.map(|end| histogram.upper_limit(end - 1)));
    }

    #[test]
    fn the_threshold_at_the_mean_belongs_to_the_bright() {
        let mut voxels = [1.0, 2.0, 3.0];
        at_mean(&mut voxels, 1.0);
        assert_eq!(voxels, [0.0, 1.0, 1.0]);
    }
}
