//! Options of longitudinal studies, and the registrations that follow from them.

use antsreg_core::Grid;
use antsreg_register::linear::{Dof, Search, Start};
use antsreg_register::{
    LEAST_VOXELS, Model, Options as Registering, Preset, Recipe, Schedule, WarpedImages, linear, syn,
};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Which brains are extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Brains {
    /// Extract the brain of each head without a mask; all time points then share one mask
    #[default]
    Auto,
    /// Extract no brain: images are compared as they are
    None,
}

/// Options of a longitudinal study.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Which brains are extracted.
    pub brain: Brains,
    /// Whether the poses have one scale each, which removes differences between scanners. A change of the whole head is
    /// then removed, too.
    pub scale: bool,
    /// Number of times that each time point is aligned to the mean of the others.
    pub rigid_passes: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { brain: Brains::Auto, scale: false, rigid_passes: 2 }
    }
}

impl Options {
    /// Degrees of freedom of the poses.
    fn dof(&self) -> Dof {
        if self.scale { Dof::Similarity7 } else { Dof::Rigid6 }
    }

    /// The recipe of the alignment of two time points.
    pub(super) fn linear(&self) -> Recipe {
        let model = if self.scale { Model::Similarity } else { Model::Rigid };
        // The correlation is computed although no image is written: the verdict needs it.
        let images = WarpedImages { warped: false, inverse_warped: false, ..usual_images() };
        Recipe { model, images: Some(images), inverse_warp: false, ..Recipe::new(Preset::Smooth) }
    }

    /// The registration of two time points.
    ///
    /// # Errors
    /// Options that do not suit a grid of this shape.
    pub(super) fn pairs(&self, shape: [usize; 3]) -> Result<Registering, Error> {
        Ok(self.linear().options(shape)?)
    }

    /// The alignment of a time point to the mean of the others, from its pose.
    pub(super) fn refining(&self) -> linear::Options {
        linear::Options { dof: self.dof(), search: Search::None, ..Preset::Smooth.linear() }
    }

    /// The recipe of the deformable stage on a grid.
    ///
    /// It is the preset `smooth`, with settings for displacements far below a voxel between images of one contrast. A step
    /// of 0.1 voxels does not pass over them. Smoothing the whole warp would draw the changes to zero, so the updates alone
    /// are smoothed. The larger window averages more noise. Edges and the contrast of boundaries are left as they are,
    /// because they amplify noise. The finest level has voxels of about [`FINEST_MM`].
    pub(super) fn deformable(&self, grid: &Grid) -> Recipe {
        let preset = Preset::Smooth;
        let syn = syn::Options {
            gradient_step: 0.1,
            total_variance: 0.0,
            radius: 4,
            edge_weight: 0.0,
            boundary_contrast: 0.0,
            exact: true,
            ..preset.syn()
        };
        let finest = (FINEST_MM / grid.spacing.max()).round().max(1.0) as usize;
        let shortest = grid.shape.into_iter().min().unwrap_or(1);
        let levels = LEVELS.map(|(factor, iterations)| (factor * finest, iterations));
        let mut levels: Vec<(usize, usize)> =
            levels.into_iter().filter(|(shrink, _)| *shrink == 1 || shortest / shrink >= LEAST_VOXELS).collect();
        if levels.is_empty() {
            levels.push((1, LEVELS[2].1));
        }
        let schedule = Schedule {
            shrink_factors: Some(levels.iter().map(|(shrink, _)| *shrink).collect()),
            // Half a voxel of the level, as a scanner averages; none at full resolution.
            smoothing_sigmas: Some(
                levels.iter().map(|(shrink, _)| if *shrink == 1 { 0.0 } else { *shrink as f64 / 2.0 }).collect(),
            ),
            iterations: Some(levels.iter().map(|(_, iterations)| *iterations).collect()),
            reinvert_every: None,
        };
        let start = Start::Headers;
        Recipe {
            model: Model::SynOnly,
            start,
            syn,
            schedule,
            images: None,
            scores: false,
            inverse_warp: false,
            ..Recipe::new(preset)
        }
    }
}

/// Size of the voxels of the finest level, mm. Changes of a brain are smooth on this scale, and the mean over a voxel of 2 mm
/// has a third of the noise of one of 1 mm.
const FINEST_MM: f64 = 2.0;

/// Factor and largest number of iterations of each level, coarse to fine. Time points are aligned and differ by less than a
/// voxel of the coarsest level.
const LEVELS: [(usize, usize); 3] = [(4, 60), (2, 60), (1, 80)];

/// The images that a registration computes by default.
fn usual_images() -> WarpedImages {
    let interpolation = antsreg_register::Interpolation::Linear;
    WarpedImages { interpolation, warped: true, inverse_warped: true }
}
