//! Runs the operations for costs and metrics of registrations, with all their options, so that their results can be
//! compared between devices.

use antsreg_core::AffineTransform;
use antsreg_kernels::{
    Backend, CcDerivative, CcKernels, CcParameters, CcScores, Contrast, ContrastRule, Error, FitRule,
    JointParameters, JointSampling, MetricOutput, MiParameters, Moments,
};

use crate::inspected::Inspected;
use crate::operations::{EXACT, MEAN, Outcomes};
use crate::sides::both;
use crate::world::{Noise, World};

/// Tolerance of updates by cross-correlation. The variances and the covariance of the images in a window are
/// differences of sums of up to 13³ terms. Where an image hardly varies, few digits are left.
const WINDOWS: (f64, &str) = (3e-3, "window sums in another order, and their differences");
/// Tolerance of energies of the cross-correlation. In a volume that is a row of voxels, windows have three voxels.
/// There the variances of the images may be a thousandth of the sums of which they are differences.
const ENERGY: (f64, &str) = (1e-4, "window sums in another order, averaged");
/// Tolerance of costs that are computed from sums, squares and products of intensities (moments). Coordinates have
/// errors of about 1e-5 voxel, and products are rounded to single precision.
const MOMENTS: (f64, &str) = (5e-5, "coordinates and products in single precision");
/// Tolerance of the correlation ratio where the texture unit interpolates with weights of eight bits. Weights that were
/// rounded, or rounded down, to 1/256 changed the costs of these test images by up to 4e-4 and 1.6e-3 of the largest.
const FILTERED: (f64, &str) = (3e-3, "weights of interpolation of eight bits");
/// Tolerance of contrasts across a surface. Coordinates have errors of about 1e-5 voxel. A contrast is a difference of
/// intensities, which is multiplied by the slope.
const CONTRAST: (f64, &str) = (3e-4, "coordinates, quotients and hyperbolic tangents in single precision");
/// Tolerance of entropies. The histograms on CPU and GPU have equal bits, but the logarithms come from different
/// libraries and may differ.
const LOGARITHMS: (f64, &str) = (1e-6, "logarithms of two libraries, rounded to single precision");
/// Tolerance of moments: sums, squares and products of the intensities of both images. Coordinates, products, and sums
/// of up to a few thousand samples are in single precision.
const PAIRS: (f64, &str) = (5e-5, "coordinates, products and partial sums in single precision");
const ENTROPIES: (f64, &str) = (1e-12, "logarithms and sums of double precision in another order");

/// A fixed and a moving test image, each with the weights of its voxels.
struct Pair<B: Backend> {
    fixed: B::Image,
    weight: B::Image,
    moving: B::Image,
    moving_weight: B::Image,
}

impl<B: Backend> Pair<B> {
    fn new(backend: &B, world: &World) -> Result<Self, Error> {
        Ok(Pair {
            fixed: backend.upload(world.shape, &World::image(world.shape, 13))?,
            weight: backend.upload(world.shape, &World::mask(world.shape, 17))?,
            moving: backend.upload(world.other_shape, &World::image(world.other_shape, 19))?,
            moving_weight: backend.upload(world.other_shape, &World::mask(world.other_shape, 23))?,
        })
    }
}

/// A batch of affine maps. One of the maps moves the image far outside, and one contains NaN, so both leave no overlap.
fn maps(map: impl Fn(f64) -> AffineTransform) -> Vec<AffineTransform> {
    let mut maps: Vec<AffineTransform> = (0..37).map(|n| map(f64::from(n))).collect();
    maps[5].translation.x += 1e4;
    maps[6].matrix[(0, 0)] = f64::NAN;
    maps
}

