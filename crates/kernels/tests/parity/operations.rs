//! Every operation of the backend, once for each way of calling it.

use antsreg_core::AffineTransform;
use antsreg_kernels::{
    Backend, CcDerivative, CcParameters, Error, InversionLimits, JointParameters, JointSampling, MiParameters,
    Moments, RelaxLimits, RelaxRound, Sampling,
};
use nalgebra::Matrix3;

use crate::world::World;

/// What an operation gave, and how far two backends may differ, as a share of the largest magnitude.
pub struct Outcome {
    pub operation: String,
    pub values: Vec<f64>,
    pub tolerance: f64,
    pub cause: &'static str,
}

/// The same operations on the same numbers in the same order.
const EXACT: (f64, &str) = (0.0, "the same arithmetic on both sides");
/// A Gaussian's sum has up to 31 terms an axis.
const SUMS: (f64, &str) = (2e-6, "sums of single precision in another order");
/// A, B and C are differences of sums of up to 13³ terms; where an image hardly varies, few digits are left.
const WINDOWS: (f64, &str) = (3e-3, "window sums in another order, and their differences");
/// A row of voxels has windows of three, whose A and B may be a thousandth of the sums.
const ENERGY: (f64, &str) = (1e-4, "window sums in another order, averaged");
/// Coordinates are rounded at about 1e-5 voxel, and products to single precision.
const MOMENTS: (f64, &str) = (5e-5, "coordinates and products in single precision");
/// Histograms are the same to the bit; the two libraries' logarithms are not always.
const LOGARITHMS: (f64, &str) = (1e-6, "logarithms of two libraries, rounded to single precision");
/// Beside that, terms of up to a few thousand samples in single precision.
const PAIRS: (f64, &str) = (5e-5, "coordinates, products and partial sums in single precision");
const ENTROPIES: (f64, &str) = (1e-12, "logarithms and sums of double precision in another order");
const SUMS_OF_PAIRS: (f64, &str) = (1e-11, "differences of sums of double precision in another order");
const MEAN: (f64, &str) = (1e-12, "sums of double precision in another order");

struct Outcomes<'a, B: Backend> {
    backend: &'a B,
    list: Vec<Outcome>,
}

