//! Whole registrations on the CPU and on the GPU: their times and results.

use std::time::Instant;

use antsreg_core::overlap::Overlap;
use antsreg_core::{AffineTransform, LabelVolume, Transform, TransformChain, Volume};
use antsreg_kernels::apply::{Interpolation, LabelInterpolation, resample, resample_labels};
use antsreg_kernels::{Backend, CcDerivative, CcKernels, CcParameters, MetricOutput};
use antsreg_linear::{self as linear, Cost, Dof, Start};
use antsreg_syn as syn;

use super::scene::on;
use super::timing::median_seconds;
use crate::error::Error;

/// The radius of the correlation window in Luo et al. 2015, voxels.
pub const RADIUS: usize = 5;

/// A linear registration.
#[derive(Debug, Clone)]
pub struct Linear {
    pub seconds: f64,
    pub transform: AffineTransform,
}

/// Registers a pair linearly. On a GPU the second of two runs is timed, when the kernels are loaded.
pub fn linear<B: Backend>(
    backend: &B,
    gpu: bool,
    [fixed, moving]: [&Volume; 2],
    options: &linear::Options,
) -> Result<Linear, Error> {
    let run = || linear::register(backend, fixed, moving, None, None, options, Start::CentreOfMass, &mut ());
    if gpu {
        run()?;
    }
    let start = Instant::now();
    let transform = run()?.transform;
    Ok(Linear { seconds: start.elapsed().as_secs_f64(), transform })
}

/// Options of an affine or rigid registration by a cost.
pub fn options(cost: Cost, dof: Dof) -> linear::Options {
    linear::Options { dof, ..linear::Options::of(cost) }
}

/// Root mean square and mean of the absolute difference of the fixed and the registered image over their overlap, in %
/// of the fixed image's range.
pub fn differences(fixed: &Volume, moving: &Volume, chain: &TransformChain) -> [f64; 2] {
    let found = resample(moving, &fixed.grid, chain, Interpolation::Linear, f32::NAN);
    let (mut squares, mut sum, mut count) = (0.0, 0.0, 0.0_f64);
    for (a, b) in fixed.voxels.iter().zip(&found.voxels).filter(|(_, b)| !b.is_nan()) {
        let difference = f64::from(a - b);
        squares += difference * difference;
        sum += difference.abs();
        count += 1.0;
    }
    let range = fixed.range().map_or(1.0, |(low, high)| f64::from(high - low).max(1e-12));
    [(squares / count.max(1.0)).sqrt(), sum / count.max(1.0)].map(|value| 100.0 * value / range)
}

/// A deformable registration.
pub struct Deformed {
    pub seconds: f64,
    /// Time of the correlation alone: one call on each level times the iterations of this level, s.
    pub cc_seconds: f64,
    /// The chain from fixed to moving points.
    pub chain: TransformChain,
}

/// Registers a pair by SyN with the paper's radius, from an affine. On a GPU the second of two runs is timed.
pub fn deformed<B: Backend>(
    backend: &B,
    gpu: bool,
    [fixed, moving]: [&Volume; 2],
    affine: &AffineTransform,
    kernels: CcKernels,
) -> Result<Deformed, Error> {
    let options = syn::Options { radius: RADIUS, cc_kernels: kernels, ..syn::Options::default() };
    let run = || syn::Fixed::new(backend, fixed, &options, &mut ())?.register(backend, moving, affine, &mut ());
    if gpu {
        run()?;
    }
    let start = Instant::now();
    let found = run()?;
    let seconds = start.elapsed().as_secs_f64();
    let mut cc_seconds = 0.0;
    for level in &found.iterations.levels {
        let grid = fixed.grid.shrink([level.shrink; 3]);
        let pair = [fixed, moving].map(|image| on(image, &grid));
        let parameters = options.cc_parameters();
        cc_seconds += level.energies.len() as f64 * correlation(backend, [&pair[0], &pair[1]], &parameters)?;
    }
    let chain = TransformChain::from(vec![Transform::Displacement(found.warp), Transform::Affine(*affine)]);
    Ok(Deformed { seconds, cc_seconds, chain })
}

/// Time of one gradient of the windowed cross-correlation of two images on one grid, s.
pub fn correlation<B: Backend>(
    backend: &B,
    [fixed, moving]: [&Volume; 2],
    parameters: &CcParameters,
) -> Result<f64, Error> {
    let shape = fixed.grid.shape;
    let highest = fixed.range().map_or(1.0, |(_, high)| high.max(1e-6));
    let upload = |image: &Volume| {
        let scaled: Vec<f32> = image.voxels.iter().map(|value| value / highest).collect();
        backend.upload(shape, &scaled)
    };
    let [first, second] = [upload(fixed)?, upload(moving)?];
    let mut workspace = backend.cc_workspace(shape)?;
    let mut out = backend.field_pair(shape)?;
    median_seconds(|| {
        let out = MetricOutput::Updates { fields: out.each_mut(), spacing: [1.0; 3] };
        let pending = backend.cc_gradient([&first, &second], [None; 2], parameters, &mut workspace, out, None)?;
        backend.cc_scores(pending)?;
        Ok(())
    })
}

/// Parameters of the cross-correlation as in SyN.
pub fn cc(radius: usize, derivative: CcDerivative, kernels: CcKernels) -> CcParameters {
    CcParameters { radius, derivative, noise_variance: 4e-4, kernels }
}

/// Mean Jaccard index over the labels that occur.
pub fn jaccard([fixed, moving]: &[LabelVolume; 2], chain: &TransformChain) -> Result<f64, Error> {
    let found = resample_labels(moving, &fixed.grid, chain, LabelInterpolation::Nearest);
    let overlap = Overlap::between(&found, fixed, None)?;
    let all: Vec<f64> = overlap.labels.iter().map(|(_, counts)| counts.jaccard()).filter(|j| j.is_finite()).collect();
    Ok(all.iter().sum::<f64>() / all.len().max(1) as f64)
}
