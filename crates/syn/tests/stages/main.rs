//! Tests of several stages in sequence, of restricted updates, and of registrations that an observer stops.

#[path = "../scene/mod.rs"]
#[expect(dead_code, reason = "these tests use a part of it")]
mod scene;

mod continued;
mod restricted;
mod stopped;

use antsreg_core::schedule::Level;
use antsreg_core::{AffineTransform, DisplacementField, Volume};
use antsreg_kernels::Cpu;
use antsreg_syn::{Fields, Fixed, Iterations, Options, Warps};
use nalgebra::Vector3;

/// Makes test levels from (shrink factor, smoothing sigma in voxels, iterations).
fn levels(levels: &[(usize, f64, usize)]) -> Vec<Level> {
    let level = |&(shrink, sigma_voxels, iterations)| Level { shrink, sigma_voxels, iterations, reinvert_every: 1 };
    levels.iter().map(level).collect()
}

/// Runs deformable stages in sequence, each from the displacement fields of the stage before. Returns the warps, and
/// the outcomes of all resolution levels.
fn staged(fixed: &Volume, moving: &Volume, stages: &[Options]) -> (Warps<Cpu>, Iterations) {
    let (mut fields, mut levels): (Option<Fields<Cpu>>, Vec<_>) = (None, Vec::new());
    let mut sides: Vec<Fixed<Cpu>> = Vec::new();
    for options in stages {
        let side = Fixed::new(&Cpu, fixed, options, &mut ()).expect("a fixed side");
        let found = side.find(&Cpu, moving, &AffineTransform::identity(), fields.take(), &mut ());
        let (reached, outcomes) = found.expect("it registers");
        fields = Some(reached);
        levels.extend(outcomes);
        sides.push(side);
    }
    let (side, fields) = sides.last().zip(fields).expect("there is a stage");
    let (warps, relaxed) = side.warps(&Cpu, fields, &mut ()).expect("warps");
    (warps, Iterations { levels, relaxed })
}

/// The warp and the inverse warp in world millimetres.
fn downloaded(warps: &Warps<Cpu>) -> [DisplacementField; 2] {
    [warps.download_warp(&Cpu), warps.download_inverse_warp(&Cpu)].map(|warp| warp.expect("finite numbers"))
}

/// The largest length of the differences between two displacement fields, mm.
fn apart(a: &DisplacementField, b: &DisplacementField) -> f32 {
    let lengths = a.vectors.iter().zip(&b.vectors).map(|(a, b)| (Vector3::from(*a) - Vector3::from(*b)).norm());
    lengths.fold(0.0, f32::max)
}