impl<B: Backend> Outcomes<'_, B> {
    fn values(&mut self, operation: impl Into<String>, (tolerance, cause): (f64, &'static str), values: Vec<f64>) {
        self.list.push(Outcome { operation: operation.into(), values, tolerance, cause });
    }

    fn image(
        &mut self,
        operation: impl Into<String>,
        rule: (f64, &'static str),
        image: &B::Image,
    ) -> Result<(), Error> {
        let values = self.backend.download(image)?.into_iter().map(f64::from).collect();
        self.values(operation, rule, values);
        Ok(())
    }

    fn field(
        &mut self,
        operation: impl Into<String>,
        rule: (f64, &'static str),
        field: &B::Field,
    ) -> Result<(), Error> {
        let values = self.backend.download_field(field)?.into_iter().flatten().map(f64::from).collect();
        self.values(operation, rule, values);
        Ok(())
    }
}

/// Runs everything.
pub fn run<B: Backend>(backend: &B, world: &World) -> Result<Vec<Outcome>, Error> {
    let mut out = Outcomes { backend, list: Vec::new() };
    images(&mut out, world)?;
    splines(&mut out, world)?;
    intensities(&mut out, world)?;
    fields(&mut out, world)?;
    correlation_ratio(&mut out, world)?;
    joint_histograms(&mut out, world)?;
    moments(&mut out, world)?;
    slices(&mut out, world)?;
    cross_correlation(&mut out, world)?;
    mutual_information(&mut out, world)?;
    Ok(out.list)
}

/// How good two fields are.
fn scores<B: Backend>(
    out: &mut Outcomes<'_, B>,
    name: &str,
    [first, then]: [&B::Field; 2],
    mask: Option<&B::Image>,
) -> Result<(), Error> {
    let found = out.backend.inverse_consistency(first, then, mask)?;
    out.values(format!("inverse_consistency {name}, mean"), MEAN, vec![found.mean_voxels]);
    out.values(format!("inverse_consistency {name}"), EXACT, vec![found.voxels as f64, found.largest_voxels]);
    let found = out.backend.jacobian_summary(first, mask)?;
    out.values(format!("jacobian_summary {name}, mean"), MEAN, vec![found.mean]);
    let counts = [found.voxels, found.folded].map(|count| count as f64);
    out.values(format!("jacobian_summary {name}, counts"), EXACT, counts.into());
    out.values(format!("jacobian_summary {name}, extremes"), EXACT, vec![found.minimum, found.maximum]);
    Ok(())
}

/// In a volume so large that a thread takes several slices, the operations that do so there.
pub fn run_large<B: Backend>(backend: &B) -> Result<Vec<Outcome>, Error> {
    let mut out = Outcomes { backend, list: Vec::new() };
    let shape = [163, 171, 167];
    let image = backend.upload(shape, &World::image(shape, 3))?;
    let first = backend.upload_field(shape, &World::field(shape, 3.0, 7))?;
    let then = backend.upload_field(shape, &World::field(shape, 2.0, 11))?;
    let mut result = backend.field(shape)?;
    backend.compose(&first, &then, &mut result)?;
    out.field("compose", EXACT, &result)?;
    backend.advance(&first, &then, 0.2, &mut result)?;
    out.field("advance", EXACT, &result)?;
    let mut inverse = backend.field(shape)?;
    let steep = backend.upload_field(shape, &World::field(shape, 9.0, 7))?;
    for (name, field) in [("gentle", &first), ("steep", &steep)] {
        let limits = InversionLimits { steps: 20, tolerance_voxels: 0.01, untouched_voxels: 0.0 };
        backend.invert(field, &mut inverse, &limits)?;
        out.field(format!("invert {name}"), EXACT, &inverse)?;
    }
    let mask = backend.upload(shape, &World::mask(shape, 29))?;
    scores(&mut out, "gentle", [&first, &then], None)?;
    scores(&mut out, "steep, masked", [&steep, &inverse], Some(&mask))?;
    let mut target = backend.image(shape)?;
    for sampling in [Sampling::Linear, Sampling::Nearest] {
        backend.warp(&image, &first, &AffineTransform::identity(), sampling, &mut target)?;
        out.image(format!("warp {sampling:?}"), EXACT, &target)?;
    }
    let coefficients = backend.spline_coefficients(&image)?;
    out.image("spline_coefficients", EXACT, &coefficients)?;
    backend.warp_spline(&coefficients, &first, &AffineTransform::identity(), &mut target)?;
    out.image("warp_spline", EXACT, &target)?;
    backend.warp_sinc(&image, &first, &AffineTransform::identity(), &mut target)?;
    out.image("warp_sinc", EXACT, &target)?;
    // Wider than a tile of the kernels that smooth, in several chunks, with every radius of theirs.
    let wide = [205, 93, 131];
    let (mut smoothed, mut scratch) =
        (backend.upload_field(wide, &World::field(wide, 3.0, 7))?, backend.field(wide)?);
    for variance in [0.3, 1.0, 1.5, 3.0, 5.0] {
        backend.smooth_field(&mut smoothed, variance, &mut scratch)?;
        out.field(format!("smooth_field {variance}"), SUMS, &smoothed)?;
    }
    Ok(out.list)
}

fn images<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let backend = out.backend;
    let image = backend.upload(world.other_shape, &World::image(world.other_shape, 3))?;
    out.image("upload", EXACT, &image)?;
    out.image("image", EXACT, &backend.image(world.shape)?)?;
    for sigma in [[0.0; 3], [1.0; 3], [0.0, 1.5, 0.7], [3.0; 3], [4.0, 0.5, 2.0], [5.5; 3]] {
        out.image(format!("smooth {sigma:?}"), SUMS, &backend.smooth(&image, sigma)?)?;
    }
    for spacing in [[1.0; 3], [0.8, 1.0, 3.1]] {
        let edges = backend.gradient_magnitude(&image, spacing)?;
        out.image(format!("gradient_magnitude {spacing:?}"), EXACT, &edges)?;
    }
    let [first, second] = [3, 4].map(|seed| backend.upload(world.shape, &World::image(world.shape, seed)));
    let (first, second, mask) = (first?, second?, backend.upload(world.shape, &World::mask(world.shape, 29))?);
    let nothing = backend.image(world.shape)?;
    for (name, mask) in [("", None), (", masked", Some(&mask)), (", of nothing", Some(&nothing))] {
        let correlations =
            [backend.correlation(&first, &second, mask)?, backend.correlation(&first, &nothing, mask)?];
        out.values(format!("correlation{name}"), SUMS_OF_PAIRS, correlations.into());
    }
    let mut target = backend.image(world.shape)?;
    for (angle, outside) in [(0.0, 0.0), (0.2, -1.5)] {
        backend.resample(&image, &world.map(angle), outside, &mut target)?;
        out.image(format!("resample by {angle}"), EXACT, &target)?;
    }
    backend.resample(&image, &AffineTransform::identity(), 0.25, &mut target)?;
    out.image("resample unmoved", EXACT, &target)?;
    let field = backend.upload_field(world.shape, &World::field(world.shape, 4.0, 5))?;
    for sampling in [Sampling::Linear, Sampling::Nearest] {
        backend.warp(&image, &field, &world.map(0.15), sampling, &mut target)?;
        out.image(format!("warp {sampling:?}"), EXACT, &target)?;
    }
    Ok(())
}

fn splines<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let backend = out.backend;
    let field = backend.upload_field(world.shape, &World::field(world.shape, 4.0, 5))?;
    let mut target = backend.image(world.shape)?;
    // Besides, axes of one and two voxels, and of just those that the first coefficient depends on.
    for shape in [world.other_shape, [1, 33, 2], [2, 1, 31], [32, 2, 1]] {
        let image = backend.upload(shape, &World::image(shape, 3))?;
        let coefficients = backend.spline_coefficients(&image)?;
        out.image(format!("spline_coefficients {shape:?}"), EXACT, &coefficients)?;
        let onto = World { name: world.name, other_shape: shape, ..*world };
        for angle in [0.0, 0.15] {
            backend.warp_spline(&coefficients, &field, &onto.map(angle), &mut target)?;
            out.image(format!("warp_spline {shape:?} by {angle}"), EXACT, &target)?;
            backend.warp_sinc(&image, &field, &world.map(angle), &mut target)?;
            out.image(format!("warp_sinc {shape:?} by {angle}"), EXACT, &target)?;
        }
    }
    Ok(())
}

