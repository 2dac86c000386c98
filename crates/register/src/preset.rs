//! Presets: named sets of default options, and the stages that presets give.

use antsreg_core::schedule::Level;
use antsreg_linear::{self as linear, AngleSearch, Dof, Search, Start};
use antsreg_syn as syn;
use serde::{Deserialize, Serialize};

use crate::Stage;
use crate::options::{level_fits, shortest_axis};

/// A named set of default options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// No iterations at full resolution: a first result within seconds
    Fast,
    /// Overlap, landmarks and smoothness balanced; all resolutions
    #[default]
    Default,
    /// More iterations at fine resolutions: the highest overlap of labels, from a rougher warp
    Best,
    /// A smooth warp, for studies of its Jacobians (morphometry): less overlap
    Smooth,
    /// CT, PET or MR of one person: rigid, by normalised mutual information
    Multimodal,
}

/// The kind of transform that is searched, such as rigid, affine or SyN. It determines the stages of the registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Translation (3 degrees of freedom)
    #[cfg_attr(feature = "clap", value(alias = "t"))]
    Translation,
    /// Rotation and translation (6 degrees of freedom)
    #[cfg_attr(feature = "clap", value(alias = "r"))]
    Rigid,
    /// Rotation, translation and one scale for all axes (7 degrees of freedom)
    Similarity,
    /// Rotation, translation and one scale for each axis (9 degrees of freedom)
    Scales,
    /// Any affine map (12 degrees of freedom)
    #[cfg_attr(feature = "clap", value(alias = "a"))]
    Affine,
    /// An affine stage, then a deformable stage (SyN)
    #[cfg_attr(feature = "clap", value(alias = "s"))]
    Syn,
    /// Only a deformable stage (SyN), which begins at the initial transform
    #[cfg_attr(feature = "clap", value(alias = "so"))]
    SynOnly,
}

impl Model {
    /// Degrees of freedom of the linear stage; `None` for a model without a linear stage.
    pub fn dof(self) -> Option<Dof> {
        match self {
            Model::Translation => Some(Dof::Translation3),
            Model::Rigid => Some(Dof::Rigid6),
            Model::Similarity => Some(Dof::Similarity7),
            Model::Scales => Some(Dof::Scales9),
            Model::Affine | Model::Syn => Some(Dof::Affine12),
            Model::SynOnly => None,
        }
    }

    /// The default initial transform: alignment of the centres of mass. Without a linear stage, which could correct a
    /// wrong start, it is the alignment given by the headers.
    pub fn usual_start(self) -> Start {
        if self == Model::SynOnly { Start::Headers } else { Start::CentreOfMass }
    }

    /// Whether the model has a deformable stage.
    pub fn is_deformable(self) -> bool {
        matches!(self, Model::Syn | Model::SynOnly)
    }
}

/// Images with more voxels than this along an axis get an additional coarse level, as in antsRegistrationSyN.sh.
const LARGE_AXIS: usize = 256;

impl Preset {
    /// Every preset.
    pub const ALL: [Preset; 5] = [Preset::Fast, Preset::Default, Preset::Best, Preset::Smooth, Preset::Multimodal];

    /// The kind of transform of this preset: rigid for [`Preset::Multimodal`], else SyN.
    pub fn model(self) -> Model {
        if self == Preset::Multimodal { Model::Rigid } else { Model::Syn }
    }

    /// The default stages of a registration with this kind of transform (such as rigid or SyN), for a fixed grid of
    /// `shape` voxels.
    pub fn stages(self, model: Model, shape: [usize; 3]) -> Vec<Stage> {
        let linear = model.dof().map(|dof| Stage::Linear(linear::Options { dof, ..self.linear_for(shape) }));
        let deformable = model.is_deformable().then(|| Stage::Deformable(self.syn_for(shape)));
        linear.into_iter().chain(deformable).collect()
    }

    /// Default options of the linear stage for this preset.
    pub fn linear(self) -> linear::Options {
        let defaults = linear::Options::default();
        match self {
            Preset::Fast => linear::Options { finest_mm: 2.0, ..defaults },
            Preset::Default | Preset::Smooth => defaults,
            // Normalised mutual information is also used for images of one modality. On all measured pairs, the overlap
            // of labels was higher than with the correlation ratio.
            Preset::Best | Preset::Multimodal => linear::Options::of(linear::Cost::NormalisedMutualInformation),
        }
    }

