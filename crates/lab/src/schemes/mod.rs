//! GPU algorithms (schemes) of the literature for histograms, with one interface. Some compute the sums of the
//! correlation ratio for each fixed bin (Σw, Σw·y, Σw·y²; Li 2015), others joint histograms (Shams 2007 and 2010,
//! Brosch 2009, Sun 2010). Each scheme works as in its paper. The schemes that are not from a paper are for devices
//! with much shared memory and fast atomic operations.
//!
//! Registrations do not use these schemes but the operations of [`Backend`](antsreg_kernels::Backend). A scheme is
//! prepared once as a [`Plan`] of memory and kernel launches, which can then be run and timed any number of times.
#![expect(unsafe_code, reason = "a kernel launch takes raw pointers, so it is unsafe")]

mod bricks;
mod brosch;
mod choice;
mod correlation_ratio;
mod draft;
mod joint;
mod kernels;
mod layout;
mod pair;
mod plan;
mod segments;
mod tiles;

use antsreg_kernels::Cuda;
pub use brosch::CostModel;
pub use choice::{CrScheme, MiScheme, Order, Settings};
pub use kernels::CODE;
pub use pair::{FixedVolume, Pair, Values};
pub use plan::Plan;

use crate::Error;
use kernels::Kernels;

/// Allowed numbers of histogram bins for an image.
pub const BINS: std::ops::RangeInclusive<usize> = 2..=1024;

/// The CUDA kernels of all histogram algorithms, loaded on a device.
pub struct Histograms<'a> {
    cuda: &'a Cuda,
    kernels: Kernels,
    /// Largest shared memory of a thread block, bytes.
    most_shared: usize,
}

/// Sums over the voxels of each fixed bin: Σw, Σw·y and Σw·y², with weights w and moving values y.
#[derive(Debug, Clone, PartialEq)]
pub struct CrSums {
    /// Σw of each bin: the sum of the weights of the fixed voxels in the bin.
    pub weight: Vec<f64>,
    /// Σw·y of each bin: the sum, over the fixed voxels in the bin, of the weight w times the moving value y.
    pub sum: Vec<f64>,
    /// Σw·y² of each bin: the sum, over the fixed voxels in the bin, of the weight w times the squared moving value y.
    /// Algorithms that compute only what the correlation ratio needs return one total over all bins.
    pub square: Vec<f64>,
}

impl<'a> Histograms<'a> {
    /// Loads the CUDA kernels of all histogram algorithms on a device.
    pub fn open(cuda: &'a Cuda) -> Result<Histograms<'a>, Error> {
        Ok(Histograms { cuda, kernels: Kernels::load(cuda)?, most_shared: cuda.most_shared()? })
    }

    /// Largest shared memory of a thread block on this device, bytes.
    pub fn most_shared(&self) -> usize {
        self.most_shared
    }
}

/// Checks that the GPU algorithms for histograms support the given number of bins.
fn check_bins(bins: usize) -> Result<(), Error> {
    match BINS.contains(&bins) {
        true => Ok(()),
        false => Err(Error::Bins { bins, least: *BINS.start(), most: *BINS.end() }),
    }
}
