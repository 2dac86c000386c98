//! Recipes: options of a registration before its images are known, as a preset with changes.

use antsreg_core::schedule::Level;
use antsreg_linear::{self as linear, AngleSearch, Dof, Search, Start};
use antsreg_syn as syn;
use serde::{Deserialize, Serialize};

use crate::options::{level_fits, shortest_axis};
use crate::{Model, Options, Preset, Stage, TooWide, WarpedImages};

/// Options of a registration before its images are known. [`Recipe::options`] fills in what depends on the fixed
/// image: the levels, the range of rotations, and the meaning of a number of degrees of freedom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The preset that gives the default levels.
    pub preset: Preset,
    /// The kind of transform that is searched, such as rigid, affine or SyN. It determines the stages of the
    /// registration.
    pub model: Model,
    /// Number of degrees of freedom of the linear stage, for example 6 (volumes) or 3 (slices) for a rigid map; `None`
    /// for the degrees of freedom of the model.
    pub dof: Option<u8>,
    /// The initial transform, at which the first stage begins.
    pub start: Start,
    /// Options of the linear stage. The degrees of freedom in these options are not used: `dof` or `model` gives them.
    pub linear: linear::Options,
    /// Largest rotations that are searched about x, y and z in both directions, degrees; `None` for the default of
    /// volumes or slices.
    pub search_degrees: Option<[f64; 3]>,
    /// Options of the deformable stage. The levels in these options are not used: `schedule` gives the levels.
    pub syn: syn::Options,
    /// The levels of the deformable stage.
    pub schedule: Schedule,
    /// Whether the result of the registration includes the inverse warp.
    pub inverse_warp: bool,
    /// Whether to compute the Jacobian determinants and the inverse consistency of the warps.
    pub scores: bool,
    /// Which warped images the registration computes; `None` if neither warped images nor the correlation of the images
    /// are needed.
    pub images: Option<WarpedImages>,
}

/// The levels of the deformable stage, coarse to fine; `None` for the values of the preset.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    /// Shrink factors.
    pub shrink_factors: Option<Vec<usize>>,
    /// Standard deviations of the smoothing, voxels of the full grid.
    pub smoothing_sigmas: Option<Vec<f64>>,
    /// Largest number of iterations on each level of the deformable stage, coarse to fine.
    pub iterations: Option<Vec<usize>>,
    /// Number of SyN iterations after which the inverses of the displacement fields are computed anew: one number for
    /// each level, or one number for all levels.
    pub reinvert_every: Option<Vec<usize>>,
}

/// Why the options of a registration (a preset with the user's changes) contradict each other, or do not fit the
/// images.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// The given degrees of freedom are not possible for images of this dimension.
    #[error("{found} degrees of freedom are not possible: {images} can have {expected}")]
    Dof {
        /// The number of degrees of freedom of the linear transform that the user gave.
        found: u8,
        /// The kind of images: volumes or slices.
        images: &'static str,
        /// The possible numbers of degrees of freedom.
        expected: &'static str,
    },
    /// Shrink factors, smoothing sigmas and numbers of iterations must have one value for each level, but the numbers
    /// of values differ.
    #[error("the numbers of levels differ: shrink factors {shrink:?}, sigmas {sigmas:?}, iterations {iterations:?}")]
    Levels {
        /// The shrink factors of the levels, given by the user or taken from the preset.
        shrink: Vec<usize>,
        /// The standard deviations of the smoothing on the levels, given by the user or taken from the preset.
        sigmas: Vec<f64>,
        /// The largest numbers of iterations on the levels, given by the user or taken from the preset.
        iterations: Vec<usize>,
    },
    /// The number of given re-inversion intervals is neither 1 nor the number of levels. Such an interval is a number
    /// of iterations between two re-inversions of the displacement fields.
    #[error(
        "{found} re-inversion intervals are given; expected {levels} intervals (one for each level), or one \
         interval for all levels"
    )]
    Reinversions {
        /// Number of re-inversion intervals that were given. Such an interval is a number of iterations between two
        /// re-inversions of the displacement fields.
        found: usize,
        /// Number of levels of the deformable stage.
        levels: usize,
    },
}

impl Recipe {
    /// Makes a recipe, that is the options of a registration before its images are known, from a preset without
    /// changes.
    pub fn new(preset: Preset) -> Recipe {
        let Options { start, inverse_warp, scores, images, .. } = Options::default();
        Recipe {
            preset,
            model: preset.model(),
            dof: None,
            start,
            linear: preset.linear(),
            search_degrees: None,
            syn: preset.syn(),
            schedule: Schedule::default(),
            inverse_warp,
            scores,
            images,
        }
    }

