//! Measures the time of each kernel on a CUDA device for volumes of a 1 mm brain, and compares this time with the time
//! to copy as many bytes: `cargo bench -p antsreg-kernels --bench cuda_kernels`.

mod operands;

use antsreg_core::AffineTransform;
use antsreg_kernels::bias::{BiasBackend, MeshAxis, Reach, Samples, Sharpened};
use antsreg_kernels::cuda::{Field, Image, KernelTime};
use antsreg_kernels::fusion::{FusionBackend, Images, Parameters, Patches, Scaled};
use antsreg_kernels::ops::{Fields, Intensity, Memory, Relaxation, Similarity, Warping};
use antsreg_kernels::{
    CcDerivative, CcKernels, CcParameters, Cuda, Error, FitRule, InversionLimits, JointParameters, JointSampling,
    MetricOutput, MiParameters, RelaxLimits, RelaxRound, Sampling,
};
use nalgebra::Matrix3;
use operands::{brain, field, noise, turn};

/// Shape of a brain image at 1 mm.
const SHAPE: [usize; 3] = [162, 214, 167];
/// Number of sets of operands. Successive rounds of a measurement use different sets, because all sets together are
/// larger than the device's cache.
const SETS: usize = 4;
const ROUNDS: usize = 24;

fn main() {
    if let Err(error) = run() {
        eprintln!("cuda_kernels: {error}");
        std::process::exit(1)
    }
}

fn print(bandwidth: f64, times: &[KernelTime], note: &str) {
    for time in times {
        let bytes = time.bytes as f64 / time.launches as f64;
        println!(
            "{:<28} {:>4} {:>9.1} {:>9.1} {:>8.1} {:>7.0} {:>5.0}%  {note}",
            time.name,
            time.launches,
            time.median * 1e6,
            time.fastest * 1e6,
            bytes / 1e6,
            bytes / time.median / 1e9,
            100.0 * bytes / time.median / bandwidth
        );
    }
}

fn timed(
    cuda: &Cuda,
    bandwidth: f64,
    note: &str,
    mut work: impl FnMut(usize) -> Result<(), Error>,
) -> Result<(), Error> {
    for round in 0..SETS {
        work(round % SETS)?;
    }
    cuda.start_profile();
    for round in 0..ROUNDS {
        work(round % SETS)?;
    }
    print(bandwidth, &cuda.finish_profile()?, note);
    Ok(())
}

