//! Separable Gaussian smoothing of images and fields.

use crate::cuda::Cuda;
use crate::cuda::field::Field;
use crate::cuda::image::Image;
use crate::cuda::launch::{Argument, Launch, Shape, arguments};
use crate::cuda::module::Kernel;
use crate::{Error, gaussian};

/// A fused kernel, which smooths along all three axes and reads and writes the volume only once (`cu/smooth.cuh`), with
/// the radius of its Gaussian and the number of rows of its tiles.
struct Fused<'a> {
    kernel: &'a Kernel,
    reach: usize,
    rows: usize,
}

/// Largest number of threads of a smoothing block, with one thread per column of a tile and its margins.
const MOST_THREADS: usize = 192;

/// Kernel argument with the layout of the structure `Weights` in `cu/smooth.cuh`: one half of each Gaussian kernel,
/// from its centre outwards; unused weights are zero.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::cuda) struct Weights([[f32; 16]; 3]);
impl Argument for Weights {}

impl Weights {
    pub(in crate::cuda) fn of(kernels: &[Vec<f32>; 3]) -> Weights {
        let mut weights = Weights([[0.0; 16]; 3]);
        for (padded, kernel) in weights.0.iter_mut().zip(kernels) {
            padded[..kernel.len()].copy_from_slice(kernel);
        }
        weights
    }
}

/// The Gaussian kernels of a smoothing, and how the result is blended with the unsmoothed volume.
struct Plan {
    weights: Weights,
    radius: usize,
    /// Share of the smoothed volume in the result; the rest is the unsmoothed volume.
    blend: f32,
    clear_border: bool,
}

impl Plan {
    fn new(kernels: &[Vec<f32>; 3]) -> Plan {
        let radius = kernels.iter().map(|kernel| kernel.len() - 1).max().unwrap_or(0);
        Plan { weights: Weights::of(kernels), radius, blend: 1.0, clear_border: false }
    }
}

/// The volumes that are smoothed: `count` scalar volumes of one shape, which follow each other in memory, such as the
/// three components of a displacement field.
#[derive(Clone, Copy)]
struct Planes {
    shape: [usize; 3],
    count: u32,
}

impl Planes {
    fn bytes(&self) -> u64 {
        4 * u64::from(self.count) * self.shape.iter().product::<usize>() as u64
    }
}

/// Prepares a kernel launch with one thread for each voxel of each of the scalar volumes `planes`.
fn over_planes(kernel: &Kernel, planes: Planes, bytes: u64) -> Launch<'_> {
    let mut launch = Launch::over_voxels(kernel, planes.shape, bytes);
    launch.grid[2] *= planes.count;
    launch
}

pub(in crate::cuda) fn smooth(cuda: &Cuda, image: &Image, sigma_voxels: [f64; 3]) -> Result<Image, Error> {
    if sigma_voxels == [0.0; 3] {
        return image.duplicate();
    }
    let plan = Plan::new(&sigma_voxels.map(|sigma| gaussian::kernel(sigma * sigma)));
    let mut out = Image::uninitialised(&cuda.device, image.shape)?;
    let planes = Planes { shape: image.shape, count: 1 };
    match cuda.fused(plan.radius)? {
        // SAFETY: `image` and `out` have the shape of `planes` and do not overlap in memory.
        Some(kernel) => unsafe { cuda.smooth_fused(kernel, image.read(), out.write(), planes, &plan)? },
        None => {
            let mut between = image.duplicate()?;
            // SAFETY: `between` and `out` have the shape of `planes` and do not overlap in memory.
            unsafe { cuda.smooth_by_axis(between.write(), out.write(), planes, &plan)? }
        }
    }
    Ok(out)
}

fn smooth_field(cuda: &Cuda, field: &mut Field, variance_voxels: f64, scratch: &mut Field) -> Result<(), Error> {
    Error::check_shape("smooth_both_fields", field.shape, scratch.shape)?;
    if variance_voxels == 0.0 {
        return Ok(());
    }
    cuda.smooth_into(field, variance_voxels, scratch)?;
    std::mem::swap(field, scratch);
    Ok(())
}

