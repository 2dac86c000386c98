//! Mutual information of two images by the method of Mattes et al. (2003), and its gradient.

use rayon::prelude::*;

use crate::MiParameters;
use crate::cpu::gradient::{Out, Row};
use crate::cpu::image::Image;
use crate::mattes::{Binning, UNIT};

/// Scratch memory of [`Similarity::mi_gradient`](crate::ops::Similarity::mi_gradient).
#[derive(Debug)]
pub struct MiWorkspace {
    pub(in crate::cpu) bins: usize,
    /// Two joint histograms: first the histogram for the moving image's derivative, then that for the
    /// fixed image's derivative. Each has bins² counts in [`UNIT`]s, with a row for each bin of the other image.
    histograms: Vec<u64>,
    /// For each bin pair of both joint histograms, the scaled logarithm of a ratio of probabilities, scale·ln(p(i,
    /// j)/p(j)), where j is the bin of the image of the derivative. Derivatives are computed from these logarithms.
    logarithms: Vec<f32>,
}

impl MiWorkspace {
    pub(in crate::cpu) fn new(bins: usize) -> MiWorkspace {
        MiWorkspace { bins, histograms: vec![0; 2 * bins * bins], logarithms: vec![0.0; 2 * bins * bins] }
    }
}

/// Position of an image value on the axis of bins.
struct Place {
    /// The bin that contains the image value.
    bin: usize,
    /// Position of the image value within its bin, 0…1.
    t: f32,
}

impl Binning {
    #[inline(always)]
    fn place(&self, value: f32) -> Place {
        let s = ((value - self.low) * self.scale).max(0.0).min(self.span);
        let whole = s.min(self.span - 1.0) as i32;
        Place { bin: whole as usize + 2, t: s - whole as f32 }
    }

    /// Whether an image value is inside the range, so that a small change of the value changes its position on the axis
    /// of bins.
    #[inline(always)]
    fn contains(&self, value: f32) -> bool {
        value >= self.low && value <= self.high
    }
}

impl Place {
    /// Cubic B-spline weights of the four bins around the value, in [`UNIT`]s; the first bin is one below the value's
    /// bin.
    #[inline(always)]
    fn weights(&self) -> [u32; 4] {
        const SIXTH: f32 = UNIT as f32 / 6.0;
        let (t, s) = (self.t, 1.0 - self.t);
        let first = (s * s * s * SIXTH + 0.5) as u32;
        let third = ((((3.0 - 3.0 * t) * t + 3.0) * t + 1.0) * SIXTH + 0.5) as u32;
        let fourth = (t * t * t * SIXTH + 0.5) as u32;
        [first, UNIT - first - third - fourth, third, fourth]
    }

    /// Derivative of the spline through a row of logarithms at this position: the sum over the four bins of the
    /// logarithm times the derivative of the bin's B-spline weight.
    #[inline(always)]
    fn slope(&self, logarithms: &[f32]) -> f32 {
        let (t, s) = (self.t, 1.0 - self.t);
        let around = &logarithms[self.bin - 1..][..4];
        let (first, second) = (-0.5 * s * s, 0.5 * t * (3.0 * t - 4.0));
        let (third, fourth) = (0.5 * ((2.0 - 3.0 * t) * t + 1.0), 0.5 * t * t);
        first * around[0] + second * around[1] + third * around[2] + fourth * around[3]
    }
}

/// The operands of mutual information: both images and their masks.
struct Pair<'a> {
    shape: [usize; 3],
    fixed: &'a [f32],
    moving: &'a [f32],
    masks: [Option<&'a [f32]>; 2],
    binnings: [Binning; 2],
    bins: usize,
}

pub(in crate::cpu) fn mi_gradient(
    [fixed, moving]: [&Image; 2],
    masks: [Option<&Image>; 2],
    parameters: &MiParameters,
    workspace: &mut MiWorkspace,
    out: Out<'_>,
) -> f64 {
    let bins = parameters.bins;
    let pair = Pair {
        shape: fixed.shape,
        fixed: &fixed.voxels,
        moving: &moving.voxels,
        masks: masks.map(|mask| mask.map(|mask| &mask.voxels[..])),
        binnings: Binning::of(parameters),
        bins,
    };
    workspace.histograms = pair.histograms();
    let [fixed_binning, moving_binning] = pair.binnings;
    let sides =
        workspace.histograms.chunks_exact(bins * bins).zip(workspace.logarithms.chunks_exact_mut(bins * bins));
    let information: f64 = sides
        .zip([moving_binning.scale, fixed_binning.scale])
        .map(|((histogram, logarithms), scale)| tabulate(histogram, bins, scale, logarithms))
        .sum();
    pair.write(&workspace.logarithms, out);
    -0.5 * information
}

