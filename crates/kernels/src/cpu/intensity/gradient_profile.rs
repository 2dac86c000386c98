//! The mean gradient magnitude of an image by intensity.

use rayon::prelude::*;

use crate::cpu::gradient::{Gradient, Slopes};
use crate::cpu::image::Image;
use crate::{PROFILE_BINS, ProfileBin, profile};

/// The mean gradient magnitude by intensity, as [`Intensity::gradient_profile`](crate::ops::Intensity::gradient_profile) defines
/// it.
pub(in crate::cpu) fn gradient_profile(image: &Image, spacing: [f64; 3]) -> Vec<ProfileBin> {
    let nx = image.shape[0];
    let gradient = Gradient::per_finest_spacing(image.shape, spacing);
    // For each bin: the number of voxels, and the sum of their magnitudes. The sums are integers, so their order does
    // not matter.
    type Sums = [[u64; 2]; PROFILE_BINS];
    let empty = || ([[0; 2]; PROFILE_BINS], Slopes::new(nx));
    let add_row = |(mut sums, mut slopes): (Sums, Slopes), (row, voxels): (usize, &[f32])| {
        let magnitudes = gradient.magnitudes(&image.voxels, row, &mut slopes);
        for (value, magnitude) in voxels.iter().zip(magnitudes) {
            if value.is_finite() && !magnitude.is_nan() {
                let bin = &mut sums[((value * PROFILE_BINS as f32) as usize).min(PROFILE_BINS - 1)];
                *bin = [bin[0] + 1, bin[1] + (magnitude.min(2.0) * profile::UNIT) as u64];
            }
        }
        (sums, slopes)
    };
    let add = |mut a: Sums, b: Sums| {
        a.as_flattened_mut().iter_mut().zip(b.as_flattened()).for_each(|(a, b)| *a += b);
        a
    };
    let rows = image.voxels.par_chunks(nx).enumerate();
    let sums = rows.fold(empty, add_row).map(|(sums, _)| sums).reduce(|| [[0; 2]; PROFILE_BINS], add);
    profile::bins(sums)
}