/// Smooths two fields as [`smooth_field`] does, in one launch if their planes are
/// adjacent.
pub(in crate::cuda) fn smooth_both_fields(
    cuda: &Cuda,
    fields: [&mut Field; 2],
    variance_voxels: f64,
    scratch: [&mut Field; 2],
) -> Result<(), Error> {
    let ([first, second], [first_scratch, second_scratch]) = (fields, scratch);
    if !first.is_before(second) || !first_scratch.is_before(second_scratch) {
        smooth_field(cuda, first, variance_voxels, first_scratch)?;
        return smooth_field(cuda, second, variance_voxels, second_scratch);
    }
    Error::check_shape("smooth_both_fields", first.shape, first_scratch.shape)?;
    if variance_voxels == 0.0 {
        return Ok(());
    }
    let planes = Planes { shape: first.shape, count: 6 };
    // SAFETY: the three planes of the second field follow those of the first in memory, and so do the planes of the
    // scratch fields.
    unsafe { cuda.smooth_planes(first.write(), variance_voxels, first_scratch.write(), planes)? };
    std::mem::swap(first, first_scratch);
    std::mem::swap(second, second_scratch);
    Ok(())
}

impl Cuda {
    /// Smooths a field into another field. If the radius of the Gaussian is too large for the fused kernels, which
    /// smooth along all axes at the same time, `field` is used as scratch memory.
    pub(in crate::cuda) fn smooth_into(
        &self,
        field: &mut Field,
        variance_voxels: f64,
        out: &mut Field,
    ) -> Result<(), Error> {
        let planes = Planes { shape: field.shape, count: 3 };
        // SAFETY: `field` and `out` have the shape of `planes` and do not overlap in memory.
        unsafe { self.smooth_planes(field.write(), variance_voxels, out.write(), planes) }
    }

    /// Smooths a single component of a field. If the radius of the Gaussian is too large for the fused kernels, the
    /// memory at `from` is used as scratch memory.
    ///
    /// # Safety
    /// `from` and `to` are the addresses of two planes of this shape that do not overlap.
    pub(in crate::cuda) unsafe fn smooth_plane(
        &self,
        from: u64,
        variance_voxels: f64,
        to: u64,
        shape: [usize; 3],
    ) -> Result<(), Error> {
        // SAFETY: the caller promises two planes of this shape.
        unsafe { self.smooth_planes(from, variance_voxels, to, Planes { shape, count: 1 }) }
    }

    /// Smooths scalar volumes (`planes`) that follow each other in memory, such as the components of a field.
    ///
    /// # Safety
    /// `from` and `to` are the addresses of two parts of device memory that do not overlap. Each part contains
    /// all scalar volumes of `planes`.
    unsafe fn smooth_planes(&self, from: u64, variance_voxels: f64, to: u64, planes: Planes) -> Result<(), Error> {
        let kernel = gaussian::kernel(variance_voxels);
        let mut plan = Plan::new(&planes.shape.map(|n| if n > 1 { kernel.clone() } else { vec![1.0] }));
        plan.blend = if variance_voxels < 0.5 { (variance_voxels / 0.5) as f32 } else { 1.0 };
        plan.clear_border = true;
        match self.fused(plan.radius)? {
            // SAFETY: the caller promises that the memory at `from` and at `to` contains all the volumes `planes` and
            // does not overlap.
            Some(kernel) => unsafe {
                self.smooth_fused(kernel, from, to, planes, &plan)?;
                self.blend(from, to, planes, &plan)
            },
            // SAFETY: the caller promises that the memory at `from` and at `to` contains all the volumes `planes` and
            // does not overlap. The smoothed volumes need not be blended with the unsmoothed ones, because kernels this
            // wide have large variances.
            None => unsafe { self.smooth_by_axis(from, to, planes, &plan) },
        }
    }