pub fn correlation_ratio<B: Inspected>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let backend = out.backend;
    let Pair { fixed, weight, moving, moving_weight } = Pair::new(backend, world)?;
    let maps = maps(|n| world.map(0.02 * n - 0.3));
    for (bins, edge) in [(32, [4.0, 3.0, 2.0]), (256, [0.5; 3]), (7, [0.0; 3])] {
        for (weights, fixed_weight, moving_weight) in
            [("", None, None), (", weighted", Some(&weight), Some(&moving_weight))]
        {
            let sorted = backend.bin_fixed(&fixed, fixed_weight, (0.1, 0.9), bins)?;
            let costs = backend.correlation_ratio(&sorted, &moving, moving_weight, edge, &maps)?;
            out.values(format!("correlation_ratio {bins}{weights}"), MOMENTS, costs);
            let costs = backend.correlation_ratio_filtered(&sorted, &moving, moving_weight, edge, &maps)?;
            out.values(format!("correlation_ratio_filtered {bins}{weights}"), FILTERED, costs);
        }
    }
    let island = backend.upload(world.other_shape, &World::island(world.other_shape, 19, 0.0))?;
    for (bins, edge) in [(64, [0.0; 3]), (256, [3.0, 2.0, 2.5])] {
        let sorted = backend.bin_fixed(&fixed, None, (0.1, 0.9), bins)?;
        let costs = backend.correlation_ratio(&sorted, &island, None, edge, &maps)?;
        out.values(format!("correlation_ratio {bins}, mostly empty"), MOMENTS, costs);
    }
    let sorted = backend.bin_fixed(&fixed, None, (0.0, 1.0), 16)?;
    let mut changed = backend.image(world.other_shape)?;
    for angle in [0.0, 0.1] {
        // An image that was used as a texture and written again afterwards must be copied to the texture again.
        backend.resample(&moving, &world.map(angle), 0.0, &mut changed)?;
        let costs = backend.correlation_ratio(&sorted, &changed, None, [1.0; 3], &maps[..1])?;
        out.values("correlation_ratio, rewritten", MOMENTS, costs);
    }
    Ok(())
}

pub fn joint_histograms<B: Inspected>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let backend = out.backend;
    let Pair { fixed, weight, moving, moving_weight } = Pair::new(backend, world)?;
    let maps = maps(|n| world.map(0.02 * n - 0.3));
    for sampling in [JointSampling::Trilinear, JointSampling::PartialVolume] {
        for (fixed_bins, bins, edge) in [(32, 64, [4.0, 3.0, 2.0]), (2, 300, [0.5; 3]), (100, 7, [0.0; 3])] {
            for (weights, fixed_weight, moving_weight) in
                [("", None, None), (", weighted", Some(&weight), Some(&moving_weight))]
            {
                let name = format!("{sampling:?} {fixed_bins}×{bins}{weights}");
                let sorted = backend.bin_fixed(&fixed, fixed_weight, (0.1, 0.9), fixed_bins)?;
                let parameters = JointParameters { sampling, bins, low_high: (0.05, 0.95) };
                for map in [&maps[0], &maps[15], &maps[30], &maps[5], &maps[6], &AffineTransform::identity()] {
                    let counts = backend.joint_histogram(&sorted, &moving, moving_weight, edge, &parameters, map)?;
                    let counts = counts.into_iter().map(|count| count as f64).collect();
                    out.values(format!("joint_histogram {name}"), EXACT, counts);
                }
                let entropies = backend.joint_entropies(&sorted, &moving, moving_weight, edge, &parameters, &maps)?;
                let values = entropies.iter().flat_map(|found| [found.fixed, found.moving, found.joint]).collect();
                out.values(format!("joint_entropies {name}"), ENTROPIES, values);
                let weights = entropies.iter().map(|found| found.weight).collect();
                out.values(format!("joint_entropies {name}, weight"), EXACT, weights);
            }
        }
    }
    Ok(())
}

