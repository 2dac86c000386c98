//! How much memory a registration takes: an estimate before, the measured peak after.

use antsreg_core::Grid;
use antsreg_syn as syn;

/// Bytes of a scalar voxel and of a displacement.
const SCALAR: usize = 4;
const VECTOR: usize = 12;

/// The program itself, and buffers of readers and writers.
const PROGRAM: usize = 20_000_000;

/// Peak memory expected of a registration, bytes: what is alive at once in its hungriest part. Measured peaks at 1 and
/// 2 mm differ by less than a tenth.
pub fn estimate(fixed: &Grid, moving: &Grid, masks: usize, syn: Option<&syn::Options>) -> usize {
    let images = (fixed.len() + moving.len()) * SCALAR;
    let inputs = images + masks * fixed.len().max(moving.len()) * SCALAR;
    // The affine stage blurs the moving image once more and lists the fixed voxels with their coordinates.
    let linear = moving.len() * SCALAR + fixed.len() * (SCALAR + 4 * SCALAR);
    let diffeomorphic = syn.map_or(0, |options| {
        let finest = options.levels.iter().map(|level| level.shrink).min().unwrap_or(1);
        let level = fixed.shrink([finest; 3]).len();
        // To-middle fields and their inverses, two updates, one scratch; the warped pair and the window sums.
        let iterating = level * (7 * VECTOR + (2 + 6) * SCALAR);
        // At the end the four fields are on the full grid, and so are the warps composed of them.
        let leaving = fixed.len() * 8 * VECTOR;
        // Besides, both images clipped and smoothed.
        2 * images + iterating.max(leaving)
    });
    PROGRAM + inputs + linear.max(diffeomorphic)
}

/// The most memory this process has held so far, bytes; `None` where the system does not say.
pub fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
