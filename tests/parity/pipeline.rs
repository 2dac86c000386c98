//! Compares whole registrations, affine and SyN, and whole motion corrections on the CPU and on a CUDA device. The
//! results must agree.
//!
//! Runs only when named (`cargo test -p antsreg-tests --test pipeline_parity`), because it needs a device and fails
//! without one. With `--record [FILE]`, it writes a record of what it tested to FILE, by default `parity/checked.json`: the
//! kernels, their launches and this test. The stages are not part of it, because most of their changes do not depend on
//! the device.

#[path = "../../crates/kernels/tests/record/mod.rs"]
#[expect(dead_code, reason = "tests/checked.rs judges records")]
mod record;

use std::error::Error;

use antsreg_core::{AffineTransform, DisplacementField, Volume};
use antsreg_kernels::{Backend, Cpu, Cuda};
use antsreg_linear as linear;
use antsreg_motion::{self as motion, Aligned, Cost};
use antsreg_syn::{self as syn, Channel, Metric};
use antsreg_tests::{Brain, grid};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};
use record::{Options, Record, Sources};

/// The folders of code that the record covers.
const SOURCES: &[&str] = &["../crates/kernels/src/cuda", "parity"];
/// Largest accepted distance between the points to which the affines of CPU and GPU map the same point, mm. The devices
/// add the terms of the cost in different orders, so Newton's last step ends at slightly different points.
const AFFINE_MM: f64 = 0.02;
/// Largest accepted distance between the points to which the motions of CPU and GPU map the same point, mm. The devices
/// add the terms of the smoothing in different orders, and the alignment ends with a step below 0.001 mm.
const MOTION_MM: f64 = 0.005;
/// Largest accepted mean distance between the warps of CPU and GPU, voxels. The devices add the intensities in a
/// correlation window in different orders. Where an image hardly varies, the rounding changes the update of the warp.
const MEAN_VOXELS: f64 = 0.02;
/// Largest accepted ratio of two differences: between the results of CPU and GPU, and between the CPU's results with
/// and without a change of the last bit of intensities. Costs from histograms change in steps, so results depend on the
/// rounding of single intensities. Smaller differences than `MEAN_VOXELS` or `MOTION_MM` are always accepted.
const OF_ROUNDING: f64 = 2.0;

/// What one device has found in a registration: the affine, the warp and its inverse.
struct Found {
    affine: AffineTransform,
    warps: [DisplacementField; 2],
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = Options::read(&arguments, concat!(env!("CARGO_MANIFEST_DIR"), "/parity/checked.json"), || {
        Sources::of(env!("CARGO_MANIFEST_DIR"), SOURCES, antsreg_kernels::cuda::all_code().into_values())
    });
    if let Err(error) = compare_all(&options) {
        eprintln!("pipeline_parity: {error}");
        std::process::exit(1);
    }
}

