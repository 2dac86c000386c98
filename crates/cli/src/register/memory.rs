//! How much memory a registration takes: an estimate before, the measured peak after.

use antsreg_core::Grid;
use antsreg_syn as syn;

/// Bytes of a scalar voxel and of a displacement.
const SCALAR: usize = 4;
const VECTOR: usize = 12;

/// Peak memory expected of a registration, bytes. Sums what is alive at once in the hungriest part.
pub fn estimate(fixed: &Grid, moving: &Grid, masks: usize, syn: Option<&syn::Options>) -> usize {
    let inputs = (fixed.len() + moving.len()) * SCALAR + masks * fixed.len().max(moving.len()) * SCALAR;
    // The affine stage blurs the moving image once more and lists the fixed voxels with their coordinates.
    let linear = moving.len() * SCALAR + fixed.len() * (SCALAR + 4 * SCALAR);
    let diffeomorphic = syn.map_or(0, |options| {
        let finest = options.levels.iter().map(|level| level.shrink).min().unwrap_or(1);
        let level = fixed.shrink([finest; 3]).len();
        let smoothed = (fixed.len() + moving.len()) * SCALAR;
        // To-middle fields and their inverses, two updates, one scratch; the warped pair and the window sums.
        let iterating = level * (7 * VECTOR + (2 + 6) * SCALAR);
        // At the end both warps leave on the full grid, beside the fields they are composed of.
        let leaving = fixed.len() * 2 * VECTOR + level * 4 * VECTOR;
        smoothed + iterating.max(leaving)
    });
    inputs + linear.max(diffeomorphic)
}

/// The most memory this process has held so far, bytes; `None` where the system does not say.
pub fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
