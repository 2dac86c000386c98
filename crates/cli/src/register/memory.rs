//! How much main memory a registration takes: an estimate before, the measured peak after.

use antsreg_core::Grid;
use antsreg_linear as linear;
use antsreg_syn as syn;

/// Bytes of a scalar voxel and of a displacement.
pub const SCALAR: usize = 4;
const VECTOR: usize = 12;

/// The program itself, and buffers of readers and writers.
const PROGRAM: usize = 20_000_000;

/// Peak memory expected of a registration, bytes: what is alive at once in its hungriest part. Measured peaks at 1 and
/// 2 mm differ by less than a tenth.
pub fn estimate(fixed: &Grid, moving: &Grid, masks: usize, syn: Option<&syn::Options>) -> usize {
    let images = (fixed.len() + moving.len()) * SCALAR;
    let inputs = images + masks * fixed.len().max(moving.len()) * SCALAR;
    let linear = linear::memory::host_bytes([fixed, moving]);
    let diffeomorphic = syn.map_or(0, |options| {
        let level = finest_level(fixed, options);
        // To-middle fields and their inverses, two updates, two scratches; the warped pair and the window sums.
        // The four fields of the level before are kept until it is known that this one is.
        let iterating = level * (8 * VECTOR + (2 + 6) * SCALAR) + before_finest(fixed, options) * 4 * VECTOR;
        // At the end the four fields are on the full grid, and so are the warps composed of them.
        let leaving = fixed.len() * 8 * VECTOR;
        // Besides, both images clipped.
        images + iterating.max(leaving)
    });
    PROGRAM + inputs + linear.max(diffeomorphic)
}

/// What further images add to that: each as read and clipped.
pub fn estimate_further(further: &[&Grid]) -> usize {
    2 * SCALAR * further.iter().map(|grid| grid.len()).sum::<usize>()
}

/// What one more subject adds that is on its way, on this grid: its image; both warps; three warped images, and the labels
/// that are written.
pub fn subject(grid: &Grid, labels: bool) -> usize {
    grid.len() * (SCALAR + 2 * VECTOR + 3 * SCALAR + 2 * SCALAR * usize::from(labels))
}

/// Voxels of the finest level.
fn finest_level(fixed: &Grid, options: &syn::Options) -> usize {
    let finest = options.levels.iter().map(|level| level.shrink).min().unwrap_or(1);
    fixed.shrink([finest; 3]).len()
}

/// Voxels of the level before the finest one.
pub fn before_finest(fixed: &Grid, options: &syn::Options) -> usize {
    let shrinks = options.levels.iter().map(|level| level.shrink);
    let finest = shrinks.clone().min().unwrap_or(1);
    shrinks.filter(|shrink| *shrink > finest).min().map_or(0, |shrink| fixed.shrink([shrink; 3]).len())
}

/// The most memory this process has held so far, bytes; `None` where the system does not say.
pub fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
