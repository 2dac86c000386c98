//! The histogram schemes of the literature with one interface: the sums of the correlation ratio for each fixed bin
//! (Σw, Σw·y, Σw·y²; Li 2015), and joint histograms (Shams 2007 and 2010, Brosch 2009, Sun 2010), each as in its
//! paper; and schemes for devices with much shared memory and fast atomics.
//!
//! Registrations do not use these schemes but the operations of [`Backend`](antsreg_kernels::Backend). A scheme
//! becomes a [`Plan`]: memory and launches, prepared once and then run and timed any number of times.
#![expect(unsafe_code, reason = "kernel launches take raw pointers")]

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

/// Allowed numbers of bins for an image.
pub const BINS: std::ops::RangeInclusive<usize> = 2..=1024;

/// The schemes' kernels, loaded on a device.
pub struct Histograms<'a> {
    cuda: &'a Cuda,
    kernels: Kernels,
    /// Largest shared memory of a block, bytes.
    most_shared: usize,
}

/// The sums Σw, Σw·y and Σw·y² of the moving values y in each fixed bin.
#[derive(Debug, Clone, PartialEq)]
pub struct CrSums {
    /// The sums of the weights, Σw.
    pub weight: Vec<f64>,
    /// The sums of the weighted values, Σw·y.
    pub sum: Vec<f64>,
    /// The sums of the weighted squares, Σw·y². A scheme that computes only what the cost needs has one sum over all
    /// bins.
    pub square: Vec<f64>,
}

impl<'a> Histograms<'a> {
    /// Loads the kernels.
    pub fn open(cuda: &'a Cuda) -> Result<Histograms<'a>, Error> {
        Ok(Histograms { cuda, kernels: Kernels::load(cuda)?, most_shared: cuda.most_shared()? })
    }

    /// Largest shared memory of a block on this device, bytes.
    pub fn most_shared(&self) -> usize {
        self.most_shared
    }
}

/// Checks that the schemes support this number of bins.
fn check_bins(bins: usize) -> Result<(), Error> {
    match BINS.contains(&bins) {
        true => Ok(()),
        false => Err(Error::Bins { bins, least: *BINS.start(), most: *BINS.end() }),
    }
}