fn compare_all(checked: &Options) -> Result<(), Box<dyn Error>> {
    let cuda = Cuda::open(0)?;
    let mut record = checked.begin(cuda.info());
    // The pair of images has different oblique grids; the moving brain is rotated, scaled and warped.
    let turned = *Rotation3::from_euler_angles(0.1, -0.2, 0.15).matrix();
    let fixed = Brain::standard().image(&grid(3.0, [0.0; 3], Matrix3::identity()));
    let to_world = AffineTransform { matrix: turned * 1.05, translation: Vector3::new(6.0, -9.0, 4.0) };
    let brain = Brain { warp_mm: 5.0, ..Brain::moved(&to_world) };
    let moving = brain.image(&grid(3.5, [10.0, -5.0, 0.0], turned));
    let mut bad = 0;
    for (name, stages) in variants() {
        let cpu = run(&Cpu, &fixed, &moving, &stages, None)?;
        // With mutual information (Mattes), the warp depends strongly on the affine from which it starts, because
        // histograms change in steps: if the affine differs by 0.003 mm, the CPU's warps differ by 0.04 to 0.11 voxel.
        // Both devices therefore start from one affine.
        let start = stages[0].uses(Metric::Mattes).then_some(&cpu.affine);
        let rounded = run(&Cpu, &last_bits(&fixed), &last_bits(&moving), &stages, start)?;
        let [first, second] =
            [run(&cuda, &fixed, &moving, &stages, start)?, run(&cuda, &fixed, &moving, &stages, start)?];
        let same = first.warps == second.warps && first.affine == second.affine;
        let affine_mm = farthest(&fixed, &cpu.affine, &first.affine);
        let warps_apart = |other: &Found| [0, 1].map(|way| apart(&cpu.warps[way], &other.warps[way]));
        let (warps_voxels, of_rounding) = (warps_apart(&first), warps_apart(&rounded));
        let within = |way: usize| warps_voxels[way] <= MEAN_VOXELS.max(OF_ROUNDING * of_rounding[way]);
        let held = [&cpu, &first].iter().all(|found| holds(&stages, &found.warps));
        let met = same && held && affine_mm <= AFFINE_MM && (0..2).all(within);
        bad += usize::from(!met);
        record.add("registration", 2 * 3 * cpu.warps[0].vectors.len(), !met);
        println!(
            "{name:<24} affine {affine_mm:.4} mm, warps {:.4} and {:.4} voxel apart on average ({:.4} and {:.4} by rounding), \
             two runs {}{}: {}",
            warps_voxels[0],
            warps_voxels[1],
            of_rounding[0],
            of_rounding[1],
            if same { "the same" } else { "differ" },
            if held { "" } else { ", held components moved" },
            if met { "met" } else { "MISSED" },
        );
    }
    bad += compare_motion(&cuda, &mut record)?;
    checked.write(&record);
    if bad > 0 { Err(format!("{bad} variants differ").into()) } else { Ok(()) }
}

/// Aligns a series by each cost on both devices. Returns the number of costs whose results differ.
fn compare_motion(cuda: &Cuda, record: &mut Record) -> Result<usize, Box<dyn Error>> {
    let own = grid(4.0, [5.0, -3.0, 2.0], Matrix3::identity());
    let volumes: Vec<Volume> = (0..9)
        .map(|n| {
            let size = f64::from(n - 4);
            let matrix = Rotation3::from_euler_angles(0.01 * size, -0.005 * size, 0.008 * size).into_inner();
            let translation = Vector3::new(0.4 * size, -0.3 * size, 0.2 * size);
            Brain::moved(&AffineTransform { matrix, translation }).image(&own)
        })
        .collect();
    let mut bad = 0;
    for cost in [Cost::Ncc, Cost::Lsq, Cost::Cr, Cost::Nmi] {
        let cpu = motions(&Cpu, &volumes, cost)?;
        let [first, second] = [motions(cuda, &volumes, cost)?, motions(cuda, &volumes, cost)?];
        let rounded = motions(&Cpu, &volumes.iter().map(last_bits).collect::<Vec<_>>(), cost)?;
        let apart_mm = |others: &[Aligned]| {
            let pairs = cpu.iter().zip(others);
            pairs.map(|(a, b)| farthest(&volumes[0], &a.transform, &b.transform)).fold(0.0, f64::max)
        };
        let (most, of_rounding) = (apart_mm(&first), apart_mm(&rounded));
        let met = first == second && most <= MOTION_MM.max(OF_ROUNDING * of_rounding);
        bad += usize::from(!met);
        record.add("motion", 12 * first.len(), !met);
        let same = if first == second { "the same" } else { "differ" };
        let verdict = if met { "met" } else { "MISSED" };
        println!(
            "motion, {cost:?}: {most:.5} mm apart ({of_rounding:.5} mm by rounding), two runs {same}: {verdict}"
        );
    }
    Ok(bad)
}

/// Returns a copy of a volume in which about half of the positive intensities are replaced by the next larger
/// single-precision number. It shows how much a result depends on rounding.
fn last_bits(volume: &Volume) -> Volume {
    let mut state = 7_u64;
    let voxels = volume.voxels.iter().map(|value| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 63 == 1 && *value > 0.0 { value.next_up() } else { *value }
    });
    Volume { grid: volume.grid.clone(), voxels: voxels.collect() }
}