fn run() -> Result<(), Error> {
    let start = std::time::Instant::now();
    let cuda = Cuda::open(0)?;
    let opened = start.elapsed();
    let bandwidth = cuda.copy_bandwidth()?;
    let memory = cuda.memory()?;
    println!(
        "{}: opened in {:.0} ms, copies data at {:.0} GB/s, {:.1} of {:.1} GB of memory free",
        cuda.info().name,
        opened.as_secs_f64() * 1e3,
        bandwidth / 1e9,
        memory.free as f64 / 1e9,
        memory.total as f64 / 1e9
    );
    println!("kernel                   launches median µs   best µs MB/launch   GB/s  % of copy speed");
    let images = (0..SETS as u32).map(|seed| brain(&cuda, SHAPE, seed)).collect::<Result<Vec<_>, _>>()?;
    let fields = (0..SETS as u32).map(|seed| field(&cuda, SHAPE, 7 + seed)).collect::<Result<Vec<_>, _>>()?;
    let mut outs = (0..SETS).map(|_| cuda.field(SHAPE)).collect::<Result<Vec<_>, _>>()?;
    let mut targets = (0..SETS).map(|_| cuda.image(SHAPE)).collect::<Result<Vec<_>, _>>()?;
    let map = turn();

    timed(&cuda, bandwidth, "turned", |n| cuda.resample(&images[n], &map, 0.0, &mut targets[n]))?;
    for sampling in [Sampling::Linear, Sampling::Nearest] {
        timed(&cuda, bandwidth, "", |n| cuda.warp(&images[n], &fields[n], &map, sampling, &mut targets[n]))?;
    }
    timed(&cuda, bandwidth, "", |n| cuda.spline_coefficients(&images[n]).map(drop))?;
    let splines = images.iter().map(|image| cuda.spline_coefficients(image)).collect::<Result<Vec<_>, _>>()?;
    timed(&cuda, bandwidth, "turned", |n| cuda.warp_spline(&splines[n], &fields[n], &map, &mut targets[n]))?;
    timed(&cuda, bandwidth, "turned", |n| cuda.warp_sinc(&images[n], &fields[n], &map, &mut targets[n]))?;
    for sigma in [1.0, 2.0, 3.0, 5.5] {
        timed(&cuda, bandwidth, &format!("image, sigma {sigma}"), |n| cuda.smooth(&images[n], [sigma; 3]).map(drop))?;
    }
    for variance in [0.3, 0.5, 1.0, 3.0, 6.0] {
        let mut own = (0..SETS as u32).map(|seed| field(&cuda, SHAPE, 17 + seed)).collect::<Result<Vec<_>, _>>()?;
        let mut scratch = cuda.field_pair(SHAPE)?;
        timed(&cuda, bandwidth, &format!("field, variance {variance}"), |n| {
            let (low, high) = own.split_at_mut(SETS / 2);
            let pair = [&mut low[n % 2], &mut high[n / 2]];
            cuda.smooth_both_fields(pair, variance, scratch.each_mut())
        })?;
    }
    let mut composed = (0..SETS as u32).map(|seed| field(&cuda, SHAPE, 7 + seed)).collect::<Result<Vec<_>, _>>()?;
    // `outs` displaces nothing, so the fields stay as they are, however often they are composed.
    timed(&cuda, bandwidth, "", |n| cuda.compose(&mut composed[n], &outs[n]))?;
    let mut pair = cuda.field_pair(SHAPE)?;
    timed(&cuda, bandwidth, "both sides", |n| {
        cuda.advance_both(pair.each_mut(), [&fields[(n + 2) % SETS], &fields[(n + 3) % SETS]], 0.2)
    })?;
    for (steps, note) in [(1, "1 step"), (2, "2 steps"), (20, "to 0.01 voxel")] {
        let tolerance_voxels = if steps == 20 { 0.01 } else { 0.0 };
        let limits = InversionLimits { steps, tolerance_voxels, untouched_voxels: 0.0 };
        timed(&cuda, bandwidth, note, |n| cuda.invert(&fields[n], &mut outs[n], &limits))?;
    }
    let mut inverses = (0..SETS).map(|_| cuda.field(SHAPE)).collect::<Result<Vec<_>, _>>()?;
    for (field, inverse) in fields.iter().zip(&mut inverses) {
        cuda.invert(field, inverse, &InversionLimits { steps: 20, tolerance_voxels: 0.01, untouched_voxels: 0.0 })?;
    }
    timed(&cuda, bandwidth, "", |n| {
        cuda.resize_field(&fields[n], &AffineTransform::identity(), &Matrix3::identity(), &mut outs[n])
    })?;
    timed(&cuda, bandwidth, "", |n| cuda.jacobian_determinant(&fields[n], &mut targets[n]))?;
    for (note, masked) in [("", false), ("masked", true)] {
        let mask = |n: usize| masked.then_some(&images[n]);
        let other = |n: usize| &images[(n + 1) % SETS];
        timed(&cuda, bandwidth, note, |n| cuda.correlation(&images[n], other(n), mask(n)).map(drop))?;
        timed(&cuda, bandwidth, note, |n| cuda.jacobian_summary(&fields[n], mask(n)).map(drop))?;
        timed(&cuda, bandwidth, note, |n| cuda.inverse_consistency(&fields[n], &inverses[n], mask(n)).map(drop))?;
    }
    relaxing(&cuda, bandwidth, &fields)?;
    timed(&cuda, bandwidth, "", |n| cuda.magnitude(&fields[n]).map(drop))?;
    timed(&cuda, bandwidth, "", |n| cuda.add_scaled(&mut outs[n], &fields[n], 0.5))?;
    timed(&cuda, bandwidth, "smoothed update", |n| {
        cuda.smoothed_update(&images[n], &mut targets[n], [1.0; 3], 3.0, &mut outs[n])
    })?;
    cross_correlation(&cuda, bandwidth, &images)?;
    mutual_information(&cuda, bandwidth, &images)?;
    correlation_ratio(&cuda, bandwidth, &images, &map)?;
    joint_histograms(&cuda, bandwidth, &images, &map)?;
    bias_field(&cuda, bandwidth)?;
    fusion(&cuda, bandwidth)?;
    fits(&cuda, bandwidth)
}

