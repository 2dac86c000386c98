//! Estimates of the memory that the linear stage needs.
//!
//! They count the buffers that `images.rs`, `level.rs` and `fixed.rs` hold at the same time. The grids in the arguments
//! are those of the input images. `masked` says which of the images have a weight.

use antsreg_core::{Grid, Unit};

use crate::Options;
use crate::grids::of_level;

/// Size of a voxel of a scalar image, bytes.
const SCALAR: usize = 4;

/// When the device sorts voxels into bins, it counts the voxels of each bin in chunks of this many voxels.
const VOXELS_PER_COUNTER: usize = 2048;

/// Peak device memory of the registration of a fixed and a moving image, bytes.
///
/// Not counted: the partial sums of batches and thread blocks, the level of the exchanged roles while a search compares
/// both at 8 or 4 mm, and the rounding by the device's allocator.
pub fn device_bytes([fixed, moving]: [&Grid; 2], masked: [bool; 2], options: &Options) -> usize {
    let given = bytes_in_roles([fixed, moving], masked, options);
    if !options.may_exchange() {
        return given;
    }
    let [fixed_masked, moving_masked] = masked;
    given.max(bytes_in_roles([moving, fixed], [moving_masked, fixed_masked], options))
}

/// Peak device memory of a search in which the first image has the role of the fixed image, bytes.
fn bytes_in_roles([fixed, moving]: [&Grid; 2], masked: [bool; 2], options: &Options) -> usize {
    let [fixed_images, moving_images] = masked.map(images);
    let loaded = fixed.len() * fixed_images + moving.len() * moving_images;
    // No level is finer than the coarser of the two images.
    let level = of_level(fixed, finest_mm(fixed, options).max(moving.spacing.min()), options).len();
    // Blurring an image with a wide kernel needs memory for a copy of the image, and so does a spline. The grid on which
    // a spline is read comes with a field of zeros.
    let blurring = 2 * fixed.len() + level * if options.joins_partial_volumes() { 4 } else { 1 };
    // During the search, memory holds the fixed image of the level and the list of its voxels, sorted into bins. In
    // addition it first holds the counters of the bins, and later the moving image of the level twice: blurred and
    // resampled, then as an image and as a texture.
    let counters = level.div_ceil(VOXELS_PER_COUNTER) * options.bins;
    let searching = 2 * level * level_images(masked[0], options) + counters.max(2 * moving.len() * moving_images);
    SCALAR * (loaded + blurring.max(searching))
}

/// Device memory that a prepared fixed image keeps between registrations, bytes: the image, and the sorted voxel lists
/// of all levels.
pub fn prepared_device_bytes(fixed: &Grid, masked: bool, options: &Options) -> usize {
    let level = of_level(fixed, finest_mm(fixed, options), options).len();
    // All levels together need 1 + 1/8 + 1/64 + … = 8/7 of the voxels of the finest level.
    SCALAR * (fixed.len() * images(masked) + 8 * level * level_images(masked, options) / 7)
}

/// Peak main memory of a registration on the CPU, bytes, without the input images and weights: the blurred moving
/// image, and the fixed voxels of the level. Either image may have either role.
pub fn host_bytes([one, other]: [&Grid; 2], options: &Options) -> usize {
    let larger = if one.len() < other.len() { other } else { one };
    let fixed = match options.joins_partial_volumes() {
        // First the blurred image, the coefficients of its spline and a copy of them; then the coefficients, the level's
        // image and a field of zeros. Later, the level's image and its weight, and the bins of its voxels with a copy of
        // the weight.
        true => {
            (3 * larger.len()).max(larger.len() + 4 * of_level(larger, finest_mm(larger, options), options).len())
        }
        false => 4 * larger.len(),
    };
    SCALAR * (one.len() + other.len() + fixed)
}

/// Number of images that the device stores for the fixed or the moving image: the image, and its weight image if there
/// is one.
fn images(masked: bool) -> usize {
    1 + usize::from(masked)
}

/// Number of images that the device stores for the fixed image of a level. An oblique level has a weight.
fn level_images(masked: bool, options: &Options) -> usize {
    images(masked || options.joins_partial_volumes())
}

