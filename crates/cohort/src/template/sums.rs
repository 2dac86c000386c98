//! Sums over images, voxel by voxel, from which means are computed.

use serde::{Deserialize, Serialize};

/// How the values of several images are averaged at each voxel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Averaging {
    /// Mean of the images' values at each voxel.
    #[default]
    Mean,
    /// Mean without the smallest and the largest value, for at least four images.
    ///
    /// With three images, only the middle value is left. With one or two images, it is the mean of all values.
    Trimmed,
}

/// The sum over several images of the values at each voxel, for one chunk of the images' voxels.
#[derive(Debug)]
pub(super) struct Sums {
    sum: Vec<f64>,
    /// Smallest and largest value of the added images at each voxel, for means that leave out these two values.
    extremes: Option<Vec<[f64; 2]>>,
    images: usize,
}

/// Smallest and largest value of a voxel over the added images, before any image is added.
const NONE: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];

impl Sums {
    /// Makes the sums for the mean of several images of `values` voxels each. No image has been added yet.
    pub(super) fn new(values: usize, averaging: Averaging) -> Sums {
        let extremes = (averaging == Averaging::Trimmed).then(|| vec![NONE; values]);
        Sums { sum: vec![0.0; values], extremes, images: 0 }
    }

    /// Resets the sums of the images to the state before any image was added; from then on, each image has `values`
    /// voxels.
    pub(super) fn clear(&mut self, values: usize) {
        self.sum.clear();
        self.sum.resize(values, 0.0);
        if let Some(extremes) = &mut self.extremes {
            extremes.clear();
            extremes.resize(values, NONE);
        }
        self.images = 0;
    }

    /// Adds the values of an image to the sums, each multiplied by `factor`.
    pub(super) fn add(&mut self, values: &[f32], factor: f64) {
        self.sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * f64::from(*value));
        if let Some(extremes) = &mut self.extremes {
            for ([low, high], value) in extremes.iter_mut().zip(values) {
                let value = factor * f64::from(*value);
                (*low, *high) = (low.min(value), high.max(value));
            }
        }
        self.images += 1;
    }

    /// Computes the mean of the added images at each voxel, multiplies the mean by the factor `unit`, and writes the
    /// product to `mean`.
    pub(super) fn mean(&self, unit: f64, mean: &mut [f32]) {
        match &self.extremes {
            Some(extremes) if self.images > 2 => {
                let factor = unit / (self.images as f64 - 2.0);
                for ((mean, sum), [low, high]) in mean.iter_mut().zip(&self.sum).zip(extremes) {
                    *mean = (factor * (sum - low - high)) as f32;
                }
            }
            _ => {
                let factor = unit / self.images.max(1) as f64;
                mean.iter_mut().zip(&self.sum).for_each(|(mean, sum)| *mean = (factor * sum) as f32);
            }
        }
    }
}
