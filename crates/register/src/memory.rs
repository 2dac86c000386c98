//! Estimates of the memory that a registration needs, from grids and options alone.

use antsreg_core::Grid;
use antsreg_linear as linear;
use antsreg_syn as syn;

use crate::resample::Kernel;
use crate::{Device, Image, Options, Side, Stage, WarpedImages};

/// Bytes of one voxel of an image, a 32-bit float.
const SCALAR: usize = 4;
/// Number of components of a displacement.
const FIELD: usize = 3;

/// GPU memory for the partial sums of costs and metrics, and for the rounding up of allocations by the driver's memory
/// pool, bytes.
const DEVICE_SCRATCH: usize = 100_000_000;

/// Main memory for the program itself and for the buffers of reading and writing, bytes.
const PROGRAM: usize = 20_000_000;

/// The grids of all images of a registration. Grids and options determine how much memory the registration needs.
#[derive(Debug, Clone)]
pub struct Grids<'a> {
    /// Grids of the first fixed image and of the first moving image.
    pub images: [&'a Grid; 2],
    /// Grids of all fixed images except the first, and of all moving images except the first.
    pub channels: [Vec<&'a Grid>; 2],
    /// Whether any stage of the registration has a mask or a lesion: first for the fixed image, then for the moving
    /// image.
    pub masked: [bool; 2],
}

impl<'a> Grids<'a> {
    /// Collects the grids of all fixed and all moving images of a registration.
    pub fn of(sides: [&'a Side; 2]) -> Grids<'a> {
        Grids {
            images: sides.map(Side::grid),
            channels: sides.map(Side::channel_grids),
            masked: sides.map(Side::is_masked),
        }
    }

    /// Grids of all images of the registration except the first fixed and the first moving image.
    fn further(&self) -> Vec<&'a Grid> {
        self.channels.iter().flatten().copied().collect()
    }
}

impl Options {
    /// Peak main memory of a registration on the CPU, bytes. With voxels of 1 and 2 mm, this estimate differs from
    /// measured peaks by less than a tenth.
    pub fn host_bytes(&self, grids: &Grids) -> usize {
        let [fixed, moving] = grids.images;
        let masks = grids.masked.iter().filter(|masked| **masked).count();
        let inputs = SCALAR * (fixed.len() + moving.len() + masks * fixed.len().max(moving.len()));
        let further = grids.further();
        let channels = SCALAR * further.iter().map(|grid| grid.len()).sum::<usize>();
        let stages = self.stages.iter().zip(self.stages_before()).map(|(stage, from)| match stage {
            Stage::Linear(options) => linear::memory::host_bytes(grids.images, options),
            Stage::Deformable(options) => {
                syn::memory::host_bytes(fixed, moving, from, options) + syn::memory::further_host_bytes(&further)
            }
        });
        PROGRAM + inputs + channels + stages.max().unwrap_or(0)
    }

    /// Peak GPU memory of a registration, bytes.
    pub fn device_bytes(&self, grids: &Grids) -> u64 {
        let further = grids.further();
        let copies = grids.images.iter().map(|grid| SCALAR * grid.len()).sum::<usize>();
        let copies = if self.shares_copies() { copies } else { 0 };
        let stages = self.stages.iter().zip(self.stages_before()).map(|(stage, from)| match stage {
            Stage::Linear(options) => copies + linear::memory::device_bytes(grids.images, grids.masked, options),
            Stage::Deformable(options) => {
                syn::memory::device_bytes(grids.images, &further, grids.masked, from, options)
            }
        });
        let warped = self.deformable().next().is_some();
        let images = self.images.map_or(0, |wanted| images_bytes(grids.images, grids.masked[0], warped, wanted));
        (DEVICE_SCRATCH + stages.max().unwrap_or(0).max(images)) as u64
    }

    /// GPU memory that prepared fixed images and masks keep between registrations, bytes.
    pub fn prepared_device_bytes(&self, grids: &Grids) -> u64 {
        let (fixed, masked) = (grids.images[0], grids.masked[0]);
        let stages = self.stages.iter().map(|stage| match stage {
            Stage::Linear(options) => linear::memory::prepared_device_bytes(fixed, masked, options),
            Stage::Deformable(options) => {
                syn::memory::prepared_device_bytes(fixed, &grids.channels[0], masked, options)
            }
        });
        stages.sum::<usize>() as u64
    }

    /// For each stage: the shrink factor of the displacement fields that earlier deformable stages have found; `None`
    /// if there is no earlier deformable stage.
    fn stages_before(&self) -> impl Iterator<Item = Option<usize>> {
        self.stages.iter().scan(None, |from, stage| {
            let before = *from;
            if let Stage::Deformable(options) = stage {
                *from = options.levels.last().map(|level| level.shrink).or(before);
            }
            Some(before)
        })
    }
}

impl Side {
    /// Size of the voxels of all images of this side, that is of all fixed or all moving images of a registration,
    /// bytes. Masks are not counted.
    pub fn image_bytes(&self) -> u64 {
        self.bytes_of(|_| true)
    }

    /// GPU memory that [`on`](Side::on) takes for copies of the images that are not on the device yet, bytes. This
    /// memory is in use as long as the side that `on` returns exists.
    pub fn upload_bytes(&self, device: &Device) -> u64 {
        if device.is_gpu() { self.bytes_of(|image| image.place() != Some(device.place())) } else { 0 }
    }

    /// Size of the voxels of this side (the fixed or the moving images of a registration) that are on the device,
    /// bytes.
    pub fn held_bytes(&self, device: &Device) -> u64 {
        self.bytes_of(|image| image.place() == Some(device.place()))
    }

    fn bytes_of(&self, counts: impl Fn(&Image) -> bool) -> u64 {
        let images = std::iter::once(&self.image).chain(&self.channels).filter(|image| counts(image));
        images.map(|image| (SCALAR * image.grid().len()) as u64).sum()
    }
}

/// GPU memory that is needed to resample the fixed and the moving image after the registration, bytes. Scratch memory
/// of kernels is not included.
fn images_bytes([fixed, moving]: [&Grid; 2], masked: bool, warped: bool, wanted: WarpedImages) -> usize {
    let Some(kernel) = Kernel::of(wanted.interpolation) else { return 0 };
    // For each resampling, GPU memory contains the source image, its spline coefficients if needed, the result, and the
    // displacement field if there is one. Some kernels need a displacement field of zeros if there is no warp.
    let (coefficients, zeros) = (usize::from(kernel == Kernel::Spline), kernel != Kernel::Linear);
    let reading = |image: &Grid, onto: &Grid, field: bool| {
        image.len() * (1 + coefficients) + onto.len() * (1 + FIELD * usize::from(field))
    };
    // To compute the correlation, GPU memory also contains the fixed image, an image of ones on the moving grid, and
    // this image of ones resampled on the fixed grid. With a mask, it contains one image more.
    let there = reading(moving, fixed, zeros) + moving.len() + fixed.len() * (2 + usize::from(masked));
    let made = fixed.len() * usize::from(wanted.warped);
    let back = if wanted.inverse_warped { made + reading(fixed, moving, warped || zeros) } else { 0 };
    SCALAR * (fixed.len() * 2 * FIELD * usize::from(warped) + there.max(back))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interpolation;

    fn cube(voxels: usize, mm: f64) -> Grid {
        Grid::axis_aligned([voxels; 3], [mm; 3])
    }

    #[test]
    fn the_peak_is_that_of_the_largest_stage() {
        let grid = cube(100, 1.0);
        let grids = Grids { images: [&grid; 2], channels: [vec![], vec![]], masked: [false; 2] };
        let (linear, deformable) = (linear::Options::default(), syn::Options::default());
        let of = |stages: Vec<Stage>| Options { stages, images: None, ..Options::default() }.device_bytes(&grids);
        let [linear_alone, deformable_alone] =
            [of(vec![Stage::Linear(linear.clone())]), of(vec![Stage::Deformable(deformable.clone())])];
        assert!(linear_alone > DEVICE_SCRATCH as u64 && deformable_alone > linear_alone);
        assert_eq!(of(vec![Stage::Linear(linear.clone()), Stage::Deformable(deformable)]), deformable_alone);
        let copies = 2 * 4 * 100 * 100 * 100;
        assert_eq!(of(vec![Stage::Linear(linear.clone()), Stage::Linear(linear)]), linear_alone + copies);
    }

    #[test]
    fn images_take_little_unless_the_moving_grid_is_fine() {
        let (grid, fine) = (cube(100, 1.0), cube(200, 0.5));
        let planned = |grids, warped, interpolation, inverse_warped| {
            let wanted = WarpedImages { interpolation, warped: true, inverse_warped };
            images_bytes(grids, false, warped, wanted) / (SCALAR * grid.len())
        };
        let (linear, spline) = (Interpolation::Linear, Interpolation::Bspline);
        // The expected numbers count the images that GPU memory contains: both images, the resampled image and two
        // images of ones. Splines add coefficients and a field of zeros (3 images). Warps add 6 images. While the fixed
        // image is resampled, memory also contains the inverse warp on the moving grid, and the resampled moving image.
        assert_eq!(planned([&grid, &grid], false, linear, true), 5);
        assert_eq!(planned([&grid, &grid], false, spline, false), 9);
        assert_eq!(planned([&grid, &grid], false, Interpolation::Sinc, false), 8);
        assert_eq!(planned([&grid, &grid], true, linear, true), 6 + 6);
        assert_eq!(planned([&grid, &fine], true, linear, true), 6 + 1 + 1 + 8 * 4);
        assert_eq!(planned([&grid, &fine], true, linear, false), 6 + 2 * 8 + 3);
        let nearest = WarpedImages { interpolation: Interpolation::Nearest, warped: true, inverse_warped: true };
        assert_eq!(images_bytes([&grid, &grid], true, true, nearest), 0);
    }

    #[test]
    fn images_are_counted_where_they_are() {
        use antsreg_core::Volume;

        let (image, channel) = (Volume::filled(cube(10, 1.0), 1.0), Volume::filled(cube(20, 1.0), 1.0));
        // This test runs without a GPU: the CPU computes, but the device describes itself as a GPU. Images that are
        // uploaded to this device count as images on a GPU.
        let gpu = Device::cpu_described_as(crate::Description::Cuda {
            index: 0,
            name: "a GPU".into(),
            compute_capability: "9.0".into(),
            driver_cuda: "13.0".into(),
            memory_bytes: 0,
        });
        let mut side = Side::new(image);
        side.channels.push(Image::uploaded(&gpu, &channel).expect("finite voxels"));
        assert_eq!((side.upload_bytes(&gpu), side.held_bytes(&gpu)), (4 * 1000, 4 * 8000));
        assert_eq!(side.image_bytes(), 4 * 9000);
        assert_eq!(side.upload_bytes(&Device::cpu()), 0, "nothing is copied for the CPU");
        let there = side.on(&gpu).expect("finite voxels");
        assert_eq!((there.upload_bytes(&gpu), there.held_bytes(&gpu)), (0, 4 * 9000));
    }
}
