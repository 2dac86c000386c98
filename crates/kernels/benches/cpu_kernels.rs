//! Measures the times of the operations of SyN on one processor thread: `cargo bench -p antsreg-kernels --bench
//! cpu_kernels`.

mod operands;

use std::time::Instant;

use antsreg_kernels::ops::{Fields, Memory, Similarity, Warping};
use antsreg_kernels::{CcDerivative, CcKernels, CcParameters, Cpu, Error, InversionLimits, MetricOutput, Sampling};
use operands::{brain, field, turn};

/// Shape of the test volumes. They are larger than the caches, but small enough to repeat each measurement many times.
const SHAPE: [usize; 3] = [117, 149, 95];
const ROUNDS: usize = 12;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    Ok(pool.install(run)?)
}

/// Runs `work` many times and prints the shortest time. Other load on the machine can only make a run slower.
fn timed(name: &str, mut work: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    let mut fastest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work()?;
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    let voxels: usize = SHAPE.iter().product();
    println!("{name:<32} {:>8.1} ms {:>8.2} ns a voxel", fastest * 1e3, fastest * 1e9 / voxels as f64);
    Ok(())
}

fn run() -> Result<(), Error> {
    let (fixed, moving) = (brain(&Cpu, SHAPE, 1)?, brain(&Cpu, SHAPE, 2)?);
    let (first, second) = (field(&Cpu, SHAPE, 7)?, field(&Cpu, SHAPE, 8)?);
    let map = turn();
    let (mut image, mut out, mut other) = (Cpu.image(SHAPE)?, Cpu.field(SHAPE)?, Cpu.field(SHAPE)?);

    timed("resample", || Cpu.resample(&moving, &map, 0.0, &mut image))?;
    timed("warp", || Cpu.warp(&moving, &first, &map, Sampling::Linear, &mut image))?;
    let mut smoothed = [field(&Cpu, SHAPE, 9)?, field(&Cpu, SHAPE, 10)?];
    timed("smooth two fields, variance 3", || {
        Cpu.smooth_both_fields(smoothed.each_mut(), 3.0, [&mut out, &mut other])
    })?;
    let (mut composed, nothing) = (field(&Cpu, SHAPE, 7)?, Cpu.field(SHAPE)?);
    timed("compose", || Cpu.compose(&mut composed, &nothing))?;
    timed("advance both", || Cpu.advance_both([&mut out, &mut other], [&second, &first], 0.2))?;
    for steps in [1, 2] {
        let limits = InversionLimits { steps, tolerance_voxels: 0.0, untouched_voxels: 0.0 };
        // This measurement is repeated, and inverts the first and the second field alternately. So each inversion
        // starts from the inverse of the other field, not from its own result.
        let mut fields = [&first, &second].into_iter().cycle();
        timed(&format!("invert, steps: {steps}"), || {
            fields.next().map_or(Ok(()), |field| Cpu.invert(field, &mut out, &limits))
        })?;
    }
    let mut workspace = Cpu.cc_workspace(SHAPE)?;
    let mut derivatives = [Cpu.image(SHAPE)?, Cpu.image(SHAPE)?];
    for derivative in [CcDerivative::Centre, CcDerivative::Exact] {
        let parameters = CcParameters { radius: 2, derivative, noise_variance: 1e-4, kernels: CcKernels::Tiled };
        timed(&format!("CC of radius 2, {derivative:?}"), || {
            let (images, out) = ([&fixed, &moving], MetricOutput::Derivatives(derivatives.each_mut()));
            Cpu.cc_gradient(images, [None; 2], &parameters, &mut workspace, out, Some(&mut other)).map(drop)
        })?;
    }
    timed("smoothed update", || Cpu.smoothed_update(&fixed, &mut derivatives[0], [1.0; 3], 3.0, &mut out))
}