impl Pair<'_> {
    #[inline(always)]
    fn inside(&self, voxel: usize) -> bool {
        self.masks.iter().flatten().all(|mask| mask[voxel] > 0.5)
    }

    #[inline(always)]
    fn places(&self, voxel: usize) -> [Place; 2] {
        [self.binnings[0].place(self.fixed[voxel]), self.binnings[1].place(self.moving[voxel])]
    }

    /// Computes the two joint histograms for mutual information: one for the derivative of the moving image, one for
    /// that of the fixed image.
    fn histograms(&self) -> Vec<u64> {
        let ([nx, ny, nz], bins) = (self.shape, self.bins);
        let empty = || vec![0u64; 2 * bins * bins];
        let counted = (0..nz).into_par_iter().fold(empty, |mut counts, k| {
            let slice = k * nx * ny..(k + 1) * nx * ny;
            for voxel in slice.filter(|voxel| self.inside(*voxel)) {
                let [fixed, moving] = self.places(voxel);
                for (row, place) in [(fixed.bin, &moving), (bins + moving.bin, &fixed)] {
                    let start = row * bins + place.bin - 1;
                    let around = &mut counts[start..start + 4];
                    around.iter_mut().zip(place.weights()).for_each(|(count, weight)| *count += u64::from(weight));
                }
            }
            counts
        });
        counted.reduce(empty, |mut sum, counts| {
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            sum
        })
    }

    /// Computes the derivatives of both images from the logarithms of probabilities in both joint histograms, and writes
    /// the output.
    fn write(&self, logarithms: &[f32], out: Out<'_>) {
        let ([nx, ny, _], bins) = (self.shape, self.bins);
        let [fixed_binning, moving_binning] = self.binnings;
        let rows = out.pieces(nx * ny, nx).into_par_iter().enumerate();
        rows.for_each_init(
            || Row::new(nx),
            |buffer, (row, mut out)| {
                let [for_fixed, for_moving] = &mut buffer.derivatives;
                for (x, voxel) in (row * nx..(row + 1) * nx).enumerate() {
                    (for_fixed[x], for_moving[x]) = (0.0, 0.0);
                    if self.inside(voxel) {
                        let [fixed, moving] = self.places(voxel);
                        if moving_binning.contains(self.moving[voxel]) {
                            for_moving[x] = moving.slope(&logarithms[fixed.bin * bins..]);
                        }
                        if fixed_binning.contains(self.fixed[voxel]) {
                            for_fixed[x] = fixed.slope(&logarithms[(bins + moving.bin) * bins..]);
                        }
                    }
                }
                out.write([self.fixed, self.moving], [row % ny, row / ny], 0..nx, buffer);
            },
        );
    }
}

/// Writes scale·ln(p(i, j)/p(j)) for every pair of a bin j of the image whose derivative is computed and a bin i of the
/// other image. Here p(i, j) is the joint probability of both bins and p(j) that of bin j alone. Writes 0 if no voxel
/// is in both bins. Returns the mutual information.
fn tabulate(histogram: &[u64], bins: usize, scale: f32, logarithms: &mut [f32]) -> f64 {
    let others: Vec<u64> = histogram.chunks_exact(bins).map(|row| row.iter().sum()).collect();
    let own: Vec<u64> = (0..bins).map(|j| histogram.iter().skip(j).step_by(bins).sum()).collect();
    let total: u64 = others.iter().sum();
    let mut information = 0.0;
    for (at, (count, logarithm)) in histogram.iter().zip(logarithms).enumerate() {
        let (i, j) = (at / bins, at % bins);
        *logarithm = 0.0;
        if *count > 0 {
            let given_own = (*count as f64 / own[j] as f64).ln();
            *logarithm = (f64::from(scale) * given_own) as f32;
            information += *count as f64 / total as f64 * (given_own - (others[i] as f64 / total as f64).ln());
        }
    }
    information
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_cubic_b_splines_to_the_nearest_unit() {
        for step in 0..=1000 {
            let t = step as f32 / 1000.0;
            let found = Place { bin: 2, t }.weights();
            let (t, s) = (f64::from(t), 1.0 - f64::from(t));
            let outer = |t: f64| t.powi(3) / 6.0;
            let inner = |t: f64| 2.0 / 3.0 - t * t + t.powi(3) / 2.0;
            let expected = [outer(s), inner(t), inner(s), outer(t)];
            assert_eq!(found.iter().sum::<u32>(), UNIT);
            // The second weight is what the others leave. The tolerance allows for positions in single precision.
            for (n, most) in [0.51, 1.53, 0.51, 0.51].into_iter().enumerate() {
                let exact = f64::from(UNIT) * expected[n];
                assert!((f64::from(found[n]) - exact).abs() < most, "weight {n} at {t}: {} for {exact}", found[n]);
            }
        }
    }
}
