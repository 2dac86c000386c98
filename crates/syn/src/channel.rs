//! The channels of a registration: pairs of fixed and moving images, each pair with its metric and weight.

use antsreg_core::Volume;
use antsreg_kernels::Input;
use serde::{Deserialize, Serialize};

/// Measure of the similarity of two images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Metric {
    /// Windowed cross-correlation, for images of the same contrast.
    #[default]
    Cc,
    /// Mutual information after Mattes (alias mi), for images of any contrasts.
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

/// One pair of images: the similarity metric between the fixed and the moving image, and the weight of the pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Channel {
    /// Similarity metric of the two images. The registration maximises it.
    pub metric: Metric,
    /// Weight of this channel (pair of images) in each step of the registration, relative to the weights of the other
    /// channels.
    pub weight: f64,
}

impl Default for Channel {
    fn default() -> Self {
        Channel { metric: Metric::default(), weight: 1.0 }
    }
}

/// The fixed images or the moving images of a registration, with their mask.
///
/// All fixed images are aligned with each other in world space, and so are all moving images; each image may have its
/// own grid. The warps lie on the grid of the first fixed image. A mask lies on the grid of the first image in the same
/// list. A single volume, with or without a mask, converts to this type, and so does a list of volumes.
#[derive(Debug)]
pub struct Images<'a, I> {
    /// One image for each channel of the registration (a channel is a pair of a fixed and a moving image). `I` is the
    /// image type of the backend.
    pub channels: Vec<Input<'a, I>>,
    /// A copy of the first image on the device, which the stage may overwrite. Without it, the stage makes one.
    pub copy: Option<I>,
    /// Mask on the grid of the first image: voxels above 0.5 count. Without a mask, all voxels count.
    pub mask: Option<&'a Volume>,
    /// Lesion on the grid of the first image: the metrics compare no voxels above 0.5. Unlike voxels outside the mask,
    /// those of the lesion count for the scores of the warps.
    pub lesion: Option<&'a Volume>,
}

impl<'a, I> From<&'a Volume> for Images<'a, I> {
    fn from(volume: &'a Volume) -> Self {
        (volume, None).into()
    }
}

impl<'a, I> From<(&'a Volume, Option<&'a Volume>)> for Images<'a, I> {
    fn from((volume, mask): (&'a Volume, Option<&'a Volume>)) -> Self {
        Images { channels: vec![volume.into()], copy: None, mask, lesion: None }
    }
}

impl<'a, I> From<Vec<&'a Volume>> for Images<'a, I> {
    fn from(volumes: Vec<&'a Volume>) -> Self {
        Images { channels: volumes.into_iter().map(Input::from).collect(), copy: None, mask: None, lesion: None }
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
