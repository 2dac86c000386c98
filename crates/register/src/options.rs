//! The options of a registration: the initial transform, a list of stages, and the requested results.

use antsreg_core::Grid;
use antsreg_linear::{self as linear, Start};
use antsreg_syn as syn;
use serde::{Deserialize, Serialize};

use crate::{Error, Interpolation, Preset, TooWide};

/// The options of a registration. They can be stored, compared and read again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The initial transform, at which the first stage begins.
    pub start: Start,
    /// The stages, in order. A linear stage begins at the result of the stage before; a deformable stage continues
    /// from the displacement fields of the deformable stage before.
    pub stages: Vec<Stage>,
    /// Whether the result of the registration includes the inverse warp.
    pub inverse_warp: bool,
    /// Whether to compute the Jacobian determinants and the inverse consistency of the warps.
    pub scores: bool,
    /// The pairs of images that each stage compares, in the order of the stages: 0 is the first image of each side, n its
    /// n-th channel. A linear stage compares the first pair of its list, a deformable stage all. If there are no lists,
    /// linear stages compare the first pair, deformable stages all pairs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Vec<usize>>,
    /// Which warped images to compute; `None` if neither warped images nor the correlation of the images are needed.
    pub images: Option<WarpedImages>,
}

/// One stage of a registration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// A linear stage, which finds a linear transform: at least a translation, at most an affine map.
    Linear(linear::Options),
    /// A deformable stage: symmetric diffeomorphic (SyN).
    Deformable(syn::Options),
}

/// Which warped images a registration computes. If neither is requested, the correlation of the images is still
/// computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarpedImages {
    /// Interpolation of the images.
    pub interpolation: Interpolation,
    /// Whether to compute the moving image, resampled on the fixed grid.
    pub warped: bool,
    /// Whether to compute the fixed image, resampled on the moving grid.
    pub inverse_warped: bool,
}

/// Least number of voxels along every axis on a level of a deformable stage.
pub const LEAST_VOXELS: usize = 6;

impl Default for Options {
    /// The default: an affine and a deformable stage, with all results.
    fn default() -> Options {
        Options {
            start: Start::CentreOfMass,
            stages: vec![Stage::Linear(linear::Options::default()), Stage::Deformable(Preset::default().syn())],
            inverse_warp: true,
            scores: true,
            pairs: Vec::new(),
            images: Some(WarpedImages { interpolation: Interpolation::Linear, warped: true, inverse_warped: true }),
        }
    }
}

impl Options {
    /// Options of all linear stages, in order.
    pub fn linear(&self) -> impl Iterator<Item = &linear::Options> {
        self.stages.iter().filter_map(|stage| match stage {
            Stage::Linear(options) => Some(options),
            Stage::Deformable(_) => None,
        })
    }

    /// Options of all deformable stages, in order.
    pub fn deformable(&self) -> impl Iterator<Item = &syn::Options> {
        self.stages.iter().filter_map(|stage| match stage {
            Stage::Linear(_) => None,
            Stage::Deformable(options) => Some(options),
        })
    }

    /// Whether linear stages share copies of the images on a GPU with a later stage. A deformable stage takes them.
    pub(crate) fn shares_copies(&self) -> bool {
        matches!(self.stages[..], [Stage::Linear(_), _, ..])
    }

    /// Index of the last stage. The masks of this stage are used for scores and correlation.
    pub(crate) fn last_stage(&self) -> usize {
        self.stages.len().saturating_sub(1)
    }

    /// Checks the options, independently of the images.
    ///
    /// # Errors
    /// No stage; a linear stage after a deformable one; options that a stage refuses.
    pub fn check(&self) -> Result<(), Error> {
        let deformable = |stage: &Stage| matches!(stage, Stage::Deformable(_));
        let first = self.stages.iter().position(deformable).unwrap_or(self.stages.len());
        if self.stages.is_empty() {
            return Err(Error::NoStage);
        }
        if let Some(place) = self.stages[first..].iter().position(|stage| !deformable(stage)) {
            return Err(Error::LinearAfterDeformable { stage: first + place + 1 });
        }
        self.stages.iter().enumerate().try_for_each(|(place, stage)| match stage {
            Stage::Linear(options) => options.check().map_err(|source| Error::linear(place, source)),
            Stage::Deformable(options) => options.check().map_err(|source| Error::deformable(place, source)),
        })
    }

    /// The number of the first boundary-based stage, counted from 0; `None` if there is none. Such a stage needs the
    /// white matter of the fixed side.
    pub fn boundary_stage(&self) -> Option<usize> {
        let with_boundary = |stage: &Stage| matches!(stage, Stage::Linear(options) if options.boundary.is_some());
        self.stages.iter().position(with_boundary)
    }

    /// Returns the first correlation window of these options that no GPU supports; `None` if GPUs support all windows.
    /// `masked` says whether the registration has masks.
    pub fn too_wide_for_gpu(&self, masked: bool) -> Option<TooWide> {
        self.deformable().find_map(|options| TooWide::of(options, masked))
    }

    /// Checks that no level of a deformable stage has too small a grid.
    ///
    /// # Errors
    /// A shrink factor above 1 that leaves fewer than [`LEAST_VOXELS`] along an axis.
    pub fn check_levels(&self, fixed: &Grid) -> Result<(), Error> {
        let extent = shortest_axis(fixed.shape);
        let shrinks = self.deformable().flat_map(|options| &options.levels).map(|level| level.shrink);
        match shrinks.into_iter().find(|shrink| !level_fits(*shrink, extent)) {
            Some(factor) => Err(Error::Shrink { factor, extent, least: LEAST_VOXELS }),
            None => Ok(()),
        }
    }
}

/// Number of voxels along the shortest axis that a level may shrink. For slices, only the two axes in the plane count.
pub(crate) fn shortest_axis(shape: [usize; 3]) -> usize {
    let axes = if shape[2] == 1 { 2 } else { 3 };
    shape.into_iter().take(axes).min().unwrap_or(0)
}

/// Whether a level that reduces the image by this shrink factor keeps enough voxels along an axis of `extent` voxels.
pub(crate) fn level_fits(shrink: usize, extent: usize) -> bool {
    shrink <= 1 || extent / shrink >= LEAST_VOXELS
}
