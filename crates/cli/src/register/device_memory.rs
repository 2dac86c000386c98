//! How much memory of a GPU a registration takes: an estimate before, what it took after.

use antsreg_core::Grid;
use antsreg_kernels::Cuda;
use antsreg_linear as linear;
use antsreg_syn as syn;
use serde::Serialize;

use super::images::WantedImages;
use super::memory::SCALAR;
use super::request::Request;
use crate::device::{DeviceChoice, TooLittle};
use crate::error::CliError;
use crate::on_device::Kernel;

/// Sums of batches and of blocks, and what the driver's pool rounds up.
const DEVICE_SCRATCH: usize = 100_000_000;

/// Memory of a GPU, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DeviceMemory {
    /// What the registration was expected to take.
    pub planned_bytes: u64,
    /// What was free before it.
    pub free_bytes: u64,
    /// What it took: what is freed stays in the driver's pool, so what is gone at the end is the peak.
    pub taken_bytes: Option<u64>,
}

impl DeviceMemory {
    /// Before a registration, with so much free.
    pub fn before(request: &Request, free_bytes: u64) -> DeviceMemory {
        DeviceMemory { planned_bytes: request.bytes_on_device(), free_bytes, taken_bytes: None }
    }

    /// Whether this device has too little.
    pub fn too_little(&self, device: DeviceChoice) -> Option<TooLittle> {
        TooLittle::of(device, self.planned_bytes, self.free_bytes)
    }

    /// After it, with what it took.
    pub fn after(self, cuda: &Cuda) -> Result<DeviceMemory, CliError> {
        let free = cuda.memory().map_err(CliError::Device)?.free;
        Ok(DeviceMemory { taken_bytes: Some(self.free_bytes.saturating_sub(free)), ..self })
    }
}

/// Peak memory expected on a GPU of a pair of images and further ones, bytes.
pub fn of_stages(
    grids: [&Grid; 2],
    further: &[&Grid],
    masked: [bool; 2],
    linear: Option<&linear::Options>,
    syn: Option<&syn::Options>,
) -> usize {
    let linear = linear.map_or(0, |options| linear::memory::device_bytes(grids, masked, options));
    let syn = syn.map_or(0, |options| syn::memory::device_bytes(grids, further, masked, None, options));
    DEVICE_SCRATCH + linear.max(syn)
}

/// Memory of a GPU that making the images takes at its end, bytes.
pub fn of_images([fixed, moving]: [&Grid; 2], masked: bool, warped: bool, wanted: WantedImages) -> usize {
    const FIELD: usize = 3;
    let Some(kernel) = Kernel::of(wanted.how) else { return 0 };
    // An image and its coefficients; what it becomes; a field on that grid, of zeros where there is none but one is needed.
    let (coefficients, zeros) = (usize::from(kernel == Kernel::Spline), kernel != Kernel::Linear);
    let reading = |image: &Grid, onto: &Grid, field: bool| {
        image.len() * (1 + coefficients) + onto.len() * (1 + FIELD * usize::from(field))
    };
    // Besides, what it is compared with.
    let there = reading(moving, fixed, zeros) + fixed.len() * (1 + usize::from(masked));
    let back = if wanted.inverse_warped { reading(fixed, moving, warped || zeros) } else { 0 };
    DEVICE_SCRATCH + SCALAR * (fixed.len() * 2 * FIELD * usize::from(warped) + there.max(back))
}

/// Memory of a GPU that a fixed side of an image and further ones keeps between registrations, bytes.
pub fn of_prepared(
    fixed: &Grid,
    further: &[&Grid],
    masked: bool,
    linear: Option<&linear::Options>,
    syn: Option<&syn::Options>,
) -> usize {
    let lists = linear.map_or(0, |options| linear::memory::prepared_device_bytes(fixed, masked, options));
    let pyramid = syn.map_or(0, |options| syn::memory::prepared_device_bytes(fixed, further, masked, options));
    lists + pyramid
}

#[cfg(test)]
mod tests {
    use antsreg_core::schedule::Level;
    use nalgebra::{Matrix3, Point3, Vector3};