    /// Sets the metric of all channels of the deformable stage. For mutual information, steps and smoothing become those
    /// of [`Preset::Multimodal`] where they are still those of this recipe's preset, which suit the correlation.
    pub fn set_metric(&mut self, metric: syn::Metric) {
        self.syn.channels.iter_mut().for_each(|channel| channel.metric = metric);
        if metric == syn::Metric::Mattes {
            let (before, suitable) = (self.preset.syn(), Preset::Multimodal.syn());
            let replace = |value: &mut f64, before: f64, suitable: f64| {
                if *value == before {
                    *value = suitable;
                }
            };
            replace(&mut self.syn.gradient_step, before.gradient_step, suitable.gradient_step);
            replace(&mut self.syn.update_variance, before.update_variance, suitable.update_variance);
            replace(&mut self.syn.total_variance, before.total_variance, suitable.total_variance);
        }
    }

    /// Returns the options of a registration to a fixed image whose grid has this shape.
    ///
    /// # Errors
    /// Degrees of freedom that the images cannot have; levels that do not match.
    pub fn options(&self, shape: [usize; 3]) -> Result<Options, RecipeError> {
        let slices = shape[2] == 1;
        let linear = self.model.dof().map(|of_model| {
            let dof = self.dof.map_or(Ok(of_model), |number| degrees_of_freedom(number, slices))?;
            let mut options = linear::Options { dof, ..self.linear.clone() };
            if let Search::Angles(angles) = &mut options.search {
                let suitable = if slices { AngleSearch::of_slices() } else { *angles };
                angles.range_degrees = self.search_degrees.unwrap_or(suitable.range_degrees);
            }
            Ok(Stage::Linear(options))
        });
        let deformable = self.model.is_deformable().then(|| {
            let levels = self.schedule.levels(self.preset, shape)?;
            Ok(Stage::Deformable(syn::Options { levels, ..self.syn.clone() }))
        });
        Ok(Options {
            start: self.start,
            stages: linear.into_iter().chain(deformable).collect::<Result<_, _>>()?,
            inverse_warp: self.inverse_warp,
            scores: self.scores,
            pairs: Vec::new(),
            images: self.images,
        })
    }

    /// Returns the correlation window of this recipe (a preset with changes) if no GPU supports it, else `None`.
    /// `masked` says whether the registration has masks.
    pub fn too_wide_for_gpu(&self, masked: bool) -> Option<TooWide> {
        self.model.is_deformable().then(|| TooWide::of(&self.syn, masked)).flatten()
    }
}

/// Returns the type of linear transform with this number of degrees of freedom. A rigid map, for example, has 6 degrees
/// of freedom for volumes and 3 for slices.
fn degrees_of_freedom(number: u8, slices: bool) -> Result<Dof, RecipeError> {
    let all = [Dof::Translation3, Dof::Rigid6, Dof::Similarity7, Dof::Scales9, Dof::Affine12];
    let found = all.into_iter().find(|dof| dof.number(slices) == number);
    let (images, expected) = if slices { ("slices", "2, 3, 4, 5 or 6") } else { ("volumes", "3, 6, 7, 9 or 12") };
    found.ok_or(RecipeError::Dof { found: number, images, expected })
}

impl Schedule {
    /// Returns the levels of the deformable stage for a fixed grid of this shape.
    fn levels(&self, preset: Preset, shape: [usize; 3]) -> Result<Vec<Level>, RecipeError> {
        let mut defaults = preset.levels_for(shape);
        if self.shrink_factors.is_none() {
            // By default, a small image has fewer levels of the deformable stage. Shrink factors that the user gave are
            // kept; those that are too large for the image are refused later.
            let extent = shortest_axis(shape);
            defaults.retain(|level| level_fits(level.shrink, extent));
        }
        let shrink = part(&self.shrink_factors, &defaults, |level| level.shrink);
        let sigmas = part(&self.smoothing_sigmas, &defaults, |level| level.sigma_voxels);
        let iterations = part(&self.iterations, &defaults, |level| level.iterations);
        if shrink.len() != sigmas.len() || shrink.len() != iterations.len() || shrink.is_empty() {
            return Err(RecipeError::Levels { shrink, sigmas, iterations });
        }
        let reinvert_every = match self.reinvert_every.as_deref() {
            None => shrink.iter().map(|shrink| usual_reinversion(&defaults, *shrink)).collect(),
            Some([all]) => vec![*all; shrink.len()],
            Some(each) if each.len() == shrink.len() => each.to_vec(),
            Some(each) => return Err(RecipeError::Reinversions { found: each.len(), levels: shrink.len() }),
        };
        let zipped = shrink.into_iter().zip(sigmas).zip(iterations).zip(reinvert_every);
        let level = |(((shrink, sigma_voxels), iterations), reinvert_every)| Level {
            shrink,
            sigma_voxels,
            iterations,
            reinvert_every,
        };
        Ok(zipped.map(level).collect())
    }
}

