//! How bright an image is: the unit in which images of several scanners agree, and what of it is foreground.

use antsreg_core::Volume;
use antsreg_core::intensity::quantiles;
use rayon::prelude::*;

use super::means::PIECE;

/// Voxels brighter than this share of the way from the 2nd to the 98th percentile of the voxels are foreground.
const SHARE: f64 = 0.1;

/// How bright an image is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Brightness {
    /// Mean of the voxels above zero, 0 if there are none.
    pub mean: f64,
    /// A tenth of the range, outliers apart: what is brighter is foreground.
    pub foreground: f32,
}

impl Brightness {
    /// Of an image.
    pub fn of(image: &Volume) -> Brightness {
        let (mean, foreground) = rayon::join(|| mean(&image.voxels), || threshold(&image.voxels));
        Brightness { mean, foreground }
    }
}

/// What is brighter is foreground.
pub(super) fn threshold(voxels: &[f32]) -> f32 {
    quantiles(voxels, 0.02, 0.98).map_or(f32::INFINITY, |(low, high)| low + SHARE as f32 * (high - low))
}

fn mean(voxels: &[f32]) -> f64 {
    // Summed a piece at a time and the pieces in order, whatever the number of threads.
    let of_piece = |piece: &[f32]| {
        let positive = piece.iter().filter(|value| **value > 0.0 && value.is_finite());
        positive.fold((0.0, 0), |(sum, count), value| (sum + f64::from(*value), count + 1))
    };
    let pieces: Vec<(f64, usize)> = voxels.par_chunks(PIECE).map(of_piece).collect();
    let (sum, count) = pieces.iter().fold((0.0, 0), |(sum, count), piece| (sum + piece.0, count + piece.1));
    if count == 0 { 0.0 } else { sum / count as f64 }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    #[test]
    fn the_mean_is_of_what_is_above_zero() {
        let of = |voxels: &[f32]| {
            let grid = Grid::axis_aligned([voxels.len(), 1, 1], [1.0; 3]);
            Brightness::of(&Volume { grid, voxels: voxels.to_vec() })
        };
        assert_eq!(of(&[0.0, 1.0, 3.0, -1.0, f32::NAN]).mean, 2.0);
        assert_eq!(of(&[0.0, -1.0]).mean, 0.0);
        // From 0 to the value that a fiftieth lies above: 1000 alone is an outlier.
        let ramp: Vec<f32> = (0..101).map(|n| if n == 100 { 1000.0 } else { n as f32 }).collect();
        assert!((of(&ramp).foreground - (2.0 + 9.6)).abs() < 1e-5);
    }
}