/// Measures the time of `fit_sums`, the sums for least-squares fits, for 32 volumes of an EPI series as in motion
/// correction. The numbers of reference points are those of a coarse and of a fine level.
fn fits(cuda: &Cuda, bandwidth: f64) -> Result<(), Error> {
    const SHAPE: [usize; 3] = [64, 64, 36];
    const FUNCTIONS: usize = 8;
    let voxels: usize = SHAPE.iter().product();
    let of_volume = |seed| cuda.spline_coefficients(&brain(cuda, SHAPE, seed)?);
    let volumes = (0..32).map(of_volume).collect::<Result<Vec<_>, _>>()?;
    let volumes: Vec<&Image> = volumes.iter().collect();
    let rule = FitRule { margin: [1; 3], origin: 0.5, scale: 4.0 };
    for (count, note) in [(10_000, "coarse"), (40_000, "fine")] {
        // In motion correction, the reference points are the voxels with the strongest gradients, in the order of
        // memory. Here they are voxels at equal distances in memory, in the same order.
        let voxel = |n: usize| n * voxels / count;
        let [x, y] = [SHAPE[0], SHAPE[1]];
        let axes: [fn(usize, [usize; 2]) -> usize; 3] =
            [|n, [x, _]| n % x, |n, [x, y]| n / x % y, |n, [x, y]| n / (x * y)];
        let mut rows: Vec<f32> = Vec::new();
        for axis in axes {
            rows.extend((0..count).map(|n| axis(voxel(n), [x, y]) as f32));
        }
        rows.extend(noise(3, count * FUNCTIONS));
        let points = cuda.upload([count, 3 + FUNCTIONS, 1], &rows)?;
        for (moved, shift) in [("", 0.4), (", slices outside", 4.0)] {
            let at: Vec<_> = (0..volumes.len())
                .map(|n| {
                    let translation = nalgebra::Vector3::new(0.3, -0.01 * n as f64, shift);
                    (n, AffineTransform { translation, ..AffineTransform::identity() })
                })
                .collect();
            timed(cuda, bandwidth, &format!("32 volumes, {note}{moved}"), |_| {
                cuda.fit_sums(&points, &volumes, &rule, &at).map(drop)
            })?;
        }
    }
    Ok(())
}

/// Measures two rounds of relaxation, the correction of folds and of poor inverse consistency in a pair of fields. The
/// first round examines all voxels, the second only regions near changed voxels.
fn relaxing(cuda: &Cuda, bandwidth: f64, fields: &[Field]) -> Result<(), Error> {
    let limits = RelaxLimits { smallest_jacobian: 0.01, largest_residual_voxels: 0.45 };
    const FREE: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let follow = InversionLimits { steps: 50, tolerance_voxels: 0.005, untouched_voxels: 0.3 };
    let round = RelaxRound { limits, variance_voxels: 1.0, reach_voxels: 1, unfolds: true, allowed: FREE, follow };
    let mut there = fields.iter().map(|field| copy(cuda, field)).collect::<Result<Vec<_>, _>>()?;
    let mut back = fields.iter().map(|_| cuda.field(SHAPE)).collect::<Result<Vec<_>, _>>()?;
    for (there, back) in there.iter().zip(&mut back) {
        cuda.invert(there, back, &InversionLimits { untouched_voxels: 0.0, ..follow })?;
    }
    let mut relaxation = cuda.relax_workspace(SHAPE)?;
    for (note, everywhere) in [("everywhere", true), ("where something changed", false)] {
        timed(cuda, bandwidth, note, |n| {
            if everywhere {
                cuda.examine_all(&mut relaxation)?;
            }
            cuda.relax([&mut there[n], &mut back[n]], &round, &mut relaxation).map(drop)
        })?;
    }
    Ok(())
}

fn copy(cuda: &Cuda, field: &Field) -> Result<Field, Error> {
    cuda.upload_field(SHAPE, &cuda.download_field(field)?)
}

fn output(fields: &mut [Field; 2]) -> MetricOutput<'_, Cuda> {
    MetricOutput::Updates { fields: fields.each_mut(), spacing: [1.0; 3] }
}