/// Default number of iterations between two re-inversions of the fields on a level with this shrink factor. The number
/// is taken from the levels of the preset: from the finest level that is at least as coarse as this level.
fn usual_reinversion(defaults: &[Level], shrink: usize) -> usize {
    let level = defaults.iter().rev().find(|level| level.shrink >= shrink).or(defaults.first());
    level.map_or(1, |level| level.reinvert_every)
}

/// The values of one setting, such as the shrink factor, for each level of the deformable stage. These are the values
/// `given` by the user or, if there are none, those of the default levels, which `get` reads.
fn part<T: Copy>(given: &Option<Vec<T>>, defaults: &[Level], get: impl Fn(&Level) -> T) -> Vec<T> {
    given.clone().unwrap_or_else(|| defaults.iter().map(get).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(preset: Preset, schedule: Schedule) -> Result<Vec<(usize, usize)>, RecipeError> {
        let options = Recipe { schedule, ..Recipe::new(preset) }.options([200; 3])?;
        let levels = options.deformable().flat_map(|options| &options.levels);
        Ok(levels.map(|level| (level.shrink, level.reinvert_every)).collect())
    }

    fn two(shrink_factors: [usize; 2]) -> Schedule {
        Schedule {
            shrink_factors: Some(shrink_factors.into()),
            smoothing_sigmas: Some(vec![1.0, 0.0]),
            iterations: Some(vec![5, 5]),
            reinvert_every: None,
        }
    }

    #[test]
    fn given_levels_are_reinverted_as_those_of_the_preset_that_are_as_coarse() {
        assert_eq!(levels(Preset::Best, Schedule::default()), Ok(vec![(8, 1), (4, 1), (2, 2), (1, 2)]));
        assert_eq!(levels(Preset::Best, two([3, 1])), Ok(vec![(3, 1), (1, 2)]));
        assert_eq!(levels(Preset::Best, two([12, 2])), Ok(vec![(12, 1), (2, 2)]));
        let all = Schedule { reinvert_every: Some(vec![4]), ..two([3, 1]) };
        assert_eq!(levels(Preset::Best, all), Ok(vec![(3, 4), (1, 4)]));
        assert_eq!(levels(Preset::Smooth, two([3, 1])), Ok(vec![(3, 1), (1, 2)]));
    }

    #[test]
    fn steps_and_smoothing_suit_the_metric_unless_they_were_changed() {
        let mut recipe = Recipe::new(Preset::Default);
        recipe.syn.update_variance = 7.0;
        recipe.set_metric(syn::Metric::Cc);
        assert_eq!(recipe.syn.gradient_step, Preset::Default.syn().gradient_step);
        recipe.set_metric(syn::Metric::Mattes);
        let suitable = Preset::Multimodal.syn();
        assert_eq!((recipe.syn.gradient_step, recipe.syn.update_variance), (suitable.gradient_step, 7.0));
        assert!(recipe.syn.channels.iter().all(|channel| channel.metric == syn::Metric::Mattes));
    }

    #[test]
    fn levels_of_different_lengths_are_refused() {
        let short = Schedule { iterations: Some(vec![5]), ..Schedule::default() };
        assert!(matches!(levels(Preset::Default, short), Err(RecipeError::Levels { .. })));
        let more = Schedule { reinvert_every: Some(vec![1, 2, 3]), ..two([2, 1]) };
        assert_eq!(levels(Preset::Default, more), Err(RecipeError::Reinversions { found: 3, levels: 2 }));
    }

    #[test]
    fn degrees_of_freedom_are_those_of_the_images() {
        let dof = |number, shape| {
            let recipe = Recipe { dof: Some(number), model: Model::Affine, ..Recipe::new(Preset::Default) };
            recipe.options(shape).map(|options| options.linear().map(|options| options.dof).collect::<Vec<_>>())
        };
        assert_eq!(dof(6, [200; 3]), Ok(vec![Dof::Rigid6]));
        assert_eq!(dof(6, [200, 200, 1]), Ok(vec![Dof::Affine12]));
        assert_eq!(dof(3, [200; 3]), Ok(vec![Dof::Translation3]));
        let refused = dof(12, [200, 200, 1]).expect_err("refused");
        assert!(refused.to_string().contains("2, 3, 4, 5 or 6"), "{refused}");
    }

    #[test]
    fn a_preset_is_its_list_of_stages() {
        for preset in Preset::ALL {
            for shape in [[200; 3], [300, 200, 200], [64, 64, 40], [200, 200, 1]] {
                let options = Recipe::new(preset).options(shape).expect("levels that match");
                assert_eq!(options.stages, preset.stages(preset.model(), shape), "{preset:?}, {shape:?}");
            }
        }
    }
}
