//! Mutual information of two images after Mattes, and its gradient, on the device.

use crate::cuda::Cuda;
use crate::cuda::buffer::Buffer;
use crate::cuda::image::Image;
use crate::cuda::launch::{Argument, Launch, arguments};
use crate::cuda::metric_output::Output;
use crate::cuda::similarity::images::{ComparedImages, tiles};
use crate::mattes::{Binning, UNIT, check_bins, check_workspace};
use crate::{Error, MetricOutput, MiParameters};

impl Argument for Binning {}

/// GPU buffers of [`Similarity::mi_gradient`](crate::ops::Similarity::mi_gradient).
pub struct MiWorkspace {
    bins: usize,
    /// The counters of two joint histograms: first the histogram for the derivative of the moving image, then that for
    /// the derivative of the fixed image.
    counts: Buffer<u64>,
    /// For each bin pair of both joint histograms, scale·ln(p(i, j)/p(j)), where j is the bin of the derivative's
    /// image.
    logarithms: Buffer<f32>,
}

impl MiWorkspace {
    pub(in crate::cuda) fn new(cuda: &Cuda, bins: usize) -> Result<MiWorkspace, Error> {
        check_bins(bins)?;
        let cells = 2 * bins * bins;
        Ok(MiWorkspace {
            bins,
            counts: Buffer::zeroed(&cuda.device, cells)?,
            logarithms: Buffer::zeroed(&cuda.device, cells)?,
        })
    }
}

/// Shared memory that a block can have on every device, bytes.
const SHARED_BYTES: usize = 48 << 10;

/// Number of threads of a block that counts voxels in the histograms.
const COUNTING: usize = 1024;

pub(in crate::cuda) fn mi_gradient(
    cuda: &Cuda,
    images: [&Image; 2],
    masks: [Option<&Image>; 2],
    parameters: &MiParameters,
    workspace: &mut MiWorkspace,
    out: MetricOutput<'_, Cuda>,
) -> Result<f64, Error> {
    let shape = images[0].shape;
    let read = images.into_iter().chain(masks.into_iter().flatten()).map(|image| image.shape);
    Error::check_shapes("mi_gradient", shape, read)?;
    let out = Output::of("mi_gradient", shape, out)?;
    check_workspace(parameters.bins, workspace.bins)?;
    let kernels = cuda.kernels.mattes(&cuda.device)?;
    let voxels = images[0].len();
    let [fixed_binning, moving_binning] = Binning::of(parameters);
    let pair = ComparedImages::new(images, masks, 0.0);
    let (bins, rows) = (parameters.bins, 2 * parameters.bins);
    let row_bytes = bins * size_of::<u32>();
    let (rows_at_once, count) = ((SHARED_BYTES / row_bytes).min(rows), bins as u32);

    workspace.counts.clear(0..2 * bins * bins)?;
    let resident = kernels.mattes_histograms.resident_blocks(COUNTING as u32)?;
    let filling = resident * cuda.device.info.multiprocessors as usize;
    // Smallest number of thread blocks with which no 32-bit counter of a block's joint histogram can overflow, even
    // if all its voxels are in one bin.
    let safe = voxels.div_ceil((u32::MAX / UNIT) as usize / COUNTING * COUNTING);
    let blocks = filling.min(voxels.div_ceil(COUNTING)).max(safe);
    let launch = Launch {
        kernel: &kernels.mattes_histograms,
        grid: [blocks as u32, rows.div_ceil(rows_at_once) as u32, 1],
        block: [COUNTING as u32, 1, 1],
        shared: (rows_at_once * row_bytes) as u32,
        bytes: 2 * 4 * voxels as u64,
    };
    let (counts, rows_at_once) = (workspace.counts.pointer(), rows_at_once as u32);
    // SAFETY: all volumes have one shape, and only voxels within it are read. Bin numbers are within a row of the
    // joint histogram, and rows within `counts`.
    unsafe { cuda.launch(launch, arguments![pair, fixed_binning, moving_binning, count, rows_at_once, counts])? };

    let launch = Launch {
        kernel: &kernels.mattes_logarithms,
        grid: [2, 1, 1],
        block: [COUNTING as u32, 1, 1],
        shared: (rows * size_of::<u64>()) as u32,
        bytes: (rows * bins * (size_of::<u64>() + size_of::<f32>())) as u64,
    };
    let scratch = cuda.scratch();
    let (moving_scale, fixed_scale) = (moving_binning.scale, fixed_binning.scale);
    let (logarithms, result) = (workspace.logarithms.pointer(), scratch.result.pointer());
    // SAFETY: `counts` and `logarithms` have bins² elements for each of the two joint histograms, and `result` has
    // two numbers. A thread block has at least as many threads as there are bins.
    unsafe { cuda.launch(launch, arguments![counts, count, moving_scale, fixed_scale, logarithms, result])? };

    let table_bytes = rows * bins * size_of::<f32>();
    let (kernel, shared) = match table_bytes <= SHARED_BYTES {
        true => (&kernels.mattes_gradient, table_bytes as u32),
        false => (&kernels.mattes_gradient_wide, 0),
    };
    let (launch, depth) = tiles(cuda, kernel, shape, 1, (2 + out.numbers()) * 4 * voxels as u64)?;
    let launch = Launch { shared, ..launch };
    // SAFETY: all volumes have one shape, and threads outside it return. Positions in the tables of logarithms lie
    // within a row.
    unsafe {
        cuda.launch(launch, arguments![pair, fixed_binning, moving_binning, count, logarithms, depth, out])?;
    }
    let mut information = [0.0; 2];
    scratch.result.download_into(&mut information)?;
    Ok(-0.5 * (information[0] + information[1]))
}