pub fn moments<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let backend = out.backend;
    let Pair { fixed, weight, moving, moving_weight } = Pair::new(backend, world)?;
    let maps = maps(|n| world.map(0.02 * n - 0.3));
    for edge in [[4.0, 3.0, 2.0], [0.0; 3]] {
        for weights in [[None, None], [Some(&weight), Some(&moving_weight)]] {
            let found = backend.moments(&fixed, &moving, weights, [(0.1, 0.9), (0.0, 2.0)], edge, &maps)?;
            let name = format!("moments, {} weights", weights.iter().flatten().count());
            let part = |get: fn(&Moments) -> f64| found.iter().map(get).collect::<Vec<f64>>();
            let parts: [fn(&Moments) -> f64; 6] =
                [|m| m.weight, |m| m.fixed, |m| m.moving, |m| m.fixed_fixed, |m| m.moving_moving, |m| m.fixed_moving];
            for get in parts {
                out.values(name.clone(), PAIRS, part(get));
            }
        }
    }
    Ok(())
}

/// Test points of a surface. The inner positions lie between 0 and the far corner of the fixed shape, some slightly
/// outside. The outer positions are up to two voxels away along each axis. Each point has a weight.
fn surface<B: Backend>(backend: &B, world: &World, count: usize) -> Result<B::Image, Error> {
    let mut noise = Noise(29);
    let inner: Vec<[f64; 3]> =
        (0..count).map(|_| world.shape.map(|n| (0.5 + 0.55 * noise.next()) * (n as f64 - 1.0))).collect();
    let outer: Vec<[f64; 3]> = inner.iter().map(|at| at.map(|x| x + 2.0 * noise.next())).collect();
    let mut rows = Vec::with_capacity(ContrastRule::ROWS * count);
    for side in [&inner, &outer] {
        for axis in 0..3 {
            rows.extend(side.iter().map(|at| at[axis] as f32));
        }
    }
    rows.extend((0..count).map(|_| noise.next().max(0.0) as f32));
    backend.upload([count, ContrastRule::ROWS, 1], &rows)
}

pub fn contrast<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let backend = out.backend;
    let moving = backend.upload(world.other_shape, &World::image(world.other_shape, 19))?;
    let maps = maps(|n| world.map(0.02 * n - 0.3));
    for (count, slope, offset, least) in [(5000, -0.5, 0.0, 0.1), (2048, 0.02, -10.0, 0.0), (1, -0.01, 3.0, -1.0)] {
        let points = surface(backend, world, count)?;
        let found = backend.contrast(&points, &moving, &ContrastRule { slope, offset, least }, &maps)?;
        let parts: [(&str, fn(&Contrast) -> f64); 3] =
            [("weight", |c| c.weight), ("signed", |c| c.signed), ("unsigned", |c| c.unsigned)];
        for (part, get) in parts {
            out.values(format!("contrast of {count} points, {part}"), CONTRAST, found.iter().map(get).collect());
        }
    }
    Ok(())
}

pub fn fit_sums<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let backend = out.backend;
    let volumes: Vec<B::Image> = (0..3)
        .map(|seed| {
            backend.spline_coefficients(&backend.upload(world.other_shape, &World::image(world.other_shape, seed))?)
        })
        .collect::<Result<_, Error>>()?;
    let volumes: Vec<&B::Image> = volumes.iter().collect();
    let at: Vec<(usize, AffineTransform)> =
        maps(|n| world.map(0.02 * n - 0.3)).into_iter().enumerate().map(|(n, map)| (n * 7 % 3, map)).collect();
    let cases = [(5000, 8, [1, 0, 0]), (4611, 22, [0, 2, 0]), (2048, 64, [0; 3]), (33, 0, [0; 3]), (0, 2, [0; 3])];
    for (count, functions, margin) in cases {
        let mut noise = Noise(31);
        let mut rows: Vec<f32> = Vec::new();
        for axis in 0..3 {
            let far = world.shape[axis] as f64 - 1.0;
            rows.extend((0..count).map(|_| ((0.5 + 0.5 * noise.next()) * far) as f32));
        }
        rows.extend((0..count * functions).map(|_| noise.next() as f32));
        let points = backend.upload([count, 3 + functions, 1], &rows)?;
        let found = backend.fit_sums(&points, &volumes, &FitRule { margin, origin: 0.4, scale: 3.0 }, &at)?;
        let name = format!("fit_sums of {count} points, {functions} functions");
        out.values(name.clone() + ", inside", EXACT, found.iter().map(|fit| fit.inside).collect());
        out.values(name.clone() + ", squares", EXACT, found.iter().map(|fit| fit.square).collect());
        out.values(name.clone() + ", values", EXACT, found.iter().flat_map(|fit| fit.with_value.clone()).collect());
        out.values(name + ", outside", EXACT, found.into_iter().flat_map(|fit| fit.outside).collect());
    }
    Ok(())
}

