//! What is compared: one image or several of each side, and by which metric.

use antsreg_core::Volume;

/// How alike two images are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metric {
    /// Windowed cross-correlation: images of one kind.
    #[default]
    Cc,
    /// Mutual information after Mattes: images of different kinds as well.
    Mattes,
}

/// A pair of images that takes part: the nth of both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Channel {
    /// What it maximises.
    pub metric: Metric,
    /// Its share of each step, relative to the other channels; above 0.
    pub weight: f64,
}

impl Default for Channel {
    fn default() -> Self {
        Channel { metric: Metric::default(), weight: 1.0 }
    }
}

/// The images of one side, and where they count.
///
/// All are aligned in world space; each may have a grid of its own. The first one's is the side's: the warps lie on the
/// first fixed image's grid, a mask on its own side's. A lone volume, or one with its mask, is a side as well.
#[derive(Debug, Clone, PartialEq)]
pub struct Images<'a> {
    /// One for each channel.
    pub channels: Vec<&'a Volume>,
    /// Where they count: above 0.5, on the grid of the first one.
    pub mask: Option<&'a Volume>,
}

impl<'a> From<&'a Volume> for Images<'a> {
    fn from(volume: &'a Volume) -> Self {
        Images { channels: vec![volume], mask: None }
    }
}

impl<'a> From<(&'a Volume, Option<&'a Volume>)> for Images<'a> {
    fn from((volume, mask): (&'a Volume, Option<&'a Volume>)) -> Self {
        Images { channels: vec![volume], mask }
    }
}
