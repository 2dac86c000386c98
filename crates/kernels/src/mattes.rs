//! Bins of the joint histograms of [`Similarity::mi_gradient`](crate::ops::Similarity::mi_gradient) and units of their counts, which
//! are the same on all devices.

use crate::{Error, MiParameters};

/// Number of bins at either end of the axis that lie outside the range of intensities, so that the B-spline of every
/// value lies within the bins.
const PADDING: usize = 2;

/// The integer that stands for the total weight of a voxel in a joint histogram.
pub(crate) const UNIT: u32 = 1 << 16;

/// The map from an image's values to positions on the axis of bins. It has the layout of `Binning` in `cu/mattes.cu`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binning {
    pub(crate) low: f32,
    pub(crate) high: f32,
    /// Number of histogram bins per unit of intensity.
    pub(crate) scale: f32,
    /// Number of histogram bins between the lowest and the highest intensity.
    pub(crate) span: f32,
}

impl Binning {
    fn new((low, high): (f32, f32), bins: usize) -> Binning {
        let span = (bins - 2 * PADDING) as f32;
        Binning { low, high, scale: if high > low { span / (high - low) } else { 0.0 }, span }
    }

    /// Makes the maps from values to bins for the fixed and the moving image.
    pub(crate) fn of(parameters: &MiParameters) -> [Binning; 2] {
        parameters.ranges.map(|range| Binning::new(range, parameters.bins))
    }
}

/// Checks that mutual information supports this number of bins.
pub(crate) fn check_bins(bins: usize) -> Result<(), Error> {
    let (least, most) = (*MiParameters::BINS.start(), *MiParameters::BINS.end());
    if MiParameters::BINS.contains(&bins) { Ok(()) } else { Err(Error::MiBins { bins, least, most }) }
}

/// Checks that the scratch memory of an operation was made for this number of bins.
pub(crate) fn check_workspace(bins: usize, workspace: usize) -> Result<(), Error> {
    let (expected, found) = (bins * bins, workspace * workspace);
    if expected == found { Ok(()) } else { Err(Error::Length { operation: "mi_gradient", expected, found }) }
}
