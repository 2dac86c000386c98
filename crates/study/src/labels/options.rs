//! Options for labelling an image by several atlases: how atlases are registered and their labels fused. Plain data.

use antsreg_kernels::apply::LabelInterpolation;
use antsreg_register::{Preset, Recipe};
use serde::{Deserialize, Serialize};

use super::fusion::Fusion;
use crate::pair::StartFile;
use crate::skulls::BrainChoice;

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
