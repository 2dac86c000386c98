//! Arithmetic of two images, or of an image and a number, voxel by voxel: the operations of ANTs' `ImageMath`.

use crate::is_zero;

/// An operation on two numbers for each voxel: a of the first image and b of the second image, or a number b.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// a · b
    Multiply,
    /// a + b
    Add,
    /// a − b
    Subtract,
    /// a / b where b > 0. Elsewhere the value of the voxel before in memory is kept (0 at the start), as in ANTs.
    Divide,
    /// a to the power of b
    Power,
    /// e to the power of a · b
    Exponential,
    /// The larger of a and b
    Maximum,
    /// |a|
    Absolute,
    /// a + b where a is 0, else a
    AddToZero,
    /// b where b is not 0, else a
    Over,
    /// 1 / (1 + e^(−(a − ¼) / b))
    Decision,
    /// The sum of a · b over all voxels up to this one
    Total,
}

impl Arithmetic {
    /// Replaces each voxel of the first image by the result of the operation. `second` returns the second number of
    /// the voxel of an index. Computations are in single precision.
    pub fn apply(self, first: &mut [f32], second: impl Fn(usize) -> f32) {
        let mut before = 0.0;
        for (index, voxel) in first.iter_mut().enumerate() {
            before = self.of(*voxel, second(index), before);
            *voxel = before;
        }
    }

    /// The result of the operation for a voxel; `before` is the result of the voxel before.
    fn of(self, a: f32, b: f32, before: f32) -> f32 {
        match self {
            Arithmetic::Multiply => a * b,
            Arithmetic::Add => a + b,
            Arithmetic::Subtract => a - b,
            Arithmetic::Divide if b > 0.0 => a / b,
            Arithmetic::Divide => before,
            Arithmetic::Power => a.powf(b),
            Arithmetic::Exponential => f64::from(a * b).exp() as f32,
            Arithmetic::Maximum if a < b => b,
            Arithmetic::Maximum => a,
            Arithmetic::Absolute => a.abs(),
            Arithmetic::AddToZero if is_zero(a) => a + b,
            Arithmetic::AddToZero => a,
            Arithmetic::Over if is_zero(b) => a,
            Arithmetic::Over => b,
            Arithmetic::Decision => 1.0 / (1.0 + f64::from(-(a - 0.25) / b).exp() as f32),
            Arithmetic::Total => before + a * b,
        }
    }
}

/// The weights of voxels of one tissue alone: Σᵢ pᵢ·Πⱼ≠ᵢ(1 − pⱼ), where pᵢ are the probabilities of the tissues. All
/// maps have the same number of voxels.
pub fn pure_tissue_weights(probabilities: &[&[f32]]) -> Vec<f32> {
    let voxels = probabilities.iter().map(|map| map.len()).min().unwrap_or(0);
    let weight = |voxel: usize| {
        let others = |own: usize| {
            let others = probabilities.iter().enumerate().filter(|(other, _)| *other != own);
            others.fold(1.0, |product, (_, map)| product * (1.0 - map[voxel]))
        };
        probabilities.iter().enumerate().fold(0.0, |sum, (own, map)| sum + others(own) * map[voxel])
    };
    (0..voxels).map(weight).collect()
}

/// The Pearson correlation of two images over the voxels where `inside` is true, by the sums of ANTs, in single
/// precision.
pub fn correlation(first: &[f32], second: &[f32], inside: impl Fn(usize) -> bool) -> f32 {
    let (mut count, mut sums, mut squares, mut product) = (0.0f32, [0.0f32; 2], [0.0f32; 2], 0.0f32);
    for (_, (a, b)) in first.iter().zip(second).enumerate().filter(|(voxel, _)| inside(*voxel)) {
        count += 1.0;
        sums[0] += a;
        sums[1] += b;
        squares[0] += a * a;
        squares[1] += b * b;
        product += a * b;
    }
    let [mean_a, mean_b] = sums.map(|sum| sum / count);
    let deviation = |square: f32, mean: f32| (square - count * mean * mean).sqrt();
    (product - count * mean_a * mean_b) / (deviation(squares[0], mean_a) * deviation(squares[1], mean_b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_gives_its_formula() {
        let (a, b) = ([2.0, 0.0, -3.0, 1e-9], [4.0, 0.5, 0.0, -2.0]);
        let of = |operation: Arithmetic| {
            let mut voxels = a;
            operation.apply(&mut voxels, |voxel| b[voxel]);
            voxels
        };
        assert_eq!(of(Arithmetic::Multiply), [8.0, 0.0, -0.0, -2e-9]);
        assert_eq!(of(Arithmetic::Divide), [0.5, 0.0, 0.0, 0.0], "the value before is kept where b is not positive");
        assert_eq!(of(Arithmetic::AddToZero), [2.0, 0.5, -3.0, 1e-9 - 2.0]);
        assert_eq!(of(Arithmetic::Over), [4.0, 0.5, -3.0, -2.0]);
        assert_eq!(of(Arithmetic::Maximum), [4.0, 0.5, 0.0, 1e-9]);
        assert_eq!(of(Arithmetic::Total), [8.0, 8.0, 8.0, 8.0 - 2e-9]);
    }

    #[test]
    fn weights_of_two_tissues_are_those_of_one_alone() {
        let weights = pure_tissue_weights(&[&[1.0, 0.5, 0.25], &[0.0, 0.5, 0.75]]);
        assert_eq!(weights, [1.0, 0.5, 0.25 * 0.25 + 0.75 * 0.75]);
    }
}