/// Runs the operations that compute costs of two slices. Weights of samples rise from 0 at the border of the moving
/// slice along its first two axes only.
pub fn slices<B: Inspected>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    if [world.shape[2], world.other_shape[2]] != [1, 1] {
        return Ok(());
    }
    let backend = out.backend;
    let Pair { fixed, weight, moving, moving_weight } = Pair::new(backend, world)?;
    let mut maps = maps(|n| world.plane_map(0.17 * n - 3.1));
    // Two of the maps lead out of the plane of the slice.
    maps[1].translation.z = 0.5;
    maps[2].matrix[(2, 0)] = 1e-3;
    for weights in [[None, None], [Some(&weight), Some(&moving_weight)]] {
        let name = format!("of slices, {} weights", weights.iter().flatten().count());
        let sorted = backend.bin_fixed(&fixed, weights[0], (0.1, 0.9), 32)?;
        let edge = [2.0, 3.0, 0.0];
        let costs = backend.correlation_ratio(&sorted, &moving, weights[1], edge, &maps)?;
        out.values(format!("correlation_ratio {name}"), MOMENTS, costs);
        for sampling in [JointSampling::Trilinear, JointSampling::PartialVolume] {
            let parameters = JointParameters { sampling, bins: 32, low_high: (0.05, 0.95) };
            for map in &maps[..8] {
                let counts = backend.joint_histogram(&sorted, &moving, weights[1], edge, &parameters, map)?;
                let counts = counts.into_iter().map(|count| count as f64).collect();
                out.values(format!("joint_histogram {name}, {sampling:?}"), EXACT, counts);
            }
            let entropies = backend.joint_entropies(&sorted, &moving, weights[1], edge, &parameters, &maps)?;
            let joint = entropies.iter().map(|found| found.joint).collect();
            out.values(format!("joint_entropies {name}, {sampling:?}"), ENTROPIES, joint);
        }
        let moments = backend.moments(&fixed, &moving, weights, [(0.1, 0.9), (0.0, 2.0)], edge, &maps)?;
        out.values(format!("moments {name}"), PAIRS, moments.iter().map(|found| found.fixed_moving).collect());
        out.values(format!("moments {name}, weight"), PAIRS, moments.iter().map(|found| found.weight).collect());
    }
    Ok(())
}