/// Aligns the volumes of a series to the volume in the middle.
fn motions<B: Backend>(backend: &B, volumes: &[Volume], cost: Cost) -> Result<Vec<Aligned>, Box<dyn Error>> {
    let options = motion::Options { cost, ..Default::default() };
    let reference = motion::Reference::new(backend, &volumes[volumes.len() / 2], &options)?;
    let found = motion::Series::new(&reference).align(&volumes.iter().collect::<Vec<_>>())?;
    Ok(found.into_iter().collect::<Result<_, _>>()?)
}

/// Options of several deformable stages that run one after another.
fn variants() -> [(&'static str, Vec<syn::Options>); 5] {
    let usual = || syn::Options { levels: syn::Options::default().levels[1..3].to_vec(), ..Default::default() };
    let mattes = Channel { metric: Metric::Mattes, ..Channel::default() };
    [
        ("correlation", vec![usual()]),
        ("correlation and edges", vec![syn::Options { edge_weight: 0.45, noise: 0.01, ..usual() }]),
        ("mutual information", vec![syn::Options { channels: vec![mattes], ..usual() }]),
        ("one component held", vec![syn::Options { restrict: [1.0, 1.0, 0.0], ..usual() }]),
        // Two deformable stages: the coarsest grid of the second stage is coarser than the grid of the displacement
        // fields from the first stage.
        ("two stages", vec![usual(), syn::Options { restrict: [0.5, 1.0, 0.0], ..usual() }]),
    ]
}

/// Whether warps are exactly 0 along each axis whose displacements have weight 0 in all stages. The axes of the fixed
/// grid are those of the world.
fn holds(stages: &[syn::Options], warps: &[DisplacementField; 2]) -> bool {
    (0..3)
        .filter(|axis| stages.iter().all(|options| options.restrict[*axis] == 0.0))
        .all(|axis| warps.iter().flat_map(|warp| &warp.vectors).all(|vector| vector[axis] == 0.0))
}

/// Registers the pair on a device. The deformable stages start from `start`, or from the affine of the linear stage if
/// there is no `start`.
fn run<B: Backend>(
    backend: &B,
    fixed: &Volume,
    moving: &Volume,
    stages: &[syn::Options],
    start: Option<&AffineTransform>,
) -> Result<Found, Box<dyn Error>> {
    let options = linear::Options::default();
    let found = linear::Fixed::new(backend, fixed, None, &options)?;
    let affine = found.register(backend, moving, None, linear::Start::CentreOfMass, &mut ())?.transform;
    let mut reached = None;
    for options in stages {
        let side = syn::Fixed::new(backend, fixed, options, &mut ())?;
        let (fields, _) =
            side.find(backend, moving, start.unwrap_or(&affine), reached.take().map(|(_, fields)| fields), &mut ())?;
        reached = Some((side, fields));
    }
    let (side, fields) = reached.ok_or("no deformable stage")?;
    let (warps, _) = side.warps(backend, fields, &mut ())?;
    Ok(Found { affine, warps: [warps.download_warp(backend)?, warps.download_inverse_warp(backend)?] })
}

/// Largest distance between the two points to which two affines map a corner of the fixed image, mm.
fn farthest(fixed: &Volume, a: &AffineTransform, b: &AffineTransform) -> f64 {
    let to_world = fixed.grid.voxel_to_world();
    let corners =
        (0..8).map(|n| Point3::from(Vector3::from_fn(|axis, _| ((n >> axis & 1) * fixed.grid.shape[axis]) as f64)));
    let distances = corners.map(|corner| to_world.apply(&corner)).map(|x| (a.apply(&x) - b.apply(&x)).norm());
    distances.fold(0.0, f64::max)
}

/// Mean distance between two warps, voxels.
fn apart(a: &DisplacementField, b: &DisplacementField) -> f64 {
    let lengths = a.vectors.iter().zip(&b.vectors).map(|(u, v)| (Vector3::from(*u) - Vector3::from(*v)).norm());
    lengths.map(f64::from).sum::<f64>() / a.vectors.len() as f64 / a.grid.spacing.min()
}
