//! Sums for the least-squares fit of volumes by functions that are known at reference points.

use antsreg_core::AffineTransform;

use crate::cuda::Cuda;
use crate::cuda::batch_buffers::Placed;
use crate::cuda::buffer::grown;
use crate::cuda::image::Image;
use crate::cuda::launch::{Argument, Launch, Size, Vector, arguments};
use crate::cuda::similarity::samples::{MOST_TRANSFORMS, map};
use crate::{Error, FitRule, FitSums};

/// Number of reference points that a block processes, and number of its threads, as in `cu/fit_sums.cu`.
const CHUNK: usize = 2048;
const THREADS: u32 = 256;
/// Number of threads of a block of the kernel `fit_totals`, as in `cu/fit_sums.cu`.
const TOTALS: u32 = 128;
/// Largest number of sums that one launch of the kernel `fit_sums` writes; more fits are divided into several launches.
const MOST_SUMS: usize = 1 << 24;

/// Kernel argument with the layout of the structure `Rule` in `cu/fit_sums.cu`: which points count, and the scale of
/// volumes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Rule {
    low: Vector,
    high: Vector,
    origin: f32,
    scale: f32,
}
impl Argument for Rule {}

impl Rule {
    fn of(rule: &FitRule, shape: [usize; 3]) -> Rule {
        let low = rule.margin.map(|n| n as f32);
        let high = std::array::from_fn(|axis| (shape[axis] as f32 - 1.0) - low[axis]);
        Rule { low: Vector(low), high: Vector(high), origin: rule.origin, scale: rule.scale }
    }
}

pub(in crate::cuda) fn fit_sums(
    cuda: &Cuda,
    points: &Image,
    volumes: &[&Image],
    rule: &FitRule,
    at: &[(usize, AffineTransform)],
) -> Result<Vec<FitSums>, Error> {
    let (count, functions) = FitSums::check(points.shape, volumes.iter().map(|volume| volume.shape), at)?;
    let rows = FitSums::rows(functions);
    let Some(first) = volumes.first().filter(|_| count > 0) else {
        return Ok(vec![FitSums::of(&vec![0.0; rows], functions); at.len()]);
    };
    let (shape, rule, chunks) = (Size::of(first.shape), Rule::of(rule, first.shape), count.div_ceil(CHUNK));
    let kernels = cuda.kernels.fit_sums(&cuda.device)?;
    let most = (MOST_SUMS / (chunks * rows)).clamp(1, MOST_TRANSFORMS);
    let mut all = Vec::with_capacity(at.len());
    for batch in at.chunks(most) {
        let mut scratch = cuda.scratch();
        let buffers = &mut scratch.fit;
        let placed: Vec<Placed> = batch
            .iter()
            .map(|(volume, transform)| Placed { volume: volumes[*volume].read(), map: map(transform) })
            .collect();
        let placed_buffer = grown(&mut buffers.placed, batch.len(), &cuda.device)?;
        placed_buffer.upload(&placed)?;
        let sums = grown(&mut buffers.sums, batch.len() * chunks * rows, &cuda.device)?.pointer();
        let totals_buffer = grown(&mut buffers.totals, batch.len() * rows, &cuda.device)?;
        let launch = Launch {
            kernel: &kernels.fit_sums,
            grid: [chunks as u32, batch.len() as u32, 1],
            block: [THREADS, 1, 1],
            shared: 0,
            bytes: 4 * ((points.len() + first.len()) * batch.len()) as u64,
        };
        let (values, number, functions_of_point, placed) =
            (points.read(), count as i32, functions as i32, placed_buffer.pointer());
        // SAFETY: the launch has one thread block for each chunk of points and each map. `sums` has `rows` numbers
        // for each of these. `points` has three rows of coordinates and one row for each function. All volumes have
        // the same shape, and only coefficients within this shape are read.
        unsafe { cuda.launch(launch, arguments![values, number, functions_of_point, placed, shape, rule, sums])? };
        let numbers = batch.len() * rows;
        let launch = Launch::over_elements(&kernels.fit_totals, numbers, TOTALS, (8 * numbers * chunks) as u64);
        let (chunk_count, row_count, number, totals) =
            (chunks as u32, rows as u32, numbers as u32, totals_buffer.pointer());
        // SAFETY: the launch has one thread for each of the `numbers` elements of `totals`, the sums over all
        // chunks. Threads beyond the last element return.
        unsafe { cuda.launch(launch, arguments![sums, chunk_count, row_count, number, totals])? };
        let totals = totals_buffer.download(numbers)?;
        all.extend(totals.chunks_exact(rows).map(|totals| FitSums::of(totals, functions)));
    }
    Ok(all)
}