    use super::*;
    use crate::device::Description;
    use crate::interpolation::ImageInterpolation;
    use crate::register::Plan;

    fn cube(voxels: usize, mm: f64) -> Grid {
        let (spacing, origin) = (Vector3::repeat(mm), Point3::origin());
        Grid { shape: [voxels; 3], spacing, origin, direction: Matrix3::identity() }
    }

    fn plan(linear: bool, shrink: Option<usize>) -> Plan {
        let levels = |shrink| vec![Level { shrink, sigma_voxels: 0.0, iterations: 1, reinvert_every: 1 }];
        Plan {
            linear: linear.then(linear::Options::default),
            syn: shrink.map(|shrink| syn::Options { levels: levels(shrink), ..Default::default() }),
            device: Description::Cpu,
            slices: false,
        }
    }

    fn planned(grids: [&Grid; 2], masked: [bool; 2], plan: &Plan) -> usize {
        of_stages(grids, &[], masked, plan.linear.as_ref(), plan.syn.as_ref())
    }

    #[test]
    fn each_stage_takes_what_its_hungriest_moment_has() {
        // Scalars a voxel, counted by hand: with one grid for both images and a level on it.
        for (masked, linear, syn) in [([false; 2], 6, 33), ([true, false], 9, 35), ([true; 2], 12, 37)] {
            let grid = cube(100, 1.0);
            let grids = [&grid, &grid];
            for (plan, scalars) in
                [(plan(true, None), linear), (plan(false, Some(1)), syn), (plan(true, Some(1)), syn)]
            {
                let bytes = planned(grids, masked, &plan) - DEVICE_SCRATCH;
                assert_eq!(bytes, scalars * SCALAR * grid.len(), "{masked:?}");
            }
        }
        // Iterating on an eighth of the voxels takes less than the fields on the full grid afterwards.
        let grid = cube(100, 1.0);
        assert_eq!(planned([&grid, &grid], [false; 2], &plan(false, Some(2))) - DEVICE_SCRATCH, 25 * 4 * grid.len());
    }

    #[test]
    fn images_take_little_unless_the_moving_grid_is_fine() {
        let (grid, fine) = (cube(100, 1.0), cube(200, 0.5));
        let planned = |grids, warped, how, inverse_warped| {
            let bytes =
                of_images(grids, false, warped, WantedImages { how, warped: true, inverse_warped }) - DEVICE_SCRATCH;
            bytes / (SCALAR * grid.len())
        };
        let (linear, spline) = (ImageInterpolation::Linear, ImageInterpolation::Bspline);
        // Both images and the result; with coefficients and a field of zeros; both warps, and one on the moving grid.
        assert_eq!(planned([&grid, &grid], false, linear, true), 3);
        assert_eq!(planned([&grid, &grid], false, spline, false), 7);
        assert_eq!(planned([&grid, &grid], false, ImageInterpolation::Sinc, false), 6);
        assert_eq!(planned([&grid, &grid], true, linear, true), 6 + 5);
        assert_eq!(planned([&grid, &fine], true, linear, true), 6 + 1 + 8 * 4);
        assert_eq!(planned([&grid, &fine], true, linear, false), 6 + 8 + 2);
        let nearest = WantedImages { how: ImageInterpolation::Nearest, warped: true, inverse_warped: true };
        assert_eq!(of_images([&grid, &grid], true, true, nearest), 0);
    }

    #[test]
    fn too_little_is_told_with_both_numbers() {
        let memory = |free_bytes| DeviceMemory { planned_bytes: 740_500_000, free_bytes, taken_bytes: None };
        let too_little = |free_bytes| memory(free_bytes).too_little(DeviceChoice::Cuda(2));
        assert_eq!(too_little(740_500_000), None);
        let message = CliError::DeviceMemory(too_little(740_499_999).expect("too little")).to_string();
        for word in ["cuda:2", "741 MB", "740 MB", "--device cpu"] {
            assert!(message.contains(word), "`{word}` is missing in: {message}");
        }
    }
}