fn intensities<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let (backend, shape) = (out.backend, world.shape);
    // Half of a brain's voxels are one value, and some may be none.
    let strange = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MIN_POSITIVE / 4.0];
    let voxels: Vec<f32> = World::field(shape, 40.0, 21)
        .iter()
        .enumerate()
        .map(|(n, vector)| match n % 7 {
            0..=3 => 0.0,
            4 if n % 11 < strange.len() => strange[n % 11],
            _ => vector[0],
        })
        .collect();
    let mut image = backend.upload(shape, &voxels)?;
    for (low, high) in [(0.0, 1.0), (0.02, 0.98), (0.5, 0.5001)] {
        let found = backend.quantiles(&image, low, high)?;
        let (low, high) = found.low_high.unwrap_or((f32::NAN, f32::NAN));
        out.values("quantiles", EXACT, vec![found.finite as f64, low.into(), high.into()]);
    }
    backend.clip(&mut image, (-3.0, 11.5), -3.0, 0.07)?;
    // What is not a number stays so.
    let (numbers, others): (Vec<f32>, Vec<f32>) = backend.download(&image)?.iter().partition(|value| !value.is_nan());
    out.values("clip", EXACT, numbers.into_iter().map(f64::from).chain([others.len() as f64]).collect());
    Ok(())
}

