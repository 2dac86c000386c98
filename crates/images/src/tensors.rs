//! Measures of diffusion tensors. ANTs' `ImageMath` with `TensorFA` and `TensorMeanDiffusion`.

use nalgebra::Matrix3;

/// Mean diffusivity of a tensor with the components xx, xy, yy, xz, yz, zz: a third of the trace; 0 if it is NaN.
pub fn mean_diffusivity([xx, _, yy, _, _, zz]: &[f32; 6]) -> f32 {
    let mean = (xx + yy + zz) / 3.0;
    if mean.is_nan() { 0.0 } else { mean }
}

/// Fractional anisotropy of a tensor with the components xx, xy, yy, xz, yz, zz: √(3/2)·‖λ − mean(λ)‖/‖λ‖ with the
/// eigenvalues λ. As in ANTs, the largest or smallest eigenvalue is replaced by the middle one if it is negative. 0 if the
/// trace is 0, or if a component is not a finite number.
pub fn fractional_anisotropy(tensor: &[f32; 6]) -> f32 {
    let [xx, xy, yy, xz, yz, zz] = tensor.map(f64::from);
    if tensor.iter().any(|part| !part.is_finite()) || crate::is_zero(tensor[0] + tensor[2] + tensor[5]) {
        return 0.0;
    }
    let matrix = Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
    let mut values: [f64; 3] = matrix.symmetric_eigenvalues().into();
    values.sort_unstable_by(f64::total_cmp);
    let [small, middle, large] = values;
    let values = [if small < 0.0 { middle } else { small }, middle, if large < 0.0 { middle } else { large }];
    let mean = values.iter().sum::<f64>() / 3.0;
    let apart: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (1.5 * apart / squares).sqrt() as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_are_measured() {
        assert_eq!(fractional_anisotropy(&[2.0, 0.0, 2.0, 0.0, 0.0, 2.0]), 0.0);
        assert_eq!(fractional_anisotropy(&[3.0, 0.0, 0.0, 0.0, 0.0, 0.0]), 1.0);
        // The tensor with the eigenvalues 1, 2 and 6, turned by 45° about z: √(3/2)·√14/√41.
        let turned = [4.0, 2.0, 4.0, 0.0, 0.0, 1.0];
        assert!((fractional_anisotropy(&turned) - (1.5f32 * 14.0 / 41.0).sqrt()).abs() < 1e-6);
        assert_eq!((mean_diffusivity(&turned), mean_diffusivity(&[f32::NAN; 6])), (3.0, 0.0));
        assert_eq!((fractional_anisotropy(&[f32::NAN; 6]), fractional_anisotropy(&[0.0; 6])), (0.0, 0.0));
    }
}
