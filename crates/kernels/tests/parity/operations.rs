//! Runs all operations of the backend, with all their options, so that their results can be compared between devices.

use antsreg_core::AffineTransform;
use antsreg_core::io::Deflated;
use antsreg_kernels::{AxisMap, Backend, DistanceLimits, Error, InversionLimits, RelaxLimits, RelaxRound, Sampling};
use nalgebra::Matrix3;

use crate::inspected::Inspected;
use crate::sides::{both, moved, pair, sides, smoothed_updates};
use crate::world::World;
use crate::{bias, costs, fusion};

/// The result of an operation, and the allowed difference between two backends as a share of the largest magnitude.
pub struct Outcome {
    pub operation: String,
    pub values: Vec<f64>,
    pub tolerance: f64,
    pub cause: &'static str,
}

/// Tolerance of operations for which CPU and GPU do the same arithmetic in the same order: no difference is allowed.
pub const EXACT: (f64, &str) = (0.0, "the same arithmetic on both sides");
/// Tolerance of sums in another order. A sum of the Gaussian smoothing has up to 31 terms along each axis.
pub const SUMS: (f64, &str) = (2e-6, "sums of single precision in another order");
const SUMS_OF_PAIRS: (f64, &str) = (1e-11, "differences of sums of double precision in another order");
pub const MEAN: (f64, &str) = (1e-12, "sums of double precision in another order");

pub struct Outcomes<'a, B: Backend> {
    pub backend: &'a B,
    list: Vec<Outcome>,
}

