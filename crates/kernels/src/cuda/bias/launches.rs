//! Launches of the kernels of `cu/bias.cu` for the operations of N4.

use super::axes::{Axes, Axis, REACHED};
use super::mesh::{BiasMesh, Tally};
use crate::Error;
use crate::bias::{Histogram, MeshAxis, Step};
use crate::cuda::Cuda;
use crate::cuda::buffer::{Buffer, grown};
use crate::cuda::image::Image;
use crate::cuda::kernels::Bias;
use crate::cuda::launch::{Argument, Launch, arguments};
use crate::cuda::module::Kernel;

/// Two numbers, the same as in `cu/bias.cu`. WARPS: number of warps of a thread block, in kernels whose warps process
/// one row each. RUN: number of samples that a thread block of `bias_histogram` processes.
const WARPS: u32 = 4;
const RUN: usize = 2048;
/// Largest number of bins for which each block of `bias_histogram` has its own histogram in shared memory.
const MOST_OWN_BINS: usize = 8192;
/// Number of values at the start of the structure `Outcome` in `cu/bias.cu`. The bins of the histogram follow these
/// values in memory.
const HEAD: usize = 4;

/// Kernel argument with the layout of the structure `Sharpened` in `cu/bias.cu`: N4's table of the expected logarithm
/// without shading for each measured logarithm.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Table {
    pub(super) low: f64,
    pub(super) width: f64,
    pub(super) expected: u64,
    pub(super) bins: i32,
}
impl Argument for Table {}

impl Cuda {
    fn bias_kernels(&self) -> Result<&Bias, Error> {
        self.kernels.bias(&self.device)
    }

    /// Computes the weighted residuals of the samples, to which N4 fits its field. A residual is the sample's logarithm
    /// minus the present bias field (`left`), minus the expected logarithm without shading, as `table` gives it.
    /// Without expectations in `table`, the results are the weights.
    pub(super) fn bias_residuals(
        &self,
        [left, weights]: [u64; 2],
        count: usize,
        table: Table,
        mesh: &BiasMesh,
    ) -> Result<(), Error> {
        let launch = Launch::over_elements(&self.bias_kernels()?.bias_residuals, count, 256, 16 * count as u64);
        let (count, out) = (count as u32, mesh.residuals.pointer());
        // SAFETY: `left`, the weights and the residuals have `count` elements each. The table has one expected
        // logarithm for each of its bins; if it has none, the kernel does not read `left`.
        unsafe { self.launch(launch, arguments![left, weights, count, table, out]) }
    }

    /// For each control point, sums the weighted residuals of the samples that it influences, each times the control
    /// point's weight at the sample. `kind` is the index of the set of these weights.
    pub(super) fn bias_sums(&self, mesh: &BiasMesh, kind: usize) -> Result<(), Error> {
        let [px, py, _] = mesh.axes.points;
        let buffers = [&mesh.residuals, &mesh.rows, &mesh.planes, &mesh.sums];
        for (axis, inner) in [1, px, px * py].into_iter().enumerate() {
            let [from, to] = [buffers[axis], buffers[axis + 1]];
            let kernel = &self.bias_kernels()?.bias_gather;
            let bytes = 8 * (from.len() + to.len()) as u64;
            let launch = Launch::over_elements(kernel, to.len(), 128, bytes);
            let (values, sums, count) = (from.pointer(), to.pointer(), to.len() as u32);
            let (along, inner) = (mesh.axes.axis(axis, kind), inner as u32);
            // SAFETY: each of the `count` sums reads only samples within the length of its axis. For each sample along
            // this axis, `values` has `inner` numbers at each position along the later axes (`Axes::sizes`).
            unsafe { self.launch(launch, arguments![values, along, inner, count, sums])? };
        }
        Ok(())
    }

    pub(super) fn bias_add(&self, mesh: &BiasMesh) -> Result<(), Error> {
        let count = mesh.field.len();
        let launch = Launch::over_elements(&self.bias_kernels()?.bias_add, count, 128, 32 * count as u64);
        let (sums, squares, field) = (mesh.sums.pointer(), mesh.squares.pointer(), mesh.field.pointer());
        let count = count as u32;
        // SAFETY: `sums`, `squares` and `field` have one element for each of the `count` control points, and threads
        // beyond the last control point return.
        unsafe { self.launch(launch, arguments![sums, squares, count, field]) }
    }

    /// Evaluates the bias field along the third axis: for each slice, combines the control points of all slices of the
    /// mesh to one plane of control points.
    pub(super) fn bias_planes(&self, field: &Buffer<f64>, axes: &Axes, planes: &Buffer<f64>) -> Result<(), Error> {
        let kernel = &self.bias_kernels()?.bias_planes;
        let launch = Launch::over_elements(kernel, planes.len(), 128, 8 * (field.len() + planes.len()) as u64);
        let (along, plane) = (axes.axis(2, REACHED), (axes.points[0] * axes.points[1]) as u32);
        let (field, count, out) = (field.pointer(), planes.len() as u32, planes.pointer());
        // SAFETY: `plane` is the number of control points of the first two axes. `planes` has `plane` elements for each
        // slice, and `field` has `plane` elements for each control point along the third axis.
        unsafe { self.launch(launch, arguments![field, along, plane, count, out]) }
    }