/// Voxel size of the finest resolution level, mm, if `fixed` is the grid of the fixed image, and the object fills most of
/// a small field of view. In a large one the object may be a human head, so no unit above 1 mm is assumed.
fn finest_mm(fixed: &Grid, options: &Options) -> f64 {
    fixed.spacing.min().max(options.finest_mm.max(1.0) * Unit::of_field(fixed).mm().min(1.0))
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::JointSampling;

    use super::*;
    use crate::{Cost, Search};

    fn cube(voxels: usize, mm: f64) -> Grid {
        Grid::axis_aligned([voxels; 3], [mm; 3])
    }

    #[test]
    fn the_peak_is_that_of_the_search() {
        // The expected numbers of scalars per voxel were counted by hand. Both images and the finest level have the
        // same grid.
        let grid = cube(100, 1.0);
        for (masked, scalars) in [([false; 2], 6), ([true, false], 9), ([false, true], 9), ([true; 2], 12)] {
            let bytes = device_bytes([&grid, &grid], masked, &Options::default());
            assert_eq!(bytes, scalars * SCALAR * grid.len(), "{masked:?}");
        }
    }

    #[test]
    fn levels_of_thick_slices_are_isotropic() {
        // The voxels of the fixed image are 5 mm thick. So the fixed grid has a fifth as many voxels as the isotropic
        // grid of the 1 mm level.
        let mut grid = cube(100, 1.0);
        grid.spacing.z = 5.0;
        let bytes = device_bytes([&grid, &grid], [false; 2], &Options::default());
        assert_eq!(bytes, (2 + 2 * 5 + 2) * SCALAR * grid.len());
    }

    #[test]
    fn oblique_levels_have_more_voxels_and_a_weight() {
        let grid = cube(100, 1.0);
        let oblique = Options::of(Cost::MutualInformation);
        let upright = Options { histogram: JointSampling::Trilinear, ..oblique.clone() };
        let voxels = of_level(&grid, 1.0, &oblique).len();
        assert!(voxels > 2 * grid.len(), "{voxels}");
        let peak = |options| device_bytes([&grid, &grid], [false; 2], options);
        // Two images instead of one, and the list of the level's voxels.
        assert_eq!(peak(&oblique) - peak(&upright), SCALAR * (2 * 2 * voxels - 2 * grid.len()));
        let kept = |options| prepared_device_bytes(&grid, false, options);
        assert_eq!(kept(&oblique) - kept(&upright), SCALAR * (8 * 2 * voxels / 7 - 8 * grid.len() / 7));
        let host = |options| host_bytes([&grid, &cube(50, 2.0)], options);
        // The coefficients of the spline, and four numbers for each voxel of the level instead of the image.
        assert_eq!(host(&oblique) - host(&upright), SCALAR * (4 * voxels - 3 * grid.len()));
        // No level of a field of view of 200 mm is finer than 1 mm, so most memory is needed for the spline.
        let fine = host_bytes([&cube(400, 0.5); 2], &oblique);
        assert_eq!(fine, SCALAR * (2 + 3) * 400usize.pow(3));
    }

    #[test]
    fn no_level_is_finer_than_the_coarser_image() {
        let (fine, coarse) = (cube(192, 1.0), cube(96, 2.0));
        let options = Options::default();
        // The device holds both images. During the blur of the fixed image, the device also holds two copies of the
        // fixed image and the image of the finest level, which has an eighth as many voxels.
        let local = Options { search: Search::None, ..options.clone() };
        let expected = fine.len() + coarse.len() + 2 * fine.len() + coarse.len();
        assert_eq!(device_bytes([&fine, &coarse], [false; 2], &local), SCALAR * expected);
        // A search may exchange the roles. Then it holds the fine image, blurred, twice, and the list of the coarse one.
        let expected = fine.len() + coarse.len() + 2 * fine.len() + 2 * coarse.len();
        for pair in [[&fine, &coarse], [&coarse, &fine]] {
            assert_eq!(device_bytes(pair, [false; 2], &options), SCALAR * expected);
        }
        // In this part of the test, the options limit the finest level to 2 mm. In the part before, the voxel size of
        // the coarser image limits it.
        let options = Options { finest_mm: 2.0, ..options };
        let expected = 2 * fine.len() + (2 * coarse.len() + 2 * fine.len()).max(2 * fine.len() + coarse.len());
        assert_eq!(device_bytes([&fine, &fine], [false; 2], &options), SCALAR * expected);
    }

    #[test]
    fn the_counters_of_the_bins_matter_if_the_moving_image_is_small() {
        // The device counts the million voxels of the finest level in 489 chunks.
        let (fixed, moving) = (cube(100, 1.0), cube(20, 1.0));
        let options = Options { bins: 1024, ..Options::default() };
        let expected = 2 * fixed.len() + moving.len() + 4 * fixed.len() + 489 * 1024;
        assert_eq!(device_bytes([&fixed, &moving], [true, false], &options), SCALAR * expected);
    }

    #[test]
    fn a_fixed_side_keeps_the_lists_of_all_levels() {
        let grid = cube(112, 1.0);
        let list = |mm: f64| (112.0 / mm).powi(3) as usize;
        let lists: usize = [1.0, 2.0, 4.0, 8.0].map(list).iter().sum();
        for (masked, count) in [(false, 1), (true, 2)] {
            let bytes = prepared_device_bytes(&grid, masked, &Options::default());
            let expected = SCALAR * count * (grid.len() + lists);
            assert!(bytes.abs_diff(expected) < expected / 1000, "{bytes} for {expected}");
        }
    }

    #[test]
    fn main_memory_holds_the_blurred_image_and_the_list() {
        let (fine, coarse) = (cube(100, 1.0), cube(50, 2.0));
        for pair in [[&fine, &coarse], [&coarse, &fine]] {
            assert_eq!(host_bytes(pair, &Options::default()), 5 * SCALAR * fine.len() + SCALAR * coarse.len());
        }
    }
}
