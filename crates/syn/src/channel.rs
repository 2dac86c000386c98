//! The channels of a registration: pairs of fixed and moving images, each pair with its metric and weight.

use antsreg_core::Volume;
use antsreg_kernels::Input;
use serde::{Deserialize, Serialize};

/// How alike two images are
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Metric {
    /// Windowed cross-correlation, for images of one kind
    #[default]
    Cc,
    /// Mutual information after Mattes (also: mi), for images of different kinds as well
    #[cfg_attr(feature = "clap", value(alias = "mi"))]
    #[serde(alias = "mi")]
    Mattes,
}

/// The name of the metric on the command line.
impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// One image of each side, and how the two images are compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Channel {
    /// The metric, which is maximised.
    pub metric: Metric,
    /// The channel's share of each step, relative to the other channels.
    pub weight: f64,
}

impl Default for Channel {
    fn default() -> Self {
        Channel { metric: Metric::default(), weight: 1.0 }
    }
}

/// The fixed or the moving images, and the mask of these images.
///
/// All images of a side are aligned in world space; each may have its own grid. The warps lie on the grid of the
/// first fixed image. A mask lies on the grid of the first image of its side. A single volume, with or without a
/// mask, converts to a side, and so does a list of volumes.
#[derive(Debug, Clone)]
pub struct Images<'a, I> {
    /// One image for each channel. `I` is the image type of the backend.
    pub channels: Vec<Input<'a, I>>,
    /// Voxels above 0.5 count; on the grid of the first image.
    pub mask: Option<&'a Volume>,
}

impl<'a, I> From<&'a Volume> for Images<'a, I> {
    fn from(volume: &'a Volume) -> Self {
        (volume, None).into()
    }
}

impl<'a, I> From<(&'a Volume, Option<&'a Volume>)> for Images<'a, I> {
    fn from((volume, mask): (&'a Volume, Option<&'a Volume>)) -> Self {
        Images { channels: vec![volume.into()], mask }
    }
}

impl<'a, I> From<Vec<&'a Volume>> for Images<'a, I> {
    fn from(volumes: Vec<&'a Volume>) -> Self {
        Images { channels: volumes.into_iter().map(Input::from).collect(), mask: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_one_name() {
        for (metric, name) in [(Metric::Cc, "cc"), (Metric::Mattes, "mattes")] {
            assert_eq!(metric.to_string(), name);
            assert_eq!(serde_json::to_string(&metric).expect("JSON"), format!("\"{name}\""));
        }
    }

    #[cfg(feature = "clap")]
    #[test]
    fn metrics_are_typed_by_that_name() {
        use clap::ValueEnum;

        for metric in Metric::value_variants() {
            assert_eq!(Metric::from_str(&metric.to_string(), false).as_ref(), Ok(metric));
        }
        assert_eq!(Metric::from_str("MI", true), Ok(Metric::Mattes));
    }
}