    /// Sets `left` to the logarithms of the samples' intensities minus the bias field. For each row of samples,
    /// computes Σd and Σd² of the relative changes d of the field's exponential, and the range of `left`.
    pub(super) fn bias_subtract(
        &self,
        [logarithms, weights, left]: [u64; 3],
        planes: u64,
        [x, y]: [Axis; 2],
        rows: usize,
        tally: &Tally,
    ) -> Result<(), Error> {
        let kernel = &self.bias_kernels()?.bias_subtract;
        let launch = of_rows(kernel, rows, 16 * rows as u64 * u64::from(x.length));
        let (sums, ranges, rows) = (tally.sums.pointer(), tally.ranges.pointer(), rows as u32);
        // SAFETY: the volumes of samples have `rows` rows, each as long as the axis `x`. For each row, `sums` has two
        // numbers and `ranges` the two ends of a range. `planes` has the control points of `x` and `y` for each slice;
        // if it is null, the kernel does not read it.
        unsafe { self.launch(launch, arguments![logarithms, weights, left, planes, x, y, rows, sums, ranges]) }
    }

    /// Combines the sums and the ranges of all rows of samples, computes the histogram of `left`, and waits for these
    /// results.
    pub(super) fn bias_outcome(
        &self,
        [left, weights]: [&Image; 2],
        bins: usize,
        rows: usize,
        tally: &mut Tally,
    ) -> Result<Step, Error> {
        let kernels = self.bias_kernels()?;
        let outcome_buffer = grown(&mut tally.outcome, HEAD + bins, &self.device)?;
        let (sums, ranges, rows) = (tally.sums.pointer(), tally.ranges.pointer(), rows as u32);
        let (count, bin_count, outcome) = (left.len(), bins as i32, outcome_buffer.pointer());
        let launch = Launch::of_blocks(&kernels.bias_totals, 1, 1024, 24 * u64::from(rows));
        // SAFETY: for each row of samples, `sums` has two numbers and `ranges` the two ends of a range. `outcome` has
        // `HEAD` numbers, and then one number for each bin of the histogram.
        unsafe { self.launch(launch, arguments![sums, ranges, rows, bin_count, outcome])? };
        let own = bins <= MOST_OWN_BINS;
        let blocks = count.div_ceil(RUN) as u32;
        let launch = Launch {
            shared: if own { (size_of::<u32>() * bins) as u32 } else { 0 },
            ..Launch::of_blocks(&kernels.bias_histogram, blocks, 256, 8 * count as u64)
        };
        let (left, weights, count, own) = (left.read(), weights.read(), count as u32, i32::from(own));
        // SAFETY: `left` and `weights` have `count` samples. `outcome` has a counter for each bin of the histogram, and
        // so has shared memory if `own` is not 0.
        unsafe { self.launch(launch, arguments![left, weights, count, bin_count, own, outcome])? };
        let found = outcome_buffer.download(HEAD + bins)?;
        let [sum, squares, low, high] = std::array::from_fn(|n| f64::from_bits(found[n]));
        Ok(Step { changes: [sum, squares], histogram: Histogram { low, high, shares: found[HEAD..].to_vec() } })
    }

    /// Divides each voxel of an image by the exponential of the bias field with these control points, or sets the voxel
    /// to this exponential if `divide` is false.
    pub(super) fn bias_each_voxel(
        &self,
        axes: &[MeshAxis; 3],
        control_points: &[f64],
        image: &mut Image,
        divide: bool,
    ) -> Result<(), Error> {
        let axes = Axes::new(&self.device, axes, &[])?;
        let field = Buffer::from_slice(&self.device, control_points)?;
        let [_, planes, _] = axes.sizes()?;
        let planes = Buffer::uninitialised(&self.device, planes)?;
        self.bias_planes(&field, &axes, &planes)?;
        let rows = axes.lengths[1] * axes.lengths[2];
        let launch = of_rows(&self.bias_kernels()?.bias_factors, rows, 8 * image.len() as u64);
        let [x, y] = [0, 1].map(|axis| axes.axis(axis, REACHED));
        let (planes, rows, divide, voxels) = (planes.pointer(), rows as u32, i32::from(divide), image.write());
        // SAFETY: the image has as many voxels along each axis as the mesh axis has positions. For each slice, `planes`
        // has one number for each control point of the axes `x` and `y`.
        unsafe { self.launch(launch, arguments![planes, x, y, rows, divide, voxels]) }
    }
}

/// Prepares a launch of a kernel in which each warp processes one row of samples or voxels.
fn of_rows(kernel: &Kernel, rows: usize, bytes: u64) -> Launch<'_> {
    let grid = [rows.div_ceil(WARPS as usize) as u32, 1, 1];
    Launch { kernel, grid, block: [32, WARPS, 1], shared: 0, bytes }
}
