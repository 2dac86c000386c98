//! An image resampled on the slices that an HTML report page shows.

use antsreg_core::intensity::quantiles;
use antsreg_core::{TransformChain, Volume};
use antsreg_kernels::apply::{Interpolation, resample};
use rayon::prelude::*;

use crate::views::View;

/// Quantiles of the pixel intensities that are drawn black and white.
const BLACK_WHITE: (f64, f64) = (0.01, 0.995);
/// Number of bins of the histogram of pixel intensities.
const BINS: usize = 64;

/// An image resampled on the slices of each view.
#[derive(Debug, Clone)]
pub struct Slices {
    /// The slices of each view.
    pub views: Vec<Vec<Volume>>,
    /// The intensities that are drawn black and white, in the units of the image.
    pub range: (f32, f32),
}

impl Slices {
    /// Resamples an image on the slices of each view. Each pixel is mapped by a sequence of transforms (`chain`) to a
    /// point of the image.
    pub fn read(image: &Volume, views: &[View], chain: &TransformChain, interpolation: Interpolation) -> Slices {
        let view = |view: &View| {
            let slices = view.slices.par_iter().map(|slice| resample(image, &slice.grid, chain, interpolation, 0.0));
            slices.collect()
        };
        let views: Vec<Vec<Volume>> = views.par_iter().map(view).collect();
        let all: Vec<f32> = views.iter().flatten().flat_map(|slice| slice.voxels.iter().copied()).collect();
        let (low, high) = BLACK_WHITE;
        let range = quantiles(&all, low, high).unwrap_or((0.0, 1.0));
        Slices { views, range }
    }

    /// All slices of all views, one view after another.
    pub fn all(&self) -> impl Iterator<Item = &Volume> {
        self.views.iter().flatten()
    }

    /// Histogram of the pixel intensities between black and white: the share of the pixels in each bin. The last bin
    /// also counts brighter pixels.
    pub fn histogram(&self) -> Vec<f64> {
        let (black, white) = self.range;
        let mut counts = vec![0.0; BINS];
        let width = (white - black).max(f32::MIN_POSITIVE);
        for value in self.all().flat_map(|slice| &slice.voxels).map(|value| (value - black) / width) {
            // Pixels in the bin with the lowest intensities are not counted, because they are mostly background.
            if value > 1.0 / BINS as f32 {
                counts[((value * BINS as f32) as usize).min(BINS - 1)] += 1.0;
            }
        }
        let sum = counts.iter().sum::<f64>().max(1.0);
        counts.iter().map(|count| count / sum).collect()
    }

    /// The intensity threshold that best separates dark and bright pixels (Otsu 1979).
    pub fn threshold(&self) -> f32 {
        let (black, white) = self.range;
        let width = (white - black).max(f32::MIN_POSITIVE);
        let mut counts = [0.0f64; BINS];
        for value in self.all().flat_map(|slice| &slice.voxels) {
            let bin = ((value - black) / width * BINS as f32).clamp(0.0, BINS as f32 - 1.0);
            counts[bin as usize] += 1.0;
        }
        let all: f64 = counts.iter().sum();
        let moment: f64 = counts.iter().enumerate().map(|(bin, count)| bin as f64 * count).sum();
        let (mut below, mut moment_below, mut best) = (0.0, 0.0, (0.0, 0));
        for (bin, count) in counts.iter().enumerate() {
            below += count;
            moment_below += bin as f64 * count;
            let between = (moment_below * all - moment * below).powi(2) / (below * (all - below)).max(1e-9);
            if between > best.0 {
                best = (between, bin);
            }
        }
        black + width * (best.1 + 1) as f32 / BINS as f32
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    fn slices(voxels: Vec<f32>, range: (f32, f32)) -> Slices {
        let grid = Grid::axis_aligned([voxels.len(), 1, 1], [1.0; 3]);
        Slices { views: vec![vec![Volume { grid, voxels }]], range }
    }

    #[test]
    fn the_threshold_splits_dark_from_bright() {
        let mut voxels = vec![5.0; 60];
        voxels.extend([70.0; 25]);
        voxels.extend([90.0; 15]);
        let threshold = slices(voxels, (0.0, 100.0)).threshold();
        assert!((6.0..70.0).contains(&threshold), "{threshold}");
    }

    #[test]
    fn the_histogram_leaves_out_background() {
        let mut voxels = vec![0.0; 90];
        voxels.extend([50.0; 3]);
        voxels.extend([200.0; 1]);
        let histogram = slices(voxels, (0.0, 100.0)).histogram();
        assert_eq!((histogram[BINS / 2], histogram[BINS - 1]), (0.75, 0.25));
    }
}