fn fields<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let (backend, shape) = (out.backend, world.shape);
    let vectors = World::field(shape, 1.5, 7);
    let first = backend.upload_field(shape, &vectors)?;
    let then = backend.upload_field(shape, &World::field(shape, 2.5, 11))?;
    out.field("upload_field", EXACT, &first)?;
    let mut result = backend.field(shape)?;
    out.field("field", EXACT, &result)?;
    backend.compose(&first, &then, &mut result)?;
    out.field("compose", EXACT, &result)?;
    let matrix = Matrix3::new(-1.0, 0.02, 0.1, 0.0, 1.1, -0.03, 0.05, 0.3, 2.5);
    let vectors_in_mm = backend.download_field_in(&result, &matrix)?;
    out.values("download_field_in", EXACT, vectors_in_mm.into_iter().flatten().map(f64::from).collect());
    out.field("upload_field_in", EXACT, &backend.upload_field_in(shape, &vectors, &matrix)?)?;
    let mut beside = [backend.field(shape)?, backend.field(shape)?];
    let [there, back] = &mut beside;
    backend.both(|| backend.advance(&first, &then, 0.3, there), || backend.advance(&then, &first, 0.7, back))?;
    out.field("both, first", EXACT, &beside[0])?;
    out.field("both, second", EXACT, &beside[1])?;
    backend.advance(&first, &then, 0.2, &mut result)?;
    out.field("advance", EXACT, &result)?;
    backend.advance(&first, &backend.field(shape)?, 0.2, &mut result)?;
    out.field("advance by nothing", EXACT, &result)?;

    out.values("magnitude", MEAN, vec![backend.magnitude(&then)?, backend.magnitude(&backend.field(shape)?)?]);
    let mut sum = backend.upload_field(shape, &vectors)?;
    backend.add_scaled(&mut sum, &then, -0.7)?;
    out.field("add_scaled", EXACT, &sum)?;

    let mut scratch = backend.field(shape)?;
    for variance in [0.0, 0.3, 1.0, 3.0, 6.0, 9.0, 16.0] {
        let mut smoothed = backend.upload_field(shape, &vectors)?;
        backend.smooth_field(&mut smoothed, variance, &mut scratch)?;
        out.field(format!("smooth_field {variance}"), SUMS, &smoothed)?;
    }

    let mut inverse = backend.field(shape)?;
    // The second field stretches space enough for Newton's steps.
    let steep = backend.upload_field(shape, &World::field(shape, 9.0, 7))?;
    for (name, field, steps, tolerance_voxels, untouched_voxels) in [
        ("gentle", &first, 20, 0.01, 0.0),
        ("steep", &steep, 20, 1e-3, 0.0),
        ("followed", &steep, 20, 0.01, 0.2),
        ("gentle", &first, 2, 0.0, 0.0),
    ] {
        backend.invert(field, &mut inverse, &InversionLimits { steps, tolerance_voxels, untouched_voxels })?;
        out.field(format!("invert {name}, {steps} steps"), EXACT, &inverse)?;
    }
    let mask = backend.upload(shape, &World::mask(shape, 29))?;
    let nothing = backend.image(shape)?;
    for (name, mask) in [("", None), (", masked", Some(&mask)), (", of nothing", Some(&nothing))] {
        scores(out, &format!("gentle{name}"), [&first, &inverse], mask)?;
        scores(out, &format!("steep{name}"), [&steep, &then], mask)?;
    }

    let mut resized = backend.field(world.other_shape)?;
    let back = world.map(0.1).inverse().unwrap_or_else(AffineTransform::identity);
    backend.resize_field(&first, &back, &matrix.cast(), &mut resized)?;
    out.field("resize_field", EXACT, &resized)?;
    // Folds; a field that its inverse misses; both, by a wide Gaussian.
    for (smallest_jacobian, largest_residual_voxels, variance_voxels, reach_voxels) in
        [(0.7, 100.0, 1.0, 1), (-100.0, 0.3, 1.0, 1), (0.3, 0.2, 4.0, 3)]
    {
        let limits = RelaxLimits { smallest_jacobian, largest_residual_voxels };
        let follow = InversionLimits { steps: 50, tolerance_voxels: 0.005, untouched_voxels: 0.1 };
        let round = RelaxRound { limits, variance_voxels, reach_voxels, follow };
        let mut there = backend.upload_field(shape, &World::field(shape, 9.0, 7))?;
        let mut back = backend.field(shape)?;
        backend.invert(
            &there,
            &mut back,
            &InversionLimits { steps: 3, tolerance_voxels: 0.0, untouched_voxels: 0.0 },
        )?;
        let mut relaxation = backend.relaxation(shape)?;
        for call in 0..5 {
            if call == 3 {
                backend.examine_all(&mut relaxation)?;
            }
            let beyond = backend.relax([&mut there, &mut back], &round, &mut relaxation)?;
            out.values(format!("relax {round:?}, call {call}"), EXACT, beyond.map(|n| n as f64).into());
            out.field(format!("relax {round:?}, call {call}, there"), EXACT, &there)?;
            out.field(format!("relax {round:?}, call {call}, back"), EXACT, &back)?;
        }
    }
    let mut determinant = backend.image(shape)?;
    backend.jacobian_determinant(&first, &mut determinant)?;
    out.image("jacobian_determinant", EXACT, &determinant)
}