impl<B: Backend> Outcomes<'_, B> {
    pub fn values(
        &mut self,
        operation: impl Into<String>,
        (tolerance, cause): (f64, &'static str),
        values: Vec<f64>,
    ) {
        self.list.push(Outcome { operation: operation.into(), values, tolerance, cause });
    }

    pub fn image(
        &mut self,
        operation: impl Into<String>,
        rule: (f64, &'static str),
        image: &B::Image,
    ) -> Result<(), Error> {
        let values = self.backend.download(image)?.into_iter().map(f64::from).collect();
        self.values(operation, rule, values);
        Ok(())
    }

    pub fn field(
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

/// Runs all operations of a backend on a set of test data (images, displacement fields and affine maps), and returns
/// their results.
pub fn run<B: Inspected>(backend: &B, world: &World) -> Result<Vec<Outcome>, Error> {
    let mut out = Outcomes { backend, list: Vec::new() };
    copies(&mut out, world)?;
    images(&mut out, world)?;
    splines(&mut out, world)?;
    intensities(&mut out, world)?;
    fields(&mut out, world)?;
    sides(&mut out, world)?;
    bias::bias(&mut out, world)?;
    fusion::fusion(&mut out, world)?;
    costs::correlation_ratio(&mut out, world)?;
    costs::joint_histograms(&mut out, world)?;
    costs::moments(&mut out, world)?;
    costs::contrast(&mut out, world)?;
    costs::fit_sums(&mut out, world)?;
    costs::slices(&mut out, world)?;
    costs::cross_correlation(&mut out, world)?;
    costs::mutual_information(&mut out, world)?;
    Ok(out.list)
}

/// Copies images and fields on the device, and reads arrays that the backend lends to other libraries, so that the
/// results can be compared between devices.
fn copies<B: Inspected>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let shape = world.shape;
    let image = out.backend.upload(shape, &World::image(shape, 5))?;
    let field = out.backend.upload_field(shape, &World::field(shape, 2.0, 3))?;
    let copy = out.backend.copy(&image)?;
    out.image("copy", EXACT, &copy)?;
    let to_world = Matrix3::new(1.5, 0.25, -0.125, 0.5, -2.0, 0.75, 0.0, 0.375, 1.25);
    let lent = [out.backend.lend_image(&image)?, out.backend.lend_field(&field, &to_world, Some(0.25))?];
    drop((image, field, copy));
    for (lent, name) in lent.iter().zip(["lend_image", "lend_field"]) {
        let numbers = out.backend.numbers_of(lent)?;
        out.values(name, EXACT, numbers.into_iter().map(f64::from).collect());
    }
    Ok(())
}

/// Quality scores of two displacement fields: inverse consistency, and statistics of Jacobian determinants.
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
    let counts = [found.voxels, found.folded, found.corner_folded].map(|count| count as f64);
    out.values(format!("jacobian_summary {name}, counts"), EXACT, counts.into());
    out.values(
        format!("jacobian_summary {name}, extremes"),
        EXACT,
        vec![found.minimum, found.maximum, found.corner_minimum],
    );
    Ok(())
}

/// Runs the operations in which a GPU thread processes several slices, on a volume that is large enough for this.
pub fn run_large<B: Backend>(backend: &B) -> Result<Vec<Outcome>, Error> {
    let mut out = Outcomes { backend, list: Vec::new() };
    let shape = [163, 171, 167];
    let image = backend.upload(shape, &World::image(shape, 3))?;
    let vectors = World::field(shape, 3.0, 7);
    let (first, mut composed) = (backend.upload_field(shape, &vectors)?, backend.upload_field(shape, &vectors)?);
    let then = backend.upload_field(shape, &World::field(shape, 2.0, 11))?;
    backend.compose(&mut composed, &then)?;
    out.field("compose", EXACT, &composed)?;
    deflated(&mut out, shape, &vectors)?;
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
    let large = World { name: "large", shape, other_shape: [150, 180, 160], spacing: [1.0; 3] };
    let other = backend.upload(large.other_shape, &World::image(large.other_shape, 5))?;
    moved(&mut out, shape, [&image, &other], [&AffineTransform::identity(), &large.map(0.1)])?;
    // A volume that is wider than a tile of the smoothing kernels and has several chunks of slices. The variances below
    // cover all kernel radii.
    let wide = [205, 93, 131];
    for reversed in [false, true] {
        let (mut smoothed, mut scratch) = (pair(backend, wide, [7, 11], 3.0)?, backend.field_pair(wide)?);
        // If the two fields are passed in reversed order, the second field no longer follows the first in memory. Then
        // the GPU smooths them one after the other.
        if reversed {
            smoothed.reverse();
        }
        for variance in [0.3, 1.0, 2.0, 3.0, 5.0, 8.0] {
            backend.smooth_both_fields(smoothed.each_mut(), variance, scratch.each_mut())?;
            both(&mut out, &format!("smooth_both_fields {variance}, reversed {reversed}"), SUMS, &smoothed)?;
        }
    }
    smoothed_updates(&mut out, wide, [1.0, 1.2, 0.9], &[0.3, 1.0, 3.0, 8.0])?;
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
    for (spacing_mm, inside_mm, outside_mm) in [([1.0; 3], 6.0, 12.0), ([0.8, 1.0, 3.1], 1.5, 4.5)] {
        let limits = DistanceLimits { inside_mm, outside_mm };
        let distance = backend.signed_distance(&image, spacing_mm, limits)?;
        out.image(format!("signed_distance {spacing_mm:?}"), EXACT, &distance)?;
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
    // Besides a shape of the test world, volumes with axes of one and two voxels are tested, and with axes of 31 to 33
    // voxels: the GPU computes the first spline coefficient of a line from at most 32 voxels.
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
    // Test intensities like those of a brain image: half of the voxels have one value. Some values are not finite.
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
    for (low, high) in [(0.0, 1.0), (0.02, 0.98)] {
        let found = backend.foreground_quantiles(&image, low, high)?;
        let (low, high) = found.low_high.unwrap_or((f32::NAN, f32::NAN));
        out.values("foreground_quantiles", EXACT, vec![found.finite as f64, low.into(), high.into()]);
    }
    backend.clip(&mut image, (-3.0, 11.5), -3.0, 0.07)?;
    for spacing in [[1.0; 3], [0.8, 1.0, 3.1]] {
        let bins = backend.gradient_profile(&image, spacing)?;
        let numbers = bins.iter().flat_map(|bin| [bin.voxels as f64, bin.gradient]).collect();
        out.values(format!("gradient_profile {spacing:?}"), EXACT, numbers);
    }
    // NaN must stay NaN. NaNs are counted, and the other values are compared.
    let numbers = |image: &B::Image| -> Result<Vec<f64>, Error> {
        let (numbers, others): (Vec<f32>, Vec<f32>) =
            backend.download(image)?.iter().partition(|value| !value.is_nan());
        Ok(numbers.into_iter().map(f64::from).chain([others.len() as f64]).collect())
    };
    out.values("clip", EXACT, numbers(&image)?);
    let curve: Vec<f32> = (0..=100_u8).map(|n| (f32::from(n) * 0.37).sin()).collect();
    backend.map_intensities(&mut image, &curve)?;
    out.values("map_intensities", EXACT, numbers(&image)?);
    Ok(())
}

/// Compresses a field and its first component as an image, the same field with zeros around its middle as in the warp of a brain, a field of equal vectors,
/// and noise.
fn deflated<B: Backend>(out: &mut Outcomes<'_, B>, shape: [usize; 3], vectors: &[[f32; 3]]) -> Result<(), Error> {
    let middle = vectors.iter().map(|vector| if vector[0].abs() < 0.4 { [0.0; 3] } else { *vector }).collect();
    let noise = World::image([3 * shape[0], shape[1], shape[2]], 17);
    let noise = noise.as_chunks().0.iter().map(|values: &[f32; 3]| values.map(|value| value * value)).collect();
    let cases = [("field", vectors.to_vec()), ("middle", middle), ("equal", vec![vectors[0]; vectors.len()])];
    for (name, vectors) in cases.into_iter().chain([("noise", noise)]) {
        let voxels: Vec<f32> = vectors.iter().map(|vector| vector[0]).collect();
        let image = out.backend.deflate_image(&out.backend.upload(shape, &voxels)?)?;
        out.values(format!("deflate_image {name}"), EXACT, numbers_of(&image));
        let field = out.backend.upload_field(shape, &vectors)?;
        for (step, factors) in
            [(None, [1.0; 3].as_slice()), (Some(1.0 / 1024.0), &[-1.0, -1.0, 1.0]), (None, &[-1.0, -1.0])]
        {
            let deflated = out.backend.deflate_field_in(&field, &Matrix3::identity(), step, factors)?;
            out.values(format!("deflate_field_in {name}"), EXACT, numbers_of(&deflated));
        }
    }
    Ok(())
}

/// The bytes, the checksum and the counts of compressed numbers. A number in double precision holds six bytes.
fn numbers_of(deflated: &Deflated) -> Vec<f64> {
    let of_six = |bytes: &[u8]| bytes.iter().fold(0.0, |sum, byte| 256.0 * sum + f64::from(*byte));
    let sizes = [deflated.checksum.into(), deflated.count as f64, deflated.bytes.len() as f64];
    deflated.bytes.chunks(6).map(of_six).chain(sizes).collect()
}

fn fields<B: Inspected>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let (backend, shape) = (out.backend, world.shape);
    let vectors = World::field(shape, 1.5, 7);
    let first = backend.upload_field(shape, &vectors)?;
    let then = backend.upload_field(shape, &World::field(shape, 2.5, 11))?;
    out.field("upload_field", EXACT, &first)?;
    out.field("field", EXACT, &backend.field(shape)?)?;
    let mut result = backend.upload_field(shape, &vectors)?;
    backend.compose(&mut result, &then)?;
    out.field("compose", EXACT, &result)?;
    let matrix = Matrix3::new(-1.0, 0.02, 0.1, 0.0, 1.1, -0.03, 0.05, 0.3, 2.5);
    for step in [None, Some(1.0 / 64.0)] {
        let vectors_in_mm = backend.download_field_in(&result, &matrix, step)?;
        out.values("download_field_in", EXACT, vectors_in_mm.into_iter().flatten().map(f64::from).collect());
    }
    let back = matrix.try_inverse().unwrap_or_default();
    deflated(out, shape, &vectors)?;
    out.field("round_field", EXACT, &backend.round_field(&result, [&matrix, &back], 1.0 / 64.0)?)?;
    out.field("upload_field_in", EXACT, &backend.upload_field_in(shape, &vectors, &matrix)?)?;

    out.values("magnitude", MEAN, vec![backend.magnitude(&then)?, backend.magnitude(&backend.field(shape)?)?]);
    let mut sum = backend.upload_field(shape, &vectors)?;
    backend.add_scaled(&mut sum, &then, -0.7)?;
    out.field("add_scaled", EXACT, &sum)?;

    let mut inverse = backend.field(shape)?;
    // This field is so steep that its inversion needs Newton steps.
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

    for axis in 0..3 {
        // Some rows end at the last voxel of the axis, and one has more weights than the others.
        let length = shape[axis];
        let rows: Vec<(usize, Vec<f64>)> = (0..2 * length + 1)
            .map(|row| {
                let first = row * 5 % length;
                (first, (0..(length - first).min(2 + row % 4)).map(|k| 0.4 - 0.15 * (k + row % 3) as f64).collect())
            })
            .collect();
        let map = AxisMap::new(length, &rows)?;
        let mut mapped = backend.field(map.mapped(shape, axis))?;
        backend.map_axis(&first, axis, &backend.axis_map(&map)?, &mut mapped)?;
        out.field(format!("map_axis, axis {axis}"), EXACT, &mapped)?;
    }
    let mut resized = backend.field(world.other_shape)?;
    let back = world.map(0.1).inverse().unwrap_or_else(AffineTransform::identity);
    backend.resize_field(&first, &back, &matrix.cast(), &mut resized)?;
    out.field("resize_field", EXACT, &resized)?;
    // Updates that are restricted to some components: components are set to 0 on a grid along the world axes, and mixed
    // on an oblique grid.
    let mut restricted = backend.field(shape)?;
    for weights in [[1.0, 1.0, 0.0], [0.0, 1.0, 0.25], [0.0, 0.0, 1.0]] {
        let diagonal = Matrix3::from_diagonal(&weights.into());
        let oblique = world.map(0.1).matrix;
        let mixed = oblique.try_inverse().map_or(diagonal, |back| back * diagonal * oblique);
        for (name, matrix) in [("held", diagonal), ("held, oblique", mixed)] {
            backend.resize_field(&first, &AffineTransform::identity(), &matrix, &mut restricted)?;
            out.field(format!("resize_field {name} {weights:?}"), EXACT, &restricted)?;
        }
    }
    const FREE: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    const OBLIQUE: [[f32; 3]; 3] = [[0.64, 0.48, 0.0], [0.48, 0.36, 0.0], [0.0, 0.0, 1.0]];
    // Relaxation of a pair of fields in five cases: folds that are smoothed; a field that deviates from the inverse of
    // the other; both, with a wide Gaussian; folds that are corrected by displacing voxels; and all of these together.
    for (smallest_jacobian, largest_residual_voxels, variance_voxels, reach_voxels, unfolds, allowed) in [
        (0.7, 100.0, 1.0, 1, false, FREE),
        (-100.0, 0.3, 1.0, 1, false, FREE),
        (0.3, 0.2, 4.0, 3, false, FREE),
        (0.7, 100.0, 1.0, 1, true, OBLIQUE),
        (0.3, 0.2, 4.0, 3, true, FREE),
    ] {
        let limits = RelaxLimits { smallest_jacobian, largest_residual_voxels };
        let follow = InversionLimits { steps: 50, tolerance_voxels: 0.005, untouched_voxels: 0.1 };
        let round = RelaxRound { limits, variance_voxels, reach_voxels, unfolds, allowed, follow };
        let mut there = backend.upload_field(shape, &World::field(shape, 9.0, 7))?;
        let mut back = backend.field(shape)?;
        backend.invert(
            &there,
            &mut back,
            &InversionLimits { steps: 3, tolerance_voxels: 0.0, untouched_voxels: 0.0 },
        )?;
        let mut relaxation = backend.relax_workspace(shape)?;
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
