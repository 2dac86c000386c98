//! Named sets of defaults, and the help texts that quote them.

use antsreg_core::schedule::Level;
use antsreg_linear as linear;
use antsreg_syn as syn;
use clap::ValueEnum;
use serde::Serialize;

use crate::register::Model;

/// A named set of defaults; any option given overrides its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Nothing at full resolution: a look within seconds
    Fast,
    /// The schedule of antsRegistrationSyN.sh, at full resolution
    #[default]
    Default,
    /// Edges pull as well, and more freely at half and full resolution: for the last bit of accuracy
    Best,
    /// CT, PET or MR of one person: rigid, by normalised mutual information
    Multimodal,
}

/// A volume with an axis longer than this starts one level coarser, as antsRegistrationSyN.sh has it.
const LARGE_AXIS: usize = 256;

impl Preset {
    /// Every preset.
    pub const ALL: [Preset; 4] = [Preset::Fast, Preset::Default, Preset::Best, Preset::Multimodal];

    /// What the images may do to match.
    pub fn model(self) -> Model {
        if self == Preset::Multimodal { Model::Rigid } else { Model::Syn }
    }

    /// Defaults of the linear stage.
    pub fn linear(self) -> linear::Options {
        let defaults = linear::Options::default();
        match self {
            Preset::Fast => linear::Options { finest_mm: 2.0, ..defaults },
            Preset::Default => defaults,
            // Of one modality too: more overlap than by the correlation ratio on all pairs measured.
            Preset::Best | Preset::Multimodal => linear::Options::of(linear::Cost::NormalisedMutualInformation),
        }
    }

    /// Defaults of the diffeomorphic stage.
    pub fn syn(self) -> syn::Options {
        let defaults = syn::Options::default();
        match self {
            Preset::Fast => {
                let mut levels = defaults.levels.clone();
                levels.retain(|level| level.shrink > 1);
                syn::Options { levels, ..defaults }
            }
            Preset::Default => defaults,
            Preset::Multimodal => {
                let channels = vec![syn::Channel { metric: syn::Metric::Mattes, ..syn::Channel::default() }];
                syn::Options { channels, ..defaults }
            }
            Preset::Best => {
                let mut levels = defaults.levels.clone();
                for (level, (iterations, reinvert_every)) in
                    levels.iter_mut().zip([(50, 1), (40, 1), (120, 6), (60, 6)])
                {
                    *level = Level { iterations, reinvert_every, ..*level };
                }
                syn::Options {
                    gradient_step: 0.4,
                    update_variance: 2.5,
                    noise: 0.01,
                    edge_weight: 0.3,
                    winsorise: Some((0.02, 0.98)),
                    levels,
                    ..defaults
                }
            }
        }
    }

    /// The levels of [`syn`](Preset::syn) for a fixed grid of this shape.
    pub fn levels_for(self, shape: [usize; 3]) -> Vec<Level> {
        let mut levels = self.syn().levels;
        if shape.iter().any(|axis| *axis > LARGE_AXIS)
            && let Some(coarsest) = levels.first().copied()
        {
            levels[0] = Level { shrink: 6, ..coarsest };
            levels.insert(0, Level { shrink: 10, sigma_voxels: coarsest.sigma_voxels + 2.0, ..coarsest });
        }
        levels
    }

    /// The preset's name as typed.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Fast => "fast",
            Preset::Default => "default",
            Preset::Best => "best",
            Preset::Multimodal => "multimodal",
        }
    }
}

/// `text`, closed by the default value, preset by preset where they differ. Read off the presets, so that help cannot
/// grow stale.
pub fn help(text: &str, value: impl Fn(Preset) -> String) -> String {
    let usual = value(Preset::Default);
    let others: Vec<String> = Preset::ALL
        .into_iter()
        .filter(|preset| value(*preset) != usual)
        .map(|preset| format!("{}: {}", preset.name(), value(preset)))
        .collect();
    if others.is_empty() {
        format!("{text} [default: {usual}]")
    } else {
        format!("{text} [default: {usual}; {}]", others.join("; "))
    }
}

/// One part of each level, written as it is typed.
pub fn per_level<T: std::fmt::Display>(levels: &[Level], part: impl Fn(&Level) -> T) -> String {
    levels.iter().map(|level| part(level).to_string()).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_grids_get_a_fifth_level() {
        let shrinks = |shape| per_level(&Preset::Default.levels_for(shape), |level| level.shrink);
        assert_eq!(shrinks([256, 200, 160]), "8x4x2x1");
        assert_eq!(shrinks([160, 257, 160]), "10x6x4x2x1");
    }

    #[test]
    fn help_names_presets_that_differ() {
        let text = help("Iterations", |preset| if preset == Preset::Fast { "5".into() } else { "9".into() });
        assert_eq!(text, "Iterations [default: 9; fast: 5]");
    }
}