fn correlation_ratio<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let backend = out.backend;
    let fixed = backend.upload(world.shape, &World::image(world.shape, 13))?;
    let weight = backend.upload(world.shape, &World::mask(world.shape, 17))?;
    let moving = backend.upload(world.other_shape, &World::image(world.other_shape, 19))?;
    let moving_weight = backend.upload(world.other_shape, &World::mask(world.other_shape, 23))?;
    let mut maps: Vec<AffineTransform> = (0..37).map(|n| world.map(0.02 * f64::from(n) - 0.3)).collect();
    maps[5].translation.x += 1e4;
    maps[6].matrix[(0, 0)] = f64::NAN;
    for (bins, edge) in [(32, [4.0, 3.0, 2.0]), (256, [0.5; 3]), (7, [0.0; 3])] {
        for (weights, fixed_weight, moving_weight) in
            [("", None, None), (", weighted", Some(&weight), Some(&moving_weight))]
        {
            let sorted = backend.bin_fixed(&fixed, fixed_weight, (0.1, 0.9), bins)?;
            let costs = backend.correlation_ratio(&sorted, &moving, moving_weight, edge, &maps)?;
            out.values(format!("correlation_ratio {bins}{weights}"), MOMENTS, costs);
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
        // An image that was read as a texture and written since must be read anew.
        backend.resample(&moving, &world.map(angle), 0.0, &mut changed)?;
        let costs = backend.correlation_ratio(&sorted, &changed, None, [1.0; 3], &maps[..1])?;
        out.values("correlation_ratio, rewritten", MOMENTS, costs);
    }
    Ok(())
}

fn joint_histograms<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let backend = out.backend;
    let fixed = backend.upload(world.shape, &World::image(world.shape, 13))?;
    let weight = backend.upload(world.shape, &World::mask(world.shape, 17))?;
    let moving = backend.upload(world.other_shape, &World::image(world.other_shape, 19))?;
    let moving_weight = backend.upload(world.other_shape, &World::mask(world.other_shape, 23))?;
    let mut maps: Vec<AffineTransform> = (0..37).map(|n| world.map(0.02 * f64::from(n) - 0.3)).collect();
    maps[5].translation.x += 1e4;
    maps[6].matrix[(0, 0)] = f64::NAN;
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

fn moments<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let backend = out.backend;
    let fixed = backend.upload(world.shape, &World::image(world.shape, 13))?;
    let weight = backend.upload(world.shape, &World::mask(world.shape, 17))?;
    let moving = backend.upload(world.other_shape, &World::image(world.other_shape, 19))?;
    let moving_weight = backend.upload(world.other_shape, &World::mask(world.other_shape, 23))?;
    let mut maps: Vec<AffineTransform> = (0..37).map(|n| world.map(0.02 * f64::from(n) - 0.3)).collect();
    maps[5].translation.x += 1e4;
    maps[6].matrix[(0, 0)] = f64::NAN;
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

