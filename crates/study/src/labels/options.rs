//! Options for labelling an image by several atlases: how atlases are registered and their labels fused. Plain data.

use std::path::PathBuf;

use antsreg_kernels::apply::LabelInterpolation;
use antsreg_register::{Preset, Recipe};
use serde::{Deserialize, Serialize};

use super::fusion::Fusion;
use crate::pair::{Format, StartFile};
use crate::skulls::BrainChoice;
use crate::transforms::TransformFile;

/// How atlases are registered to a target and fused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelOptions {
    /// Options of the registration of each atlas to the target. The fields `start`, `inverse_warp`, `scores` and
    /// `images` of these options are not used.
    pub recipe: Recipe,
    /// The initial transform of each registration.
    pub start: StartFile,
    /// Whether the images of the target and of the atlases are bias corrected before their registration.
    #[serde(default)]
    pub bias: bool,
    /// Images whose brain is extracted before they are registered and compared. The target is the fixed image, the
    /// atlases are moving images.
    #[serde(default)]
    pub brain: BrainChoice,
    /// Interpolation of the labels.
    pub interpolation: LabelInterpolation,
    /// The method that fuses the labels of the atlases.
    pub fusion: Fusion,
}

impl Default for LabelOptions {
    fn default() -> LabelOptions {
        LabelOptions {
            recipe: Recipe::new(Preset::default()),
            start: StartFile::default(),
            bias: false,
            brain: BrainChoice::default(),
            interpolation: LabelInterpolation::default(),
            fusion: Fusion::default(),
        }
    }
}

/// A label map, the transforms to apply, and the output grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Carrying {
    /// Path of the label map.
    pub labels: PathBuf,
    /// Files of the transforms. The first transform acts first on a point of the output grid.
    pub transforms: Vec<TransformFile>,
    /// Path of the image that gives the output grid.
    pub onto: PathBuf,
    /// Path of the true labels on the output grid, with which the resampled labels are compared.
    pub truth: Option<PathBuf>,
    /// Labels for which the overlap with the true labels is computed: a file of numbers, or numbers such as `1,2,5`;
    /// `None` for all but 0.
    pub label_list: Option<String>,
    /// Interpolation of the labels.
    pub interpolation: LabelInterpolation,
    /// Start of the paths of all output files, folder included.
    pub prefix: String,
    /// Format of the resampled label map.
    pub format: Format,
    /// Path of the HTML page that shows the result; `None` for no page.
    pub page: Option<PathBuf>,
    /// The command line of the program, shown on the HTML page.
    pub command_line: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_they_were_stored() {
        let file = "[a.mat,1]".parse().expect("a transform");
        let given =
            LabelOptions { start: StartFile::File(file), fusion: Fusion::Majority, ..LabelOptions::default() };
        for options in [LabelOptions::default(), given] {
            let text = serde_json::to_string(&options).expect("text");
            assert_eq!(serde_json::from_str::<LabelOptions>(&text).expect("read"), options);
        }
    }
}