fn cross_correlation(cuda: &Cuda, bandwidth: f64, images: &[Image]) -> Result<(), Error> {
    let mut workspace = cuda.cc_workspace(SHAPE)?;
    let mut out = cuda.field_pair(SHAPE)?;
    let direct = cuda.direct_cc(SHAPE)?;
    for radius in [1, 2, 3, 4, 5] {
        for derivative in [CcDerivative::Centre, CcDerivative::Exact] {
            let parameters = CcParameters { radius, derivative, noise_variance: 0.0, kernels: CcKernels::Tiled };
            timed(cuda, bandwidth, &format!("{derivative:?}"), |n| {
                let (pair, out) = ([&images[n], &images[(n + 1) % SETS]], output(&mut out));
                cuda.cc_gradient(pair, [None; 2], &parameters, &mut workspace, out, None).map(drop)
            })?;
        }
        if radius == 2 || radius == 5 {
            let parameters = CcParameters {
                radius,
                derivative: CcDerivative::Centre,
                noise_variance: 0.0,
                kernels: CcKernels::Tiled,
            };
            timed(cuda, bandwidth, &format!("radius {radius}"), |n| {
                let (pair, out) = ([&images[n], &images[(n + 1) % SETS]], output(&mut out));
                direct.gradient(cuda, pair, [None; 2], &parameters, out).map(drop)
            })?;
        }
    }
    let parameters =
        CcParameters { radius: 2, derivative: CcDerivative::Centre, noise_variance: 0.0, kernels: CcKernels::Tiled };
    let mask = cuda.upload(SHAPE, &vec![1.0; SHAPE.iter().product()])?;
    timed(cuda, bandwidth, "one mask", |n| {
        let (pair, out) = ([&images[n], &images[(n + 1) % SETS]], output(&mut out));
        cuda.cc_gradient(pair, [Some(&mask), None], &parameters, &mut workspace, out, None).map(drop)
    })
}

fn mutual_information(cuda: &Cuda, bandwidth: f64, images: &[Image]) -> Result<(), Error> {
    let mut out = cuda.field_pair(SHAPE)?;
    // Three kinds of images: noise everywhere, a head in an empty volume, and an empty volume.
    let heads = images.iter().map(|image| head(cuda, image)).collect::<Result<Vec<_>, _>>()?;
    let empty = cuda.image(SHAPE)?;
    for bins in [32, 64, 128] {
        let mut workspace = cuda.mi_workspace(bins)?;
        let parameters = MiParameters { bins, ranges: [(0.0, 1.0); 2] };
        for what in ["noise", "head", "empty"] {
            timed(cuda, bandwidth, &format!("{bins} bins, {what}"), |n| {
                let (fixed, moving) = match what {
                    "noise" => (&images[n], &images[(n + 1) % SETS]),
                    "head" => (&heads[n], &heads[(n + 1) % SETS]),
                    _ => (&empty, &empty),
                };
                cuda.mi_gradient([fixed, moving], [None; 2], &parameters, &mut workspace, output(&mut out)).map(drop)
            })?;
        }
    }
    Ok(())
}

/// A copy of the image that is 0 outside an ellipsoid in the middle, which fills a third of the volume.
fn head(cuda: &Cuda, image: &Image) -> Result<Image, Error> {
    let mut voxels = cuda.download(image)?;
    for (n, voxel) in voxels.iter_mut().enumerate() {
        let at = [n % SHAPE[0], n / SHAPE[0] % SHAPE[1], n / SHAPE[0] / SHAPE[1]];
        let r: f64 = (0..3).map(|axis| (at[axis] as f64 / SHAPE[axis] as f64 - 0.5).powi(2)).sum();
        *voxel = if r < 0.185 { *voxel } else { 0.0 };
    }
    cuda.upload(SHAPE, &voxels)
}

fn correlation_ratio(cuda: &Cuda, bandwidth: f64, images: &[Image], map: &AffineTransform) -> Result<(), Error> {
    let sorted = cuda.bin_fixed(&images[0], None, (0.2, 0.8), 256)?;
    timed(cuda, bandwidth, "256 bins", |n| cuda.bin_fixed(&images[n], None, (0.2, 0.8), 256).map(drop))?;
    let small = [22, 27, 21];
    let coarse = cuda.upload(small, &noise(5, small.iter().product()))?;
    let sorted_coarse = cuda.bin_fixed(&coarse, None, (0.2, 0.8), 32)?;
    let to_moving = AffineTransform { matrix: map.matrix * 7.5, translation: map.translation };
    for filtered in [false, true] {
        cuda.filter_by_texture(filtered);
        for count in [1, 8] {
            let maps = vec![*map; count];
            timed(cuda, bandwidth, &format!("1 mm, {count} transforms"), |_| {
                cuda.correlation_ratio(&sorted, &images[1], None, [1.0; 3], &maps).map(drop)
            })?;
        }
        for count in [1, 64, 1331] {
            let maps = vec![to_moving; count];
            timed(cuda, bandwidth, &format!("8 mm, {count} transforms"), |_| {
                cuda.correlation_ratio(&sorted_coarse, &images[1], None, [8.0; 3], &maps).map(drop)
            })?;
        }
    }
    Ok(())
}

