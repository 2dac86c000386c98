//! A fraction of a warp: the point that a share of its flow reaches.

use antsreg_core::DisplacementField;
use nalgebra::{Point3, Vector3};
use rayon::prelude::*;

/// Number of square roots that are taken. The displacement of the root of the order 2^ROOTS stands for the velocity; what
/// is neglected is of the second order in it. Warps between time points move less than 2 mm, so the root moves less than
/// 0.25 mm.
const ROOTS: usize = 3;
/// Largest number of corrections of a square root. Each correction divides the error by about the largest derivative of
/// the warp, which is below ½ between time points.
const CORRECTIONS: usize = 12;
/// A square root is found when a correction is shorter than this, voxels. Displacements of a voxel are rounded to about
/// 1e-7 voxels.
const FOUND_VOXELS: f64 = 1e-5;

/// The warp that goes `share` of the way of `warp`: applied 1/share times, it is `warp`. The displacement field of the
/// order 2⁻³ is found by square roots, multiplied by `share`, and squared again (scaling and squaring, Arsigny 2006, MICCAI
/// 9:924).
pub fn fraction(warp: &DisplacementField, share: f64) -> DisplacementField {
    let mut field = warp.clone();
    for _ in 0..ROOTS {
        field = square_root(&field);
    }
    field.vectors.par_iter_mut().for_each(|vector| *vector = vector.map(|mm| (f64::from(mm) * share) as f32));
    for _ in 0..ROOTS {
        field = twice(&field);
    }
    field
}

/// The field ψ with ψ ∘ ψ = φ, by ψ ← ψ + (φ − ψ ∘ ψ)/2.
fn square_root(whole: &DisplacementField) -> DisplacementField {
    let mut root = whole.clone();
    root.vectors.par_iter_mut().for_each(|vector| *vector = vector.map(|mm| mm / 2.0));
    let least = FOUND_VOXELS * whole.grid.spacing.min();
    for _ in 0..CORRECTIONS {
        let twice = twice(&root);
        let correct = |(vector, (whole, twice)): (&mut [f32; 3], (&[f32; 3], &[f32; 3]))| {
            let correction: [f32; 3] = std::array::from_fn(|axis| (whole[axis] - twice[axis]) / 2.0);
            *vector = std::array::from_fn(|axis| vector[axis] + correction[axis]);
            correction.into_iter().fold(0.0_f32, |most, mm| most.max(mm.abs()))
        };
        let pairs = root.vectors.par_iter_mut().zip(whole.vectors.par_iter().zip(&twice.vectors));
        let most = pairs.map(correct).reduce(|| 0.0, f32::max);
        if f64::from(most) < least {
            break;
        }
    }
    root
}

/// The field applied twice.
fn twice(field: &DisplacementField) -> DisplacementField {
    let (sampler, to_world) = (field.sampler(), field.grid.voxel_to_world());
    let [nx, ny, _] = field.grid.shape;
    let vectors = field.vectors.par_iter().enumerate().with_min_len(1 << 12).map(|(n, own)| {
        let index = [n % nx, n / nx % ny, n / (nx * ny)].map(|at| at as f64);
        let own = Vector3::from(own.map(f64::from));
        let found = own + sampler.at(&(to_world.apply(&Point3::from(index)) + own));
        [0, 1, 2].map(|axis| found[axis] as f32)
    });
    DisplacementField { vectors: vectors.collect(), grid: field.grid.clone() }
}