    /// The fused kernel for a Gaussian of this radius, which smooths along all three axes at the same time; `None` if
    /// there is no fused kernel for so large a radius.
    fn fused(&self, radius: usize) -> Result<Option<Fused<'_>>, Error> {
        let (kernels, device) = (&self.kernels, &self.device);
        let fused = |kernel, reach, rows| Some(Fused { kernel, reach, rows });
        Ok(match radius {
            0..=3 => fused(&kernels.smooth_3(device)?.smooth_3, 3, 10),
            4 => fused(&kernels.smooth_4(device)?.smooth_4, 4, 10),
            5 => fused(&kernels.smooth_5(device)?.smooth_5, 5, 10),
            6 => fused(&kernels.smooth_6(device)?.smooth_6, 6, 8),
            7..=8 => fused(&kernels.smooth_8(device)?.smooth_8, 8, 4),
            _ => None,
        })
    }

    /// Smooths scalar volumes (`planes`), such as the components of a field, by a fused kernel, which smooths along all
    /// three axes at the same time.
    ///
    /// # Safety
    /// `from` and `to` are the addresses of two parts of device memory that do not overlap. Each part contains
    /// all scalar volumes of `planes`.
    unsafe fn smooth_fused(
        &self,
        Fused { kernel, reach, rows }: Fused<'_>,
        from: u64,
        to: u64,
        planes: Planes,
        plan: &Plan,
    ) -> Result<(), Error> {
        let [nx, ny, nz] = planes.shape;
        // The volume is divided along x into as few tiles as possible, all as narrow as possible. In a tile, a thread
        // smooths `rows` voxels along x.
        let columns = nx.div_ceil(MOST_THREADS - 2 * reach);
        let width = nx.div_ceil(columns);
        let threads = (width + 2 * reach).max(width.next_multiple_of(rows)).next_multiple_of(32) as u32;
        let lines = ny.div_ceil(rows);
        let tiles = columns * lines * planes.count as usize;
        let depth = self.depth_of_blocks(kernel, threads, tiles, nz, 2 * reach)?;
        let chunks = nz.div_ceil(depth);
        let launch = Launch {
            kernel,
            grid: [columns as u32, lines as u32, planes.count * chunks as u32],
            block: [threads, 1, 1],
            shared: 0,
            bytes: 2 * planes.bytes(),
        };
        let (shape, weights, width) = (Shape::of(planes.shape), plan.weights, width as i32);
        let (chunks, depth, clear) = (chunks as i32, depth as i32, i32::from(plan.clear_border));
        // SAFETY: the caller promises that the memory at `from` and at `to` contains all the volumes `planes` and does
        // not overlap. Reads are clamped to the shape, and only voxels within it are written.
        unsafe { self.launch(launch, arguments![from, to, shape, weights, width, chunks, depth, clear]) }
    }

    /// Blends smoothed volumes with the volumes before smoothing (`before`), voxel by voxel. The share of the smoothed
    /// volumes in the result is `plan.blend`. Does nothing if this share is 1.
    ///
    /// # Safety
    /// `before` and `smoothed` are the addresses of two parts of device memory that do not overlap. Each part
    /// contains all scalar volumes of `planes`.
    unsafe fn blend(&self, before: u64, smoothed: u64, planes: Planes, plan: &Plan) -> Result<(), Error> {
        if plan.blend == 1.0 {
            return Ok(());
        }
        let launch = over_planes(&self.kernels.smooth(&self.device)?.blend, planes, 3 * planes.bytes());
        let (shape, share, clear) = (Shape::of(planes.shape), plan.blend, i32::from(plan.clear_border));
        // SAFETY: the caller promises that the memory at both addresses contains all the volumes `planes` and does not
        // overlap. Threads beyond the last voxel return.
        unsafe { self.launch(launch, arguments![before, smoothed, shape, share, clear]) }
    }

    /// Smooths scalar volumes (`planes`), such as the components of a field, along x, then y, then z. Each step reads
    /// one of the two memories and writes to the other: `from` → `to` → `from` → `to`.
    ///
    /// # Safety
    /// `from` and `to` are the addresses of two parts of device memory that do not overlap. Each part contains
    /// all scalar volumes of `planes`. The part at `from` is overwritten.
    unsafe fn smooth_by_axis(&self, from: u64, to: u64, planes: Planes, plan: &Plan) -> Result<(), Error> {
        let launch = over_planes(&self.kernels.smooth(&self.device)?.smooth_axis, planes, 2 * planes.bytes());
        let (shape, weights, radius) = (Shape::of(planes.shape), plan.weights, plan.radius as i32);
        for (axis, (source, target)) in [(from, to), (to, from), (from, to)].into_iter().enumerate() {
            let (axis, clear) = (axis as i32, i32::from(plan.clear_border && axis == 2));
            // SAFETY: the caller promises that the memory at `from` and at `to` contains all the volumes `planes` and
            // does not overlap. Reads are clamped to the shape, and threads outside it return.
            unsafe { self.launch(launch, arguments![source, target, shape, weights, axis, radius, clear])? };
        }
        Ok(())
    }
}
