//! Estimates of the memory that the deformable stage needs.
//!
//! They count the buffers of [`Fixed`](crate::Fixed), [`Fields`](crate::Fields) and the iterations on the finest level,
//! in single precision. Small buffers and the caller's own memory are not counted.

use antsreg_core::Grid;
use antsreg_core::schedule::Level;
use antsreg_kernels::{CcDerivative, CcParameters};

use crate::update::{in_turn, is_large};
use crate::{Metric, Options};

/// Size of a voxel of a scalar image, bytes.
const SCALAR: usize = 4;
/// Number of components of a displacement.
const FIELD: usize = 3;
/// Numbers per voxel at the end of the stage: the four displacement fields and the two warps composed of them. Later,
/// relaxation (the correction of the warps) needs less.
const LEAVING: usize = 6 * FIELD;

/// Peak GPU memory of a registration, bytes.
///
/// `grids`: the grids of the first fixed and the first moving image. `further`: the grids of the fixed and moving
/// images of all channels except the first. `masked`: whether the fixed and the moving images have a mask. `from`: the
/// shrink factor of the fields from which the stage continues; `None` for a first stage.
pub fn device_bytes(
    grids: [&Grid; 2],
    further: &[&Grid],
    masked: [bool; 2],
    from: Option<usize>,
    options: &Options,
) -> usize {
    let [fixed, moving] = grids;
    let each = || grids.into_iter().chain(further.iter().copied()).map(Grid::len);
    let (images, largest) = (each().sum::<usize>(), each().max().unwrap_or(0));
    let [fixed_mask, moving_mask] = masked.map(usize::from);
    let loaded = images + fixed.len() * fixed_mask + moving.len() * moving_mask;
    let levels = states(from, options).map(|(level, before)| {
        let voxels = |shrink: usize| fixed.shrink([shrink; 3]).len();
        let grid = fixed.shrink([level.shrink; 3]);
        let own = grid.len();
        let windows = match options.uses(Metric::Cc) {
            true => options.cc_parameters().device_scalars(lends(&grid, options)),
            false => 0,
        };
        let iterating = iterating(&grid, options) + fixed_mask + moving_mask + windows;
        let iterating = own * iterating + of_splines(fixed, &grid, options);
        // On a resolution level, memory holds the level's smoothed images, and one more image while they are computed.
        let working = images * images_of(level, options) + largest.max(iterating);
        let Some(before) = before else { return working };
        // The displacement fields before a level are kept until the result of the level has been accepted.
        let kept = voxels(before) * 4 * FIELD;
        // A coarser level may run after a finer one. While its change is added to the finer fields, memory holds the
        // coarse displacement fields before and after the level, and one field on the finer grid.
        let adding = images * images_of(level, options) + own * 8 * FIELD + voxels(before) * FIELD;
        kept + if before < level.shrink { working.max(adding) } else { working }
    });
    // At the end, memory holds the four displacement fields on the full grid and the two warps composed of them.
    let leaving = fixed.len() * LEAVING;
    SCALAR * (loaded + levels.max().unwrap_or(0).max(leaving))
}

/// GPU memory that [`Fixed`](crate::Fixed) keeps between registrations, including the smoothed images of every level,
/// bytes.
///
/// `fixed`: the grid of the first fixed image. `further`: the grids of all other fixed images.
pub fn prepared_device_bytes(fixed: &Grid, further: &[&Grid], masked: bool, options: &Options) -> usize {
    let further: usize = further.iter().map(|grid| grid.len()).sum();
    let kept = options.levels.iter().filter(|_| !options.changes_contrast());
    let made: usize = kept.map(|level| images_of(level, options)).sum();
    SCALAR * (fixed.len() * (1 + usize::from(masked)) + further + (fixed.len() + further) * made)
}

