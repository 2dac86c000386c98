//! The options of a registration: the initial transform, a list of stages, and the requested results.

use antsreg_core::{AffineTransform, Grid};
use antsreg_linear::{self as linear, Start};
use antsreg_syn as syn;
use serde::{Deserialize, Serialize};

use crate::run::check_start;
use crate::{Device, Error, Grids, Interpolation, Side};

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
            stages: vec![Stage::Linear(linear::Options::default()), Stage::Deformable(syn::Options::default())],
            inverse_warp: true,
            scores: true,
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

    /// Checks that these options can register the fixed and the moving images of `sides`. If masks are given for each
    /// stage, there must be as many masks as stages. A slice cannot be registered with a volume. Boundary-based
    /// registration needs the white matter. No level may be too coarse for the fixed image.
    pub(crate) fn check_sides(&self, sides: [&Side; 2]) -> Result<(), Error> {
        for (side, name) in sides.into_iter().zip([linear::Side::Fixed, linear::Side::Moving]) {
            if let crate::Mask::PerStage(masks) = &side.mask
                && masks.len() != self.stages.len()
            {
                return Err(Error::Masks { side: name, expected: self.stages.len(), found: masks.len() });
            }
        }
        let [fixed, moving] = sides.map(Side::grid);
        if fixed.is_slice() != moving.is_slice() {
            return Err(Error::SliceAndVolume { fixed: fixed.shape, moving: moving.shape });
        }
        self.check_levels(fixed)
    }

    /// The number of the first boundary-based stage, counted from 0; `None` if there is none. Such a stage needs the
    /// white matter of the fixed side.
    pub fn boundary_stage(&self) -> Option<usize> {
        let with_boundary = |stage: &Stage| matches!(stage, Stage::Linear(options) if options.boundary.is_some());
        self.stages.iter().position(with_boundary)
    }

    /// Checks that the fixed side has the white matter that a boundary-based stage needs.
    pub(crate) fn check_white_matter(&self, fixed: &Side) -> Result<(), Error> {
        match self.boundary_stage() {
            Some(stage) if fixed.white_matter.is_none() && !fixed.grid().is_slice() => {
                Err(Error::linear(stage, linear::Error::NoWhiteMatter))
            }
            _ => Ok(()),
        }
    }

    /// Checks everything that can be checked before a device is open: options, sides, and overlap at the start. The
    /// white matter for a boundary-based stage may be missing here, because a device may be needed to find it.
    ///
    /// # Errors
    /// The errors of [`register`](crate::register) that concern neither voxels nor the device.
    pub fn precheck(&self, sides: [&Side; 2]) -> Result<(), Error> {
        self.check()?;
        self.check_sides(sides)?;
        match self.start {
            // This check uses centres of mass without weights. The stages weight voxels by masks and by a robust
            // intensity range, so their centres differ slightly. But if images lie at very different positions, they
            // hardly overlap with either kind of centre. For images that are only on a device, the first stage makes
            // this check.
            Start::CentreOfMass if sides.iter().any(|side| side.image.in_main_memory().is_none()) => Ok(()),
            Start::CentreOfMass => {
                let [fixed, moving] = [sides[0].image.centre()?, sides[1].image.centre()?];
                let centred = AffineTransform { translation: moving - fixed, ..AffineTransform::identity() };
                check_start(sides.map(Side::grid), &centred).map(drop)
            }
            Start::Headers => check_start(sides.map(Side::grid), &AffineTransform::identity()).map(drop),
            Start::Transform(start) => check_start(sides.map(Side::grid), &start).map(drop),
        }
    }

    /// Checks that a device can run these options.
    ///
    /// # Errors
    /// A correlation window that the GPU does not support.
    pub fn check_device(&self, device: &Device, grids: &Grids) -> Result<(), Error> {
        let masked = grids.masked.contains(&true);
        match self.too_wide_for_gpu(masked).filter(|_| device.is_gpu()) {
            Some(too_wide) => Err(too_wide.into()),
            None => Ok(()),
        }
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
