//! The matrix of the expected errors of the atlases for a patch of the target.

use super::boxes::BoxOfImage;
use crate::fusion::{LANES, Parameters};

/// Absolute differences between the voxel values of a patch of the target and those of the patch of each atlas. Each
/// patch is first normalised to mean 0 and standard deviation 1; a flat patch becomes 0.
#[derive(Debug, Default)]
pub(super) struct Differences {
    target: Vec<f32>,
    values: Vec<f32>,
    /// Number of entries in `values` for each atlas: the voxels of a patch, padded to a multiple of `LANES`.
    length: usize,
    voxels: usize,
}

impl Differences {
    /// Computes the differences between target and atlases for the patch around the voxel `at` of a block. `atlases`
    /// gives the box and the shift of each atlas.
    #[inline(always)]
    pub(super) fn take<'a>(
        &mut self,
        at: [usize; 3],
        width: usize,
        target: &BoxOfImage,
        atlases: impl ExactSizeIterator<Item = (&'a BoxOfImage, [usize; 3])>,
    ) {
        self.voxels = width * width * width;
        self.length = self.voxels.next_multiple_of(LANES);
        self.target.resize(self.voxels, 0.0);
        // The padding after the voxels of each atlas is 0.
        let entries = self.length * atlases.len();
        if self.values.len() != entries {
            self.values.clear();
            self.values.resize(entries, 0.0);
        }
        let (scale, rows) = patch(target, at, width);
        for (out, row) in self.target.chunks_exact_mut(width).zip(rows) {
            out.iter_mut().zip(row).for_each(|(out, value)| *out = scale.apply(*value));
        }
        for (part, (atlas, offset)) in self.values.chunks_exact_mut(self.length).zip(atlases) {
            let (scale, rows) = patch(atlas, std::array::from_fn(|axis| at[axis] + offset[axis]), width);
            for ((out, here), row) in part.chunks_exact_mut(width).zip(self.target.chunks_exact(width)).zip(rows) {
                for ((out, here), there) in out.iter_mut().zip(here).zip(row) {
                    *out = (here - scale.apply(*there)).abs();
                }
            }
        }
    }

    /// Mean over the patch of |T − Fᵢ|·|T − Fⱼ|. T is the normalised patch of the target; Fᵢ and Fⱼ are the normalised
    /// patches of the atlases `first` and `second`.
    #[inline(always)]
    fn product(&self, first: usize, second: usize) -> f64 {
        let part = |atlas: usize| self.values[atlas * self.length..][..self.length].as_chunks::<LANES>().0;
        let mut sums = [0.0f32; LANES];
        for (first, second) in part(first).iter().zip(part(second)) {
            for lane in 0..LANES {
                sums[lane] += first[lane] * second[lane];
            }
        }
        sums.into_iter().map(f64::from).sum::<f64>() / self.voxels as f64
    }

    /// Writes the matrix of the expected joint errors of the atlases, row by row: M(i, j) = (mean of
    /// |T − Fᵢ|·|T − Fⱼ| over the patch)^β, plus α on the diagonal.
    #[inline(always)]
    pub(super) fn errors(&self, matrix: &mut [f64], parameters: &Parameters) {
        let Parameters { alpha, beta, .. } = *parameters;
        let atlases = self.values.len() / self.length;
        for i in 0..atlases {
            for j in 0..=i {
                let mean = self.product(i, j);
                let value = if beta == 2.0 { mean * mean } else { mean.powf(beta) };
                matrix[i * atlases + j] = value;
                matrix[j * atlases + i] = value;
            }
            matrix[i * atlases + i] += alpha;
        }
    }
}

/// Mean and inverse standard deviation of a patch.
#[derive(Clone, Copy)]
struct Normal {
    mean: f32,
    inverse_sd: f32,
}

impl Normal {
    /// Normalises a value of the patch, so that the patch has mean 0 and standard deviation 1.
    #[inline(always)]
    fn apply(self, value: f32) -> f32 {
        (value - self.mean) * self.inverse_sd
    }
}

/// The patch whose first voxel is at `at` in a box: its mean and standard deviation, and its rows of `width` voxels.
#[inline(always)]
fn patch(of: &BoxOfImage, at: [usize; 3], width: usize) -> (Normal, impl Iterator<Item = &[f32]>) {
    let [nx, ny, _] = of.shape;
    let number = (at[2] * of.patches[1] + at[1]) * of.patches[0] + at[0];
    let rows = (0..width * width).map(move |row| {
        let start = ((at[2] + row / width) * ny + at[1] + row % width) * nx + at[0];
        &of.values[start..start + width]
    });
    (Normal { mean: of.mean[number], inverse_sd: of.inverse_sd[number] }, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_powers_of_mean_products() {
        // The differences of three atlases, in patches of 27 voxels and 5 zeros of padding.
        let differences = [[3.0, 0.0, 1.0], [1.0, 2.0, 0.5], [0.25, 6.0, 4.0]];
        let mut values = vec![0.0; 3 * 32];
        for (atlas, some) in differences.iter().enumerate() {
            values[atlas * 32 + 24..][..3].copy_from_slice(some);
        }
        let taken = Differences { target: Vec::new(), values, length: 32, voxels: 27 };
        for beta in [2.0, 1.5] {
            let parameters =
                Parameters { patch_radius: 1, search_radius: 0, alpha: 0.125, beta, not_negative: false };
            let mut matrix = [f64::NAN; 9];
            taken.errors(&mut matrix, &parameters);
            for (at, found) in matrix.iter().enumerate() {
                let (i, j) = (at / 3, at % 3);
                let product: f32 = (0..3).map(|n| differences[i][n] * differences[j][n]).sum();
                let expected = (f64::from(product) / 27.0).powf(beta) + if i == j { 0.125 } else { 0.0 };
                assert!((found - expected).abs() < 1e-14, "row {i}, column {j}: {found} for {expected}");
            }
        }
    }
}
