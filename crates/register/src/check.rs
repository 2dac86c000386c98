//! Checks of a registration's options against its images and its device.

use antsreg_core::{AffineTransform, ChainWarning, Grid, Transform, TransformChain};
use antsreg_linear::{self as linear, Start};
use nalgebra::Point3;

use crate::{Device, Error, Grids, Image, Mask, Options, Side, Stage};

/// Checks the device, the fixed and moving images with their masks, and the options before the computation.
pub(crate) fn check(device: &Device, sides: [&Side; 2], options: &Options) -> Result<(), Error> {
    options.check()?;
    options.check_sides(sides)?;
    options.check_white_matter(sides[0])?;
    options.check_device(device, &Grids::of(sides))
}

impl Options {
    /// Checks that these options can register the fixed and the moving images of `sides`. If masks are given for each
    /// stage, there must be as many masks as stages. A slice cannot be registered with a volume. Boundary-based
    /// registration needs the white matter. No level may be too coarse for the fixed image.
    fn check_sides(&self, sides: [&Side; 2]) -> Result<(), Error> {
        for (side, name) in sides.into_iter().zip([linear::Side::Fixed, linear::Side::Moving]) {
            if let Mask::PerStage(masks) = &side.mask
                && masks.len() != self.stages.len()
            {
                return Err(Error::Masks { side: name, expected: self.stages.len(), found: masks.len() });
            }
        }
        self.check_pairs(sides)?;
        let [fixed, moving] = sides.map(Side::grid);
        if fixed.is_slice() != moving.is_slice() {
            return Err(Error::SliceAndVolume { fixed: fixed.shape, moving: moving.shape });
        }
        self.check_levels(fixed)
    }

    /// Checks the lists of the pairs that the stages compare. The warp of all stages and the masks lie on the grid of the
    /// first image, so this is the grid that the first image of a stage must have.
    fn check_pairs(&self, sides: [&Side; 2]) -> Result<(), Error> {
        if !self.pairs.is_empty() && self.pairs.len() != self.stages.len() {
            return Err(Error::Pairs { expected: self.stages.len(), found: self.pairs.len() });
        }
        for (n, (numbers, stage)) in self.pairs.iter().zip(&self.stages).enumerate() {
            let deformable = matches!(stage, Stage::Deformable(_));
            let there = |number: &usize| sides.iter().all(|side| side.pair(*number).is_some());
            let (Some(first), true) = (numbers.first(), numbers.iter().all(there)) else {
                return Err(Error::PairOfStage { stage: n + 1 });
            };
            for (side, name) in sides.into_iter().zip([linear::Side::Fixed, linear::Side::Moving]) {
                let needed = side.is_masked() || deformable && name == linear::Side::Fixed;
                let same = |image: &Image| image.grid().matches(side.grid(), 1e-3 * side.grid().spacing.min());
                if needed && !side.pair(*first).is_some_and(same) {
                    return Err(Error::GridOfStage { stage: n + 1, side: name });
                }
            }
        }
        Ok(())
    }

    /// Checks that the fixed side has the white matter that a boundary-based stage needs.
    fn check_white_matter(&self, fixed: &Side) -> Result<(), Error> {
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
}

/// Checks that an initial affine is not singular and that the images overlap under it. Returns warnings if the images
/// overlap little.
pub(crate) fn check_start([fixed, moving]: [&Grid; 2], start: &AffineTransform) -> Result<Vec<ChainWarning>, Error> {
    let singular = || Error::SingularStart { determinant: start.matrix.determinant() };
    let inverse = start.inverse().ok_or_else(singular)?;
    if !inverse.apply(&Point3::origin()).iter().all(|value| value.is_finite()) {
        return Err(singular());
    }
    let chain = TransformChain::from(vec![Transform::Affine(*start)]);
    chain.check(fixed, Some(moving)).map_err(|_| Error::NoOverlapAtStart)
}
