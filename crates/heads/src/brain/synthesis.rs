//! Makes an image of the template's brain in the contrast of a scan.

use antsreg_core::intensity::quantiles;
use antsreg_core::{AffineTransform, Transform, TransformChain, Volume};
use antsreg_kernels::apply::{Interpolation, resample};
use nalgebra::{SMatrix, SVector};

use super::Template;

/// Number of contrasts of the built-in template.
const CONTRASTS: usize = 3;
/// Number of terms of a polynomial of the second degree of the intensities in all contrasts.
const TERMS: usize = 10;
/// Number of times that the polynomial is fitted. The weights follow from the residuals of the fit before.
const FITS: usize = 5;
/// A residual of this many robust standard deviations has the weight 0.5.
const HALF_WEIGHT: f64 = 2.0;
/// Factor from the median of absolute values to the standard deviation of a normal distribution.
const MEDIAN_TO_DEVIATION: f64 = 1.4826;
/// The darkest and the brightest intensities of the scan's brain beyond these shares count as these quantiles.
const SHARES: [f64; 2] = [0.02, 0.98];
/// The intensity at this quantile of each contrast in the template's brain is its unit.
const UNIT_SHARE: f64 = 0.95;

type Terms = SVector<f64, TERMS>;

/// Makes an image of the template's brain in the contrast of a scan, such as FLAIR, on the template's grid, with 0 outside
/// the brain. A polynomial of the second degree of the template's intensities in T1, T2 and PD is fitted to the
/// intensities of the scan, with small weights for voxels that fit badly, such as lesions and misaligned tissue.
///
/// `brain` is the brain of the scan, 0 outside, without shading. `brain_to_template` maps points of the scan to points of
/// the template, RAS mm. Returns `None` if the template has not three contrasts, or the fit is not possible.
pub fn in_contrast_of(brain: &Volume, template: &Template, brain_to_template: &AffineTransform) -> Option<Volume> {
    let heads: [&Volume; CONTRASTS] =
        template.heads().iter().map(|(_, head)| head.as_ref()).collect::<Vec<_>>().try_into().ok()?;
    let grid = &template.head().grid;
    let to_scan = TransformChain::from(vec![Transform::Affine(brain_to_template.inverse()?)]);
    let scan = resample(brain, grid, &to_scan, Interpolation::Linear, 0.0).voxels;
    let inside: Vec<usize> = (0..grid.len()).filter(|n| template.brain().voxels[*n] > 0.5).collect();
    let mut units = [1.0; CONTRASTS];
    for (unit, head) in units.iter_mut().zip(heads) {
        let values: Vec<f32> = inside.iter().map(|n| head.voxels[*n]).collect();
        *unit = f64::from(quantiles(&values, 0.5, UNIT_SHARE)?.1).max(f64::MIN_POSITIVE);
    }
    let terms = |n: usize| {
        let [a, b, c] = std::array::from_fn(|of| f64::from(heads[of].voxels[n]) / units[of]);
        Terms::from([1.0, a, b, c, a * a, a * b, a * c, b * b, b * c, c * c])
    };
    let seen: Vec<usize> = inside.iter().copied().filter(|n| scan[*n] > 0.0).collect();
    let values: Vec<f32> = seen.iter().map(|n| scan[*n]).collect();
    let (low, high) = quantiles(&values, SHARES[0], SHARES[1])?;
    let value = |n: usize| f64::from(scan[n].clamp(low, high));
    let mut weights = vec![1.0; seen.len()];
    let mut fitted = Terms::zeros();
    for _ in 0..FITS {
        fitted = fit(seen.iter().zip(&weights).map(|(n, weight)| (terms(*n), value(*n), *weight)))?;
        let residuals: Vec<f32> = seen.iter().map(|n| (value(*n) - fitted.dot(&terms(*n))).abs() as f32).collect();
        let deviation = MEDIAN_TO_DEVIATION * f64::from(quantiles(&residuals, 0.5, 0.5)?.0);
        let scale = (HALF_WEIGHT * deviation).max(f64::MIN_POSITIVE);
        weights = residuals.iter().map(|residual| 1.0 / (1.0 + (f64::from(*residual) / scale).powi(2))).collect();
    }
    let mut made = Volume::filled(grid.clone(), 0.0);
    for n in inside {
        made.voxels[n] = (fitted.dot(&terms(n)) as f32).clamp(low, high);
    }
    Some(made)
}

/// Coefficients of the terms with the least weighted sum of squares, from each sample's terms, value and weight.
fn fit(samples: impl Iterator<Item = (Terms, f64, f64)>) -> Option<Terms> {
    let (mut matrix, mut right) = (SMatrix::<f64, TERMS, TERMS>::zeros(), Terms::zeros());
    for (terms, value, weight) in samples {
        matrix.ger(weight, &terms, &terms, 1.0);
        right.axpy(weight * value, &terms, 1.0);
    }
    let found = matrix.cholesky()?.solve(&right);
    found.iter().all(|coefficient| coefficient.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;

    use super::*;

    #[test]
    fn a_contrast_made_of_the_templates_contrasts_is_found_again() {
        let template = Template::built_in(None).expect("undamaged");
        let [t1, t2, pd] = [0, 1, 2].map(|n| template.heads()[n].1.clone());
        // A contrast like FLAIR: bright grey matter and dark fluid; a lesion is much brighter.
        let of = |n: usize| {
            let [a, b, c] = [&t1, &t2, &pd].map(|head| head.voxels[n] / 255.0);
            (40.0 + 90.0 * c - 60.0 * a * a - 30.0 * b * b).max(1.0)
        };
        let inside = |n: usize| template.brain().voxels[n] > 0.5;
        let grid = template.head().grid.clone();
        let lesion = |n: usize| (40..48).contains(&(n % 97)) && (50..58).contains(&(n / 97 % 115));
        let voxels = (0..grid.len()).map(|n| match (inside(n), lesion(n)) {
            (true, true) => 400.0,
            (true, false) => of(n),
            _ => 0.0,
        });
        let mut scan = Volume { voxels: voxels.collect(), grid: grid.clone() };
        // The scan lies 7 mm to the right of the template.
        scan.grid.origin.x += 7.0;
        let back = AffineTransform { translation: Vector3::new(-7.0, 0.0, 0.0), ..AffineTransform::identity() };
        let made = in_contrast_of(&scan, &template, &back).expect("made");
        assert_eq!(made.grid, grid);
        let compared: Vec<usize> = (0..grid.len()).filter(|n| inside(*n) && !lesion(*n)).collect();
        let near = compared.iter().filter(|n| (made.voxels[**n] - of(**n)).abs() < 2.0).count();
        assert!(near as f64 > 0.93 * compared.len() as f64, "{near} of {}", compared.len());
        assert!((0..grid.len()).all(|n| inside(n) || made.voxels[n] == 0.0));
        let one = Template::built_in(Some(super::super::Contrast::T1)).expect("undamaged");
        assert!(in_contrast_of(&scan, &one, &back).is_none());
    }
}
