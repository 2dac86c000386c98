//! Cubic spline coefficients of an image, and interpolation with these coefficients.

use antsreg_core::AffineTransform;

use super::Cuda;
use super::field::Field;
use super::image::Image;
use super::launch::{Affine, Launch, Shape, arguments};
use crate::Error;

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

impl Cuda {
    pub(super) fn spline_through(&self, image: &Image) -> Result<Image, Error> {
        let mut out = image.duplicate()?;
        let [nx, ny, nz] = image.shape;
        if nx > 1 {
            self.spline_rows(&mut out)?;
        }
        let plane = nx * ny;
        let along_y = Lines { count: nx * nz, group: nx, group_stride: plane, length: ny, stride: nx };
        let along_z = Lines { count: plane, group: plane, group_stride: 0, length: nz, stride: plane };
        for lines in [along_y, along_z] {
            if lines.length > 1 {
                self.spline_lines(&mut out, &lines)?;
            }
        }
        Ok(out)
    }

    fn spline_rows(&self, image: &mut Image) -> Result<(), Error> {
        let [length, ny, nz] = image.shape;
        let kernel = &self.kernels.spline(&self.device)?.spline_rows;
        let grid = [(ny * nz).div_ceil(ROWS * WARPS) as u32, 1, 1];
        let launch =
            Launch { kernel, grid, block: [ROWS as u32, WARPS as u32, 1], shared: 0, bytes: 8 * image.len() as u64 };
        let (values, rows, length) = (image.write(), (ny * nz) as i32, length as i32);
        // SAFETY: `values` contains `rows` successive rows of `length` voxels, and no warp accesses more.
        unsafe { self.launch(launch, arguments![values, rows, length]) }
    }

    fn spline_lines(&self, image: &mut Image, lines: &Lines) -> Result<(), Error> {
        let kernel = &self.kernels.spline(&self.device)?.spline_lines;
        let launch = Launch::over_elements(kernel, lines.count, LINES, 8 * image.len() as u64);
        let values = image.write();
        let [count, group, group_stride, stride] =
            [lines.count, lines.group, lines.group_stride, lines.stride].map(|n| n as u32);
        let length = lines.length as i32;
        // SAFETY: all lines lie within the volume, and threads beyond the last line return.
        unsafe { self.launch(launch, arguments![values, count, group, group_stride, length, stride]) }
    }

    pub(super) fn warp_through_spline(
        &self,
        coefficients: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        out: &mut Image,
    ) -> Result<(), Error> {
        Error::check_shape("warp_spline", field.shape, out.shape)?;
        let kernel = &self.kernels.spline(&self.device)?.warp_spline;
        let bytes = field.bytes() + 4 * (coefficients.len() + out.len()) as u64;
        let launch = Launch::over_blocks(kernel, out.shape, [32, 2, 2], 1, bytes);
        let (source, displacement, target) = (coefficients.read(), field.read(), out.write());
        let (source_shape, shape) = (Shape::of(coefficients.shape), Shape::of(out.shape));
        let map = Affine::of(grid_to_image);
        // SAFETY: field and output have one shape, and threads outside it return. Only coefficients within their own
        // shape are read.
        unsafe { self.launch(launch, arguments![source, source_shape, displacement, map, target, shape]) }
    }
}