    /// Defaults of the linear stage for a fixed grid of this shape: for slices, all rotations about their normal are
    /// searched.
    pub fn linear_for(self, shape: [usize; 3]) -> linear::Options {
        let mut options = self.linear();
        if let (1, Search::Angles(angles)) = (shape[2], &mut options.search) {
            angles.range_degrees = AngleSearch::of_slices().range_degrees;
        }
        options
    }

    /// Default options of the deformable stage for this preset.
    pub fn syn(self) -> syn::Options {
        let defaults = syn::Options::default();
        match self {
            Preset::Fast => {
                let mut options = Self::reinverted_always(defaults);
                options.levels.retain(|level| level.shrink > 1);
                options
            }
            Preset::Multimodal => {
                let channels = vec![syn::Channel { metric: syn::Metric::Mattes, ..syn::Channel::default() }];
                syn::Options { channels, ..Self::reinverted_always(defaults) }
            }
            // The settings of these three were chosen by overlap, landmarks and smoothness together; docs/benchmarks.md
            // has the pairs and the figures.
            Preset::Default => {
                let levels = scheduled(&defaults, [(50, 1), (40, 1), (50, 2), (10, 2)]);
                syn::Options { gradient_step: 0.6, edge_weight: 0.6, levels, ..balanced(defaults) }
            }
            Preset::Best => {
                let levels = scheduled(&defaults, [(50, 1), (40, 1), (120, 2), (60, 2)]);
                syn::Options { gradient_step: 0.5, edge_weight: 0.4, levels, ..balanced(defaults) }
            }
            Preset::Smooth => {
                let levels = scheduled(&defaults, [(100, 1), (70, 1), (100, 1), (40, 2)]);
                syn::Options {
                    update_variance: 4.0,
                    total_variance: 0.6,
                    radius: 3,
                    edge_weight: 0.4,
                    boundary_contrast: 0.5,
                    levels,
                    ..balanced(defaults)
                }
            }
        }
    }

    /// A copy of the SyN options `options`, with more smoothing, in which the displacement fields are inverted anew
    /// after each iteration.
    fn reinverted_always(mut options: syn::Options) -> syn::Options {
        options.levels.iter_mut().for_each(|level| level.reinvert_every = 1);
        syn::Options { update_variance: 3.0, ..options }
    }

    /// Defaults of the deformable stage, with the levels for a fixed grid of this shape.
    pub fn syn_for(self, shape: [usize; 3]) -> syn::Options {
        let extent = shortest_axis(shape);
        let mut levels = self.levels_for(shape);
        levels.retain(|level| level_fits(level.shrink, extent));
        syn::Options { levels, ..self.syn() }
    }

    /// The levels of [`syn`](Preset::syn) for a fixed grid of this shape; large grids get one more level. Small images
    /// keep all levels here, even if they are too small for the coarsest level.
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
}

/// SyN options with less smoothing of updates and a little of the whole warp.
fn balanced(options: syn::Options) -> syn::Options {
    syn::Options { update_variance: 2.0, total_variance: 0.2, noise: 0.01, boundary_contrast: 0.35, ..options }
}

/// The levels of SyN options with these numbers of iterations and intervals of re-inversion, coarse to fine.
fn scheduled(options: &syn::Options, each: [(usize, usize); 4]) -> Vec<Level> {
    let with = |(level, (iterations, reinvert_every)): (&Level, _)| Level { iterations, reinvert_every, ..*level };
    options.levels.iter().zip(each).map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_grids_get_a_fifth_level_and_small_ones_lose_coarse_levels() {
        let shrinks = |shape| Preset::Default.syn_for(shape).levels.iter().map(|l| l.shrink).collect::<Vec<_>>();
        assert_eq!(shrinks([256, 200, 160]), [8, 4, 2, 1]);
        assert_eq!(shrinks([160, 257, 160]), [10, 6, 4, 2, 1]);
        assert_eq!(shrinks([160, 160, 47]), [4, 2, 1]);
        assert_eq!(shrinks([160, 160, 1]), [8, 4, 2, 1]);
    }

    #[test]
    fn a_model_is_a_list_of_stages() {
        let shape = [100; 3];
        let kinds = |model| {
            let kind = |stage: Stage| match stage {
                Stage::Linear(options) => Some(options.dof),
                Stage::Deformable(_) => None,
            };
            Preset::Best.stages(model, shape).into_iter().map(kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(Model::Translation), [Some(Dof::Translation3)]);
        assert_eq!(kinds(Model::Syn), [Some(Dof::Affine12), None]);
        assert_eq!(kinds(Model::SynOnly), [None]);
    }
}