/// Peak main memory of a registration on the CPU, bytes: the rescaled copies of the first fixed and moving image, and
/// all fields. The caller's images are not counted.
pub fn host_bytes(fixed: &Grid, moving: &Grid, from: Option<usize>, options: &Options) -> usize {
    let images = fixed.len() + moving.len();
    let voxels = |shrink: usize| fixed.shrink([shrink; 3]).len();
    let exact = options.uses(Metric::Cc) && options.derivative == CcDerivative::Exact;
    let levels = states(from, options).map(|(level, before)| {
        let grid = fixed.shrink([level.shrink; 3]);
        let windows = if exact && !lends(&grid, options) { CcParameters::TERMS } else { 0 };
        // In addition, the fields before the level are kept.
        grid.len() * (iterating(&grid, options) + windows)
            + of_splines(fixed, &grid, options)
            + before.map_or(0, |before| voxels(before) * 4 * FIELD)
    });
    // At the end, memory holds the four displacement fields on the fixed image's full grid and the two warps composed
    // of them.
    let leaving = fixed.len() * LEAVING;
    SCALAR * (images + levels.max().unwrap_or(0).max(leaving))
}

/// Main memory for the rescaled images of all channels except the first, bytes. This memory is needed in addition to
/// [`host_bytes`]. `further` has the grids of these images.
pub fn further_host_bytes(further: &[&Grid]) -> usize {
    SCALAR * further.iter().map(|grid| grid.len()).sum::<usize>()
}

/// Memory for the iterations on a grid, numbers per voxel, without masks and the windows of the metric CC: four
/// displacement fields, both warped images, and the updates.
fn iterating(grid: &Grid, options: &Options) -> usize {
    // The derivatives with respect to both images and a single update, or both updates and as much scratch memory.
    let updates = if in_turn(grid, options) { 2 + FIELD } else { 4 * FIELD };
    4 * FIELD + 2 + updates
}

/// Memory for the fit of B-splines on the grid of a level, numbers. The mesh is the finest one, of the last level.
fn of_splines(full: &Grid, grid: &Grid, options: &Options) -> usize {
    let last = options.levels.len().saturating_sub(1);
    [options.update_mesh, options.total_mesh].iter().flatten().map(|mesh| mesh.numbers(full, last, grid)).sum()
}

/// Whether the terms of the metric CC lie in memory of the updates. Later channels have no such memory.
fn lends(grid: &Grid, options: &Options) -> bool {
    is_large(grid)
        && CcParameters::terms_fit(grid.shape, options.radius)
        && !options.channels_with_edges().iter().skip(1).any(|channel| channel.metric == Metric::Cc)
}

/// Number of images that a level computes from each image of the registration: a smoothed image if the level smooths,
/// and an edge image (gradient magnitudes) if edges are compared.
fn images_of(level: &Level, options: &Options) -> usize {
    let edged = options.uses(Metric::Cc) && options.edge_weight > 0.0;
    usize::from(level.sigma_voxels > 0.0 || options.sigmas_mm.is_some()) + usize::from(edged)
}

