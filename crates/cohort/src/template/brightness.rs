//! Mean brightness of an image, used to bring images of several scanners to one scale, and the threshold of its
//! foreground.

use antsreg_core::Volume;
use antsreg_core::intensity::quantiles;
use antsreg_kernels::{Backend, Error};
use rayon::prelude::*;

use super::means::PIECE;

/// The foreground threshold of an image is the low quantile of its intensities plus this share of the range from the
/// low to the high quantile.
const SHARE: f64 = 0.1;
const LOW: f64 = 0.02;
const HIGH: f64 = 0.98;

/// Mean brightness and foreground threshold of an image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Brightness {
    /// Mean of the voxels above zero; 0 if no voxel is above zero.
    pub mean: f64,
    /// Foreground threshold: the low quantile plus a tenth of the range between the low and the high quantile. Brighter
    /// voxels are foreground.
    pub foreground: f32,
}

impl Brightness {
    /// Computes the mean brightness and the foreground threshold of an image.
    pub fn of(image: &Volume) -> Brightness {
        let (mean, foreground) = rayon::join(|| mean(&image.voxels), || foreground_in(image));
        Brightness { mean, foreground }
    }

    /// Computes the mean brightness of an image whose foreground threshold is already known.
    pub fn with(image: &Volume, foreground: f32) -> Brightness {
        Brightness { mean: mean(&image.voxels), foreground }
    }
}

/// Computes the foreground threshold of an image on a device; the result equals [`Brightness::foreground`].
pub fn foreground_on<B: Backend>(backend: &B, image: &B::Image) -> Result<f32, Error> {
    Ok(threshold(backend.quantiles(image, LOW, HIGH)?.low_high))
}

/// The foreground threshold, from the low and the high quantile of the intensities.
fn threshold(low_high: Option<(f32, f32)>) -> f32 {
    low_high.map_or(f32::INFINITY, |(low, high)| low + SHARE as f32 * (high - low))
}

/// Foreground threshold of an image: voxels brighter than this are foreground.
pub fn foreground_in(image: &Volume) -> f32 {
    threshold(quantiles(&image.voxels, LOW, HIGH))
}

fn mean(voxels: &[f32]) -> f64 {
    // The voxels are summed in chunks in parallel, and the chunks are added in order. So the sum does not depend on the
    // number of threads.
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
    use antsreg_kernels::Cpu;
    use antsreg_kernels::ops::Memory;

    use super::*;

    #[test]
    fn the_mean_is_of_what_is_above_zero() {
        let of = |voxels: &[f32]| {
            let grid = Grid::axis_aligned([voxels.len(), 1, 1], [1.0; 3]);
            Brightness::of(&Volume { grid, voxels: voxels.to_vec() })
        };
        assert_eq!(of(&[0.0, 1.0, 3.0, -1.0, f32::NAN]).mean, 2.0);
        assert_eq!(of(&[0.0, -1.0]).mean, 0.0);
        // The test image has the values 0 to 99, and 1000 as an outlier, which the upper quantile ignores.
        let ramp: Vec<f32> = (0..101).map(|n| if n == 100 { 1000.0 } else { n as f32 }).collect();
        let found = of(&ramp).foreground;
        assert!((found - (2.0 + 9.6)).abs() < 1e-5);
        let on_device = Cpu.upload([101, 1, 1], &ramp).expect("it fits");
        assert_eq!(foreground_on(&Cpu, &on_device).expect("quantiles"), found);
    }
}