pub fn cross_correlation<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let (backend, shape) = (out.backend, world.shape);
    let fixed = backend.upload(shape, &World::image(shape, 29))?;
    let moving = backend.upload(shape, &World::image(shape, 31))?;
    let masks = [backend.upload(shape, &World::mask(shape, 37))?, backend.upload(shape, &World::mask(shape, 41))?];
    let mut workspace = backend.cc_workspace(shape)?;
    let mut derivatives = [backend.image(shape)?, backend.image(shape)?];
    let mut updates = backend.field_pair(shape)?;
    let cases = [CcKernels::Tiled, CcKernels::Textures].into_iter().flat_map(|kernels| {
        let radii = (1..=6).chain((kernels == CcKernels::Textures).then_some(8));
        radii.flat_map(move |radius| {
            [CcDerivative::Centre, CcDerivative::Exact].map(|derivative| (kernels, radius, derivative))
        })
    });
    for (kernels, radius, derivative) in cases {
        for masks in [[None, None], [Some(&masks[0]), None], [Some(&masks[0]), Some(&masks[1])]] {
            let masked = masks.iter().flatten().count();
            // Masks leave windows of two or three voxels. Without noise their terms are rounding errors divided by rounding
            // errors, which the textures' kernels sum in another order than the others.
            let few = kernels == CcKernels::Textures && masked > 0;
            let noise_variance = if few || radius % 2 == 0 { 1e-3 } else { 0.0 };
            let parameters = CcParameters { radius, derivative, noise_variance, kernels };
            if !parameters.fits_a_gpu(masked > 0) {
                continue;
            }
            let [mut lent, mut others] = [backend.field(shape)?, backend.field(shape)?];
            let scratch = (radius % 2 == 0).then_some(&mut lent);
            let images = [&fixed, &moving];
            let gradient = MetricOutput::Updates { fields: updates.each_mut(), spacing: world.spacing };
            let pending = backend.cc_gradient(images, masks, &parameters, &mut workspace, gradient, scratch)?;
            let name = format!("cc_gradient {kernels:?} {derivative:?} {radius}, {masked} masks");
            // A second call with the same workspace must not change the scores of the first call, which have not
            // been read yet. Its scratch memory is too little for all terms at once.
            let images = [&moving, &fixed];
            let gradient = MetricOutput::Derivatives(derivatives.each_mut());
            let scratch = (radius % 2 == 1).then_some(&mut others);
            let after = backend.cc_gradient(images, masks, &parameters, &mut workspace, gradient, scratch)?;
            let CcScores { energy, agreement } = backend.cc_scores(pending)?;
            out.values(format!("{name}: energy"), ENERGY, vec![energy]);
            out.values(format!("{name}: agreement"), ENERGY, vec![agreement]);
            let CcScores { energy, agreement } = backend.cc_scores(after)?;
            out.values(format!("{name}: energy of the next"), ENERGY, vec![energy]);
            out.values(format!("{name}: agreement of the next"), ENERGY, vec![agreement]);
            both(out, &name, WINDOWS, &updates)?;
            out.image(format!("{name}: fixed derivative"), WINDOWS, &derivatives[0])?;
            out.image(format!("{name}: moving derivative"), WINDOWS, &derivatives[1])?;
            // Fields that were lent serve as fields again.
            backend.smoothed_update(&fixed, &mut derivatives[0], world.spacing, 1.0, &mut lent)?;
            let mut advanced = backend.field(shape)?;
            backend.advance(&mut advanced, &lent, 1.0)?;
            out.field(format!("{name}: advanced"), WINDOWS, &advanced)?;
        }
    }
    Ok(())
}

pub fn mutual_information<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let (backend, shape) = (out.backend, world.shape);
    let fixed = backend.upload(shape, &World::image(shape, 43))?;
    let moving = backend.upload(shape, &World::image(shape, 47))?;
    let masks = [backend.upload(shape, &World::mask(shape, 37))?, backend.upload(shape, &World::mask(shape, 41))?];
    let mut derivatives = [backend.image(shape)?, backend.image(shape)?];
    let mut updates = backend.field_pair(shape)?;
    // Numbers of histogram bins: few, the default, an odd number, and more than fit into the GPU's shared memory at the
    // same time.
    for bins in [8, 32, 45, 200] {
        let mut workspace = backend.mi_workspace(bins)?;
        for masks in [[None, None], [None, Some(&masks[1])], [Some(&masks[0]), Some(&masks[1])]] {
            let name = format!("mi_gradient {bins}, {} masks", masks.iter().flatten().count());
            let parameters = MiParameters { bins, ranges: [(0.0, 1.0), (0.1, 0.9)] };
            let images = [&fixed, &moving];
            let gradient = MetricOutput::Updates { fields: updates.each_mut(), spacing: world.spacing };
            let energy = backend.mi_gradient(images, masks, &parameters, &mut workspace, gradient)?;
            out.values(format!("{name}: energy"), MEAN, vec![energy]);
            both(out, &name, LOGARITHMS, &updates)?;
            let gradient = MetricOutput::Derivatives(derivatives.each_mut());
            backend.mi_gradient(images, masks, &parameters, &mut workspace, gradient)?;
            out.image(format!("{name}: fixed derivative"), LOGARITHMS, &derivatives[0])?;
            out.image(format!("{name}: moving derivative"), LOGARITHMS, &derivatives[1])?;
        }
    }
    Ok(())
}