/// All resolution levels in order, each with the shrink factor of the displacement fields from which the level
/// continues; `None` without earlier fields. If the level is coarser than these fields, the fields keep their own,
/// finer grid.
fn states(from: Option<usize>, options: &Options) -> impl Iterator<Item = (&Level, Option<usize>)> {
    options.levels.iter().scan(from, |reached, level| {
        let before = *reached;
        *reached = Some(before.map_or(level.shrink, |before| before.min(level.shrink)));
        Some((level, before))
    })
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::CcKernels;

    use super::*;
    use crate::Channel;

    fn cube(voxels: usize, mm: f64) -> Grid {
        Grid::axis_aligned([voxels; 3], [mm; 3])
    }

    fn options(shrinks: &[usize]) -> Options {
        let level = |shrink: &usize| Level { shrink: *shrink, sigma_voxels: 0.0, iterations: 1, reinvert_every: 1 };
        Options { levels: shrinks.iter().map(level).collect(), ..Options::default() }
    }

    /// Estimated device memory of a registration of 1 mm cubes, as the number of single-precision values per voxel.
    fn scalars(further: &[&Grid], masked: [bool; 2], from: Option<usize>, options: &Options) -> f64 {
        let grid = cube(200, 1.0);
        device_bytes([&grid, &grid], further, masked, from, options) as f64 / (SCALAR * grid.len()) as f64
    }

    #[test]
    fn the_peak_is_iterating_on_the_full_grid_or_the_end_of_the_stage() {
        // Expected number of scalars per voxel, counted by hand: two images and their masks, and the buffers of the
        // finest level.
        for (masked, expected) in [([false; 2], 21.0), ([true, false], 23.0), ([true; 2], 25.0)] {
            assert_eq!(scalars(&[], masked, None, &options(&[1])), expected, "{masked:?}");
        }
        // On a level with shrink factor 2, the iterations run on an eighth of the voxels. They need less memory than
        // the end of the stage, when the fields are on the full grid.
        assert_eq!(scalars(&[], [false; 2], None, &options(&[2])), 20.0);
        // During the second level, memory also holds the four displacement fields of the first level.
        assert_eq!(scalars(&[], [false; 2], None, &options(&[2, 1])), 21.0 + 12.0 / 8.0);
        assert_eq!(scalars(&[], [false; 2], None, &options(&[4, 2, 1])), 21.0 + 12.0 / 8.0);
    }

    #[test]
    fn terms_of_thin_volumes_need_memory_of_their_own() {
        for (shape, radius, terms) in
            [([2048, 2048, 1], 2, 5), ([512, 512, 24], 4, 5), ([512, 512, 24], 2, 0), ([512, 512, 40], 4, 0)]
        {
            let grid = Grid::axis_aligned(shape, [1.0; 3]);
            let options = Options { radius, ..options(&[1]) };
            let numbers = |bytes: usize| bytes / (SCALAR * grid.len());
            assert_eq!(numbers(device_bytes([&grid; 2], &[], [false; 2], None, &options)), 21 + terms, "{shape:?}");
            assert_eq!(numbers(host_bytes(&grid, &grid, None, &options)), 21 + terms, "{shape:?}");
        }
    }

    #[test]
    fn a_further_stage_keeps_the_fields_that_it_goes_on_from() {
        assert_eq!(scalars(&[], [false; 2], Some(1), &options(&[1])), 21.0 + 12.0);
        assert_eq!(scalars(&[], [false; 2], Some(2), &options(&[1])), 21.0 + 12.0 / 8.0);
        // Iterating takes 19 values per voxel with mutual information, too. Nothing is added to the given fields,
        // because the level is not coarser.
        let mattes = Options { channels: vec![Channel { metric: Metric::Mattes, weight: 1.0 }], ..options(&[1]) };
        assert_eq!(scalars(&[], [false; 2], Some(1), &mattes), 2.0 + 19.0 + 12.0);
        // The level runs on a coarser grid than the given displacement fields, which stay on the full grid. So the
        // iterations of the level need less memory than the end of the stage.
        assert_eq!(scalars(&[], [false; 2], Some(1), &options(&[4])), 20.0);
        let images = options(&[2]).levels.iter().map(|l| Level { sigma_voxels: 1.0, ..*l }).collect();
        let edged = Options { edge_weight: 1.0, levels: images, ..options(&[2]) };
        let grid = cube(200, 1.0);
        // The registration has four images. From each, the level computes a smoothed image and an edge image (gradient
        // magnitudes). The addition of the coarser level's change to the finer fields needs the most memory.
        assert_eq!(scalars(&[&grid; 2], [false; 2], Some(1), &edged), 4.0 + 8.0 + 12.0 + 3.0 + 24.0 / 8.0);
        let host = |from| host_bytes(&grid, &grid, from, &options(&[1])) / (SCALAR * grid.len());
        assert_eq!([host(None), host(Some(1))], [2 + 19, 2 + 19 + 12]);
    }

    #[test]
    fn further_channels_and_other_metrics_are_counted() {
        let (grid, half) = (cube(200, 1.0), cube(100, 2.0));
        let mut options = options(&[1]);
        let planned = |options: &Options, further: &[&Grid]| scalars(further, [false; 2], None, options);
        // Each image after the first fixed and the first moving image takes memory once as uploaded, and once more if
        // the level smooths.
        assert_eq!(planned(&options, &[&grid, &grid]), 21.0 + 2.0);
        assert_eq!(planned(&options, &[&half, &half]), 21.0 + 0.25);
        options.levels[0].sigma_voxels = 1.0;
        assert_eq!(planned(&options, &[&half, &half]), 23.0 + 0.5);
        // With an edge weight above 0, memory also holds an edge image (gradient magnitudes) for each image. The updates
        // of two channels are summed, so those of both sides and as much scratch memory are needed at once, and the
        // second channel needs memory for its terms.
        options.edge_weight = 0.3;
        assert_eq!(planned(&options, &[]), 35.0 + 2.0);
        // For correlation windows above the radius `MOST_TILED_RADIUS`, other CUDA kernels run. They store CUDA
        // surfaces and textures instead of the terms of the exact derivative of the metric.
        let wide = Options { radius: CcParameters::MOST_TILED_RADIUS + 1, ..options.clone() };
        assert_eq!(planned(&wide, &[]), 30.0 + 2.0 + 8.0);
        let textures = Options { cc_kernels: CcKernels::Textures, ..options.clone() };
        assert_eq!(planned(&textures, &[]), 30.0 + 2.0 + 8.0);
        // With mutual information as the metric, memory holds no edge images and no window sums per voxel.
        options.channels[0].metric = Metric::Mattes;
        assert_eq!(planned(&options, &[]), 23.0);
    }

    #[test]
    fn the_fields_between_the_axes_of_a_fit_are_counted() {
        let grid = cube(200, 1.0);
        let fitted = Options { update_mesh: Some(crate::Mesh::Elements([22, 47, 97])), ..options(&[1]) };
        // Updates are summed, and 25 × 200 × 200, 25 × 50 × 200 and 25 × 50 × 100 vectors lie between the axes.
        let both = Options { total_variance: 1.0, ..options(&[1]) };
        let more = 3.0 * (25.0 / 200.0) * (1.0 + 0.25 + 0.125);
        assert_eq!(scalars(&[], [false; 2], None, &fitted), scalars(&[], [false; 2], None, &both) + more);
        let host = |options: &Options| host_bytes(&grid, &grid, None, options) as f64 / (SCALAR * grid.len()) as f64;
        assert_eq!(host(&fitted), host(&both) + more);
    }

    #[test]
    fn a_prepared_side_keeps_what_every_level_makes() {
        let (grid, half) = (cube(100, 1.0), cube(50, 2.0));
        let prepared = |further: &[&Grid], masked, options: &Options| {
            prepared_device_bytes(&grid, further, masked, options) as f64 / (SCALAR * grid.len()) as f64
        };
        let mut options = options(&[2, 1]);
        assert_eq!(prepared(&[], false, &options), 1.0);
        assert_eq!(prepared(&[&half], true, &options), 2.0 + 0.125);
        options.levels[0].sigma_voxels = 1.0;
        assert_eq!(prepared(&[&half], true, &options), 2.0 + 0.125, "the contrast depends on the moving images");
        options.boundary_contrast = 0.0;
        assert_eq!(prepared(&[&half], true, &options), 2.0 + 0.125 + 1.125);
        options.edge_weight = 0.5;
        assert_eq!(prepared(&[], false, &options), 1.0 + 1.0 + 2.0);
    }

    #[test]
    fn on_the_processor_fields_and_rescaled_images_are_counted() {
        let grid = cube(200, 1.0);
        let host = |shrinks: &[usize]| host_bytes(&grid, &grid, None, &options(shrinks)) as f64 / (4.0 * 8e6);
        assert_eq!(host(&[1]), 2.0 + 19.0);
        assert_eq!(host(&[2]), 2.0 + 18.0);
        assert_eq!(host(&[4, 2, 1]), 2.0 + 19.0 + 12.0 / 8.0);
        // On a small level, memory holds the sums of both sides, as much scratch memory, and the terms of the metric.
        let small = cube(100, 1.0);
        assert_eq!(host_bytes(&small, &small, None, &options(&[1])), SCALAR * small.len() * (2 + 26 + 5));
        assert_eq!(further_host_bytes(&[&grid, &grid]), 2 * SCALAR * grid.len());
    }
}
