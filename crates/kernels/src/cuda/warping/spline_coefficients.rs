//! Cubic spline coefficients of an image.

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::image::Image;
use crate::cuda::launch::{Launch, arguments};

/// Number of rows that a warp of the kernel `spline_rows` processes, and number of warps of a block, as in
/// `cu/spline.cu`.
const ROWS: usize = 32;
const WARPS: usize = 4;
/// Number of threads of a block of the kernel `spline_lines`.
const LINES: u32 = 64;

/// Lines of voxels through a volume along y or z, as the kernel `spline_lines` of `cu/spline.cu` processes them.
struct Lines {
    /// Number of lines of voxels that the volume has along the axis.
    count: usize,
    /// Lines of voxels that begin next to each other in memory form a group: number of lines of a group, and distance
    /// between the starts of two groups, in elements.
    group: usize,
    group_stride: usize,
    /// Number of voxels of a line, and distance between its adjacent voxels in memory, in elements.
    length: usize,
    stride: usize,
}

pub(in crate::cuda) fn spline_coefficients(cuda: &Cuda, image: &Image) -> Result<Image, Error> {
    let mut out = image.duplicate()?;
    let [nx, ny, nz] = image.shape;
    if nx > 1 {
        spline_rows(cuda, &mut out)?;
    }
    let plane = nx * ny;
    let along_y = Lines { count: nx * nz, group: nx, group_stride: plane, length: ny, stride: nx };
    let along_z = Lines { count: plane, group: plane, group_stride: 0, length: nz, stride: plane };
    for lines in [along_y, along_z] {
        if lines.length > 1 {
            spline_lines(cuda, &mut out, &lines)?;
        }
    }
    Ok(out)
}

fn spline_rows(cuda: &Cuda, image: &mut Image) -> Result<(), Error> {
    let [length, ny, nz] = image.shape;
    let kernel = &cuda.kernels.spline(&cuda.device)?.spline_rows;
    let grid = [(ny * nz).div_ceil(ROWS * WARPS) as u32, 1, 1];
    let launch =
        Launch { kernel, grid, block: [ROWS as u32, WARPS as u32, 1], shared: 0, bytes: 8 * image.len() as u64 };
    let (values, rows, length) = (image.write(), (ny * nz) as i32, length as i32);
    // SAFETY: `values` contains `rows` successive rows of `length` voxels, and no warp accesses more.
    unsafe { cuda.launch(launch, arguments![values, rows, length]) }
}

fn spline_lines(cuda: &Cuda, image: &mut Image, lines: &Lines) -> Result<(), Error> {
    let kernel = &cuda.kernels.spline(&cuda.device)?.spline_lines;
    let launch = Launch::over_elements(kernel, lines.count, LINES, 8 * image.len() as u64);
    let values = image.write();
    let [count, group, group_stride, stride] =
        [lines.count, lines.group, lines.group_stride, lines.stride].map(|n| n as u32);
    let length = lines.length as i32;
    // SAFETY: all lines lie within the volume, and threads beyond the last line return.
    unsafe { cuda.launch(launch, arguments![values, count, group, group_stride, length, stride]) }
}