/// The costs of two-dimensional images, which have no edge along the third axis.
fn slices<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    if [world.shape[2], world.other_shape[2]] != [1, 1] {
        return Ok(());
    }
    let backend = out.backend;
    let fixed = backend.upload(world.shape, &World::image(world.shape, 13))?;
    let weight = backend.upload(world.shape, &World::mask(world.shape, 17))?;
    let moving = backend.upload(world.other_shape, &World::image(world.other_shape, 19))?;
    let moving_weight = backend.upload(world.other_shape, &World::mask(world.other_shape, 23))?;
    let mut maps: Vec<AffineTransform> = (0..37).map(|n| world.plane_map(0.17 * f64::from(n) - 3.1)).collect();
    // Beside the slice, out of its plane, beyond its border, nowhere.
    maps[1].translation.z = 0.5;
    maps[2].matrix[(2, 0)] = 1e-3;
    maps[5].translation.x += 1e4;
    maps[6].matrix[(0, 0)] = f64::NAN;
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

fn cross_correlation<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let (backend, shape) = (out.backend, world.shape);
    let fixed = backend.upload(shape, &World::image(shape, 29))?;
    let moving = backend.upload(shape, &World::image(shape, 31))?;
    let masks = [backend.upload(shape, &World::mask(shape, 37))?, backend.upload(shape, &World::mask(shape, 41))?];
    let mut workspace = backend.cc_workspace(shape)?;
    let (mut to_fixed, mut to_moving) = (backend.field(shape)?, backend.field(shape)?);
    for radius in 1..=6 {
        for derivative in [CcDerivative::Centre, CcDerivative::Exact] {
            for masks in [[None, None], [Some(&masks[0]), None], [Some(&masks[0]), Some(&masks[1])]] {
                let masked = masks.iter().flatten().count();
                // The device has no tiles of this radius; its direct kernel knows the plain case alone.
                if radius > 5 && (derivative == CcDerivative::Exact || masked > 0) {
                    continue;
                }
                let noise_variance = if radius % 2 == 0 { 1e-3 } else { 0.0 };
                let parameters = CcParameters { radius, derivative, noise_variance, spacing: world.spacing };
                let energy = backend.cc_update(
                    &fixed,
                    &moving,
                    masks,
                    &parameters,
                    &mut workspace,
                    &mut to_fixed,
                    &mut to_moving,
                )?;
                let name = format!("cc {derivative:?} {radius}, {masked} masks");
                out.values(format!("{name}: energy"), ENERGY, vec![energy]);
                out.field(format!("{name}: fixed"), WINDOWS, &to_fixed)?;
                out.field(format!("{name}: moving"), WINDOWS, &to_moving)?;
            }
        }
    }
    Ok(())
}

fn mutual_information<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let (backend, shape) = (out.backend, world.shape);
    let fixed = backend.upload(shape, &World::image(shape, 43))?;
    let moving = backend.upload(shape, &World::image(shape, 47))?;
    let masks = [backend.upload(shape, &World::mask(shape, 37))?, backend.upload(shape, &World::mask(shape, 41))?];
    let (mut to_fixed, mut to_moving) = (backend.field(shape)?, backend.field(shape)?);
    // Few bins, the usual number, one that is no multiple of anything, and so many that they do not fit at once.
    for bins in [8, 32, 45, 200] {
        let mut workspace = backend.mi_workspace(bins)?;
        for masks in [[None, None], [None, Some(&masks[1])], [Some(&masks[0]), Some(&masks[1])]] {
            let name = format!("mi {bins}, {} masks", masks.iter().flatten().count());
            let parameters = MiParameters { bins, ranges: [(0.0, 1.0), (0.1, 0.9)], spacing: world.spacing };
            let energy = backend.mi_update(
                &fixed,
                &moving,
                masks,
                &parameters,
                &mut workspace,
                &mut to_fixed,
                &mut to_moving,
            )?;
            out.values(format!("{name}: energy"), MEAN, vec![energy]);
            out.field(format!("{name}: fixed"), LOGARITHMS, &to_fixed)?;
            out.field(format!("{name}: moving"), LOGARITHMS, &to_moving)?;
        }
    }
    Ok(())
}
