//! Weights of the atlases for a patch of the target image, in joint label fusion.

use nalgebra::{DMatrix, DVector};

use super::block::{BLOCK, Patches, Region};

/// Number of partial sums that are computed in parallel (SIMD lanes).
const LANES: usize = 8;

/// A box of the target image or of an atlas image, with the mean and the standard deviation of all patches in the box.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    /// Intensities of a block of voxels and of a margin around this block.
    pub(super) region: &'a Region,
    /// Mean and inverse standard deviation of the patches in the box.
    pub(super) patches: &'a Patches,
}

impl<'a> From<&'a (Region, Patches)> for View<'a> {
    fn from((region, patches): &'a (Region, Patches)) -> View<'a> {
        View { region, patches }
    }
}

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
    /// gives the region and the shift of each atlas.
    #[inline(always)]
    pub(super) fn take<'a>(
        &mut self,
        at: [usize; 3],
        width: usize,
        target: View,
        atlases: impl ExactSizeIterator<Item = (View<'a>, [usize; 3])>,
    ) {
        self.voxels = width * width * width;
        self.length = self.voxels.next_multiple_of(LANES);
        self.target.resize(self.length, 0.0);
        self.values.clear();
        // All values are set to 0 before the differences are written. So the padding after the voxels of each atlas is
        // 0.
        self.values.resize(self.length * atlases.len(), 0.0);
        let normalised = patch(target, at, width);
        normalised.enumerate().for_each(|(n, value)| self.target[n] = value);
        for (part, (view, offset)) in self.values.chunks_exact_mut(self.length).zip(atlases) {
            let there = patch(view, std::array::from_fn(|axis| at[axis] + offset[axis]), width);
            for ((difference, here), there) in part.iter_mut().zip(&self.target).zip(there) {
                *difference = (here - there).abs();
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

    /// The matrix of the expected joint errors of the atlases: M(i, j) = (mean of |T − Fᵢ|·|T − Fⱼ| over the patch)^β,
    /// plus α on the diagonal. T is the target's patch and Fᵢ the patch of atlas i.
    #[inline(always)]
    pub(super) fn errors(&self, atlases: usize, alpha: f64, beta: f64) -> DMatrix<f64> {
        let mut matrix = DMatrix::zeros(atlases, atlases);
        for i in 0..atlases {
            for j in 0..=i {
                let mean = self.product(i, j);
                let value = if beta == 2.0 { mean * mean } else { mean.powf(beta) };
                matrix[(i, j)] = value;
                matrix[(j, i)] = value;
            }
            matrix[(i, i)] += alpha;
        }
        matrix
    }
}

/// The intensities of the patch whose first voxel is `at` in the region, normalised to mean 0 and standard deviation 1.
#[inline(always)]
fn patch(view: View<'_>, at: [usize; 3], width: usize) -> impl Iterator<Item = f32> {
    let View { region, patches } = view;
    let [nx, ny, _] = region.shape;
    let measure = (at[2] * patches.shape[1] + at[1]) * patches.shape[0] + at[0];
    let (mean, inverse_sd) = (patches.mean[measure], patches.inverse_sd[measure]);
    (0..width * width).flat_map(move |row| {
        let start = ((at[2] + row / width) * ny + at[1] + row % width) * nx + at[0];
        region.values[start..start + width].iter().map(move |value| (value - mean) * inverse_sd)
    })
}

/// Whether negative weights of atlases are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Negative weights are kept, as in the formula of joint label fusion.
    Any,
    /// Negative weights are set to 0 before the weights are scaled to a sum of 1.
    NotNegative,
}

/// The weights w with sum 1 that minimise the expected error wᵀMw: w = M⁻¹1 / 1ᵀM⁻¹1. If M has no inverse, the weights
/// are equal.
pub(super) fn solve(errors: DMatrix<f64>, sign: Sign) -> DVector<f64> {
    let atlases = errors.nrows();
    let ones = DVector::from_element(atlases, 1.0);
    let solved = match errors.clone().cholesky() {
        Some(factor) => Some(factor.solve(&ones)),
        // If the exponent β is not an integer, the matrix M of expected errors may not be positive definite.
        None => errors.lu().solve(&ones),
    };
    let equal = || DVector::from_element(atlases, 1.0 / atlases as f64);
    solved.map_or_else(equal, |mut solved| {
        if sign == Sign::NotNegative {
            solved.iter_mut().for_each(|weight| *weight = weight.max(0.0));
        }
        let sum = solved.sum();
        let weights = solved / sum;
        if weights.iter().all(|weight| weight.is_finite()) { weights } else { equal() }
    })
}

/// Position, within its block of voxels, of the voxel with this number; the first axis runs fastest.
pub(super) fn place(number: usize) -> [usize; 3] {
    [number % BLOCK[0], number / BLOCK[0] % BLOCK[1], number / (BLOCK[0] * BLOCK[1])]
}
