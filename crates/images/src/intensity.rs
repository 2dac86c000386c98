//! Changes of the intensities of an image: ANTs' `ImageMath` and the ITK filters behind it.

use antsreg_core::Volume;

use crate::histogram::Histogram;
use crate::{Error, is_zero};

/// Maps the range of the image linearly to that from `low` to `high`. ITK's `RescaleIntensityImageFilter`.
pub fn rescale(voxels: &mut [f32], low: f32, high: f32) {
    let (least, most) = range(voxels);
    let [low, high] = [low, high].map(f64::from);
    let scale = if least != most {
        (high - low) / (most - least)
    } else if most != 0.0 {
        (high - low) / most
    } else {
        0.0
    };
    let shift = low - least * scale;
    voxels.iter_mut().for_each(|value| *value = (f64::from(*value) * scale + shift).max(low).min(high) as f32);
}

/// Maps intensities from the range `from` linearly to the range `to`, and clips those outside. ITK's
/// `IntensityWindowingImageFilter`.
pub fn window(voxels: &mut [f32], from: [f32; 2], to: [f32; 2]) {
    let ([least, most], [low, high]) = (from.map(f64::from), to.map(f64::from));
    let scale = (high - low) / (most - least);
    let shift = low - least * scale;
    for value in voxels {
        *value = match *value {
            dark if dark < from[0] => to[0],
            bright if bright > from[1] => to[1],
            between => (f64::from(between) * scale + shift).max(low).min(high) as f32,
        };
    }
}

/// Maps the range of the image to that from 0 to 1: the largest intensity counts as at least 0.
pub fn normalise(voxels: &mut [f32]) {
    let least = voxels.iter().copied().fold(1e9, f32::min);
    let most = voxels.iter().copied().fold(0.0, f32::max);
    voxels.iter_mut().for_each(|value| *value = (*value - least) / (most - least));
}

/// Divides the image by its mean over the voxels where `inside` is true.
pub fn divide_by_mean(voxels: &mut [f32], inside: impl Fn(usize) -> bool) {
    let mean = mean(voxels.iter().enumerate().filter(|(voxel, _)| inside(*voxel)).map(|(_, value)| *value));
    voxels.iter_mut().for_each(|value| *value /= mean);
}

/// The mean, summed in single precision in the order of the voxels, as ANTs does: for large images this differs from
/// the exact mean, and thresholds depend on it.
pub fn mean(values: impl Iterator<Item = f32>) -> f32 {
    let (sum, count) = values.fold((0.0f32, 0u64), |(sum, count), value| (sum + value, count + 1));
    sum / count as f32
}

/// Reverses the intensities: the darkest voxel gets the width of the range, the brightest gets 0.
pub fn negate(voxels: &mut [f32]) {
    let (mut least, mut most) = range(voxels);
    if least == most {
        (least, most) = (0.0, 1.0);
    }
    for value in voxels {
        let share = (f64::from(*value) - least) / (most - least);
        *value = ((1.0 - share) * (most - least)) as f32;
    }
}

/// Sets the intensities from `low` to `high` to `value`.
pub fn replace(voxels: &mut [f32], low: f32, high: f32, value: f32) {
    voxels.iter_mut().filter(|voxel| (low..=high).contains(*voxel)).for_each(|voxel| *voxel = value);
}

/// Sets intensities that are NaN or infinite to `value`.
pub fn make_finite(voxels: &mut [f32], value: f32) {
    voxels.iter_mut().filter(|voxel| !voxel.is_finite()).for_each(|voxel| *voxel = value);
}

/// Clips intensities to two quantiles of a histogram with `bins` bins of the positive voxels where `inside` is true.
/// ANTs' `TruncateImageIntensity`.
///
/// # Errors
/// No voxel is positive and inside.
pub fn truncate(
    image: &mut Volume,
    [low, high]: [f32; 2],
    bins: usize,
    inside: impl Fn(usize) -> bool,
) -> Result<(), Error> {
    let voxels = image.voxels.iter().copied().enumerate();
    let counted = voxels.filter(|(voxel, value)| *value > 0.0 && value.is_finite() && inside(*voxel));
    let counted: Vec<f32> = counted.map(|(_, value)| value).collect();
    // ANTs compares a voxel with the maximum only if it is not a new minimum.
    let (mut least, mut most) = (f32::MAX, f32::MIN);
    for value in &counted {
        if *value < least {
            least = *value;
        } else if *value > most {
            most = *value;
        }
    }
    if counted.is_empty() || most < least {
        return Err(Error::EmptyRegion);
    }
    let histogram = Histogram::of(&counted, bins, [least.into(), most.into()]);
    let [low, high] = [low, high].map(|share| histogram.quantile(share.into()) as f32);
    for value in &mut image.voxels {
        if *value < low {
            *value = low;
        }
        if *value > high {
            *value = high;
        }
    }
    Ok(())
}

fn range(voxels: &[f32]) -> (f64, f64) {
    let least = voxels.iter().copied().fold(f32::INFINITY, f32::min);
    (least.into(), voxels.iter().copied().fold(f32::NEG_INFINITY, f32::max).into())
}

/// Whether a voxel of a mask of ANTs is inside: its value is not 0.
pub fn is_inside(mask: &[f32], voxel: usize) -> bool {
    mask.get(voxel).is_some_and(|value| !is_zero(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_mapped_linearly() {
        let mut voxels = [-1.0, 0.0, 3.0];
        rescale(&mut voxels, 10.0, 18.0);
        assert_eq!(voxels, [10.0, 12.0, 18.0]);
        negate(&mut voxels);
        assert_eq!(voxels, [8.0, 6.0, 0.0]);
        window(&mut voxels, [2.0, 7.0], [0.0, 10.0]);
        assert_eq!(voxels, [10.0, 8.0, 0.0]);
        normalise(&mut voxels);
        assert_eq!(voxels, [1.0, 0.8, 0.0]);
        replace(&mut voxels, 0.5, 0.9, f32::NAN);
        make_finite(&mut voxels, 7.0);
        assert_eq!(voxels, [1.0, 7.0, 0.0]);
    }
}
