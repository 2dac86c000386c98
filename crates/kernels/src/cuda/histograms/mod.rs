//! The histogram schemes of the literature, side by side: what the correlation ratio needs of each fixed bin (Σw, Σw·y,
//! Σw·y²; Li 2015), and joint histograms (Shams 2007 and 2010, Brosch 2009, Sun 2010), each as its paper has it, and what
//! suits a device with much shared memory and fast atomics.
//!
//! For measurements and tests; registrations use the operations of [`Backend`](crate::Backend). A scheme becomes a [`Plan`]:
//! memory and launches made ready once, to be run and timed as often as wanted.

mod bricks;
mod brosch;
mod correlation_ratio;
mod draft;
mod joint;
mod kernels;
mod pair;
mod plan;
mod scheme;
mod segments;
mod tiles;

use std::sync::Arc;

pub use brosch::CostModel;
pub(super) use kernels::CODE;
pub use pair::{FixedVolume, Pair, Values};
pub use plan::Plan;
pub use scheme::{CrScheme, MiScheme, Order, Settings};

use super::Cuda;
use super::device::Device;
use crate::Error;
use kernels::Kernels;

/// The fewest and the most bins of an image.
pub const BINS: std::ops::RangeInclusive<usize> = 2..=1024;

/// The schemes' kernels, loaded on a device.
pub struct Histograms<'a> {
    cuda: &'a Cuda,
    kernels: Kernels,
    /// The most shared memory a block can have, bytes.
    most_shared: usize,
}

/// Σw, Σw·y, Σw·y² of the moving values y in each fixed bin.
#[derive(Debug, Clone, PartialEq)]
pub struct CrSums {
    /// Σw.
    pub weight: Vec<f64>,
    /// Σw·y.
    pub sum: Vec<f64>,
    /// Σw·y²; of a scheme that adds up what the cost needs and no more, one sum over all bins.
    pub square: Vec<f64>,
}

impl<'a> Histograms<'a> {
    /// Loads the kernels.
    pub fn open(cuda: &'a Cuda) -> Result<Histograms<'a>, Error> {
        Ok(Histograms { cuda, kernels: Kernels::load(&cuda.device)?, most_shared: plan::most_shared(&cuda.device)? })
    }

    /// The most shared memory a block can have on this device, bytes.
    pub fn most_shared(&self) -> usize {
        self.most_shared
    }

    fn device(&self) -> &Arc<Device> {
        &self.cuda.device
    }
}

/// Refuses a number of bins that no scheme is made for.
fn check_bins(bins: usize) -> Result<(), Error> {
    match BINS.contains(&bins) {
        true => Ok(()),
        false => Err(Error::HistogramBins { bins, least: *BINS.start(), most: *BINS.end() }),
    }
}