/// Measures the operations of N4 with the meshes of the first and of the last level. The samples are every fourth
/// voxel, along each axis, of a volume of 256×256×176 voxels.
fn bias_field(cuda: &Cuda, bandwidth: f64) -> Result<(), Error> {
    let (shape, full) = ([64, 64, 44], [256, 256, 176]);
    let logarithms = cuda.upload(shape, &noise(3, shape.iter().product()))?;
    let weights = cuda.upload(shape, &vec![1.0; shape.iter().product()])?;
    let samples = Samples { logarithms: &logarithms, weights: &weights };
    for elements in [2, 16] {
        let axes = |shape: [usize; 3]| -> Result<[MeshAxis; 3], Error> {
            let [x, y, z] = shape.map(|places| bias_axis(places, elements));
            Ok([x?, y?, z?])
        };
        let field = vec![0.0; (elements + 3_usize).pow(3)];
        let mut mesh = cuda.bias_mesh(&weights, &axes(shape)?, &field)?;
        let mut left = cuda.copy(&logarithms)?;
        let expected: Vec<f64> = (0..200).map(|n| 0.2 + 0.003 * f64::from(n)).collect();
        let sharpened = Sharpened { low: 0.0, width: 0.005, expected: &expected };
        timed(cuda, bandwidth, &format!("{elements} elements"), |_| {
            cuda.bias_step(samples, &sharpened, &mut mesh, &mut left).map(drop)
        })?;
        let (axes, mut image) = (axes(full)?, cuda.image(full)?);
        timed(cuda, bandwidth, &format!("{elements} elements"), |_| cuda.bias_divide(&axes, &field, &mut image))?;
    }
    Ok(())
}

/// Compares patches of a target with those of four atlases, around a quarter of the voxels of a brain image.
fn fusion(cuda: &Cuda, bandwidth: f64) -> Result<(), Error> {
    let voxels = |seed| cuda.download(&brain(cuda, SHAPE, seed)?);
    let (target, atlases) = (voxels(1)?, (2..6).map(voxels).collect::<Result<Vec<_>, Error>>()?);
    let scaled: Vec<Scaled> = atlases.iter().map(|voxels| Scaled::new(voxels)).collect();
    let images = Images { shape: SHAPE, target: Scaled::new(&target), atlases: &scaled };
    let set: Vec<bool> = (0..target.len()).map(|voxel| voxel % SHAPE[0] / 8 % 4 == 1).collect();
    let patches = Patches::around(&set, SHAPE);
    let parameters = Parameters { patch_radius: 2, search_radius: 3, alpha: 0.1, beta: 2.0, not_negative: false };
    timed(cuda, bandwidth, "4 atlases", |_| cuda.fusion_choices(&images, &patches, &parameters).map(drop))
}

/// Makes an axis of a mesh with the weights of linear interpolation. Computing with these weights takes as long as with
/// B-spline weights.
fn bias_axis(places: usize, elements: usize) -> Result<MeshAxis, Error> {
    let reach = |place: usize| {
        let at = (elements * place) as f64 / places as f64;
        Reach { first: at as usize, weights: [0.0, 1.0 - at.fract(), at.fract(), 0.0] }
    };
    MeshAxis::new((0..places).map(reach).collect(), elements + 3)
}

fn joint_histograms(cuda: &Cuda, bandwidth: f64, images: &[Image], map: &AffineTransform) -> Result<(), Error> {
    let low_high = (0.2, 0.8);
    for bins in [64, 256] {
        let sorted = cuda.bin_fixed(&images[0], None, low_high, bins)?;
        for sampling in [JointSampling::Trilinear, JointSampling::PartialVolume] {
            let parameters = JointParameters { sampling, bins, low_high };
            for count in [1, 8] {
                let maps = vec![*map; count];
                timed(cuda, bandwidth, &format!("{bins}² bins, {count} transforms"), |_| {
                    cuda.joint_entropies(&sorted, &images[1], None, [1.0; 3], &parameters, &maps).map(drop)
                })?;
            }
        }
    }
    for count in [1, 8] {
        let maps = vec![*map; count];
        timed(cuda, bandwidth, &format!("{count} transforms"), |_| {
            cuda.moments(&images[0], &images[1], [None; 2], [low_high; 2], [1.0; 3], &maps).map(drop)
        })?;
    }
    Ok(())
}
