//! The fixed image of registrations, prepared once for any number of moving images.

use std::sync::{Arc, Mutex, PoisonError};

use antsreg_core::report::Observer;
use antsreg_core::{AffineTransform, Grid, Unit, Volume};
use antsreg_kernels::{Backend, Input};

use crate::boundary::{Surface, refine};
use crate::images::{Images, Order, Source, check_planes};
use crate::parameters::Frame;
use crate::pose::Pose;
use crate::progress::Progress;
use crate::{Error, Options, Outcome, Side, Start, search};

/// A fixed image on a device, prepared for any number of registrations. The first registration that needs a resolution
/// level computes it, and later registrations reuse it, unless they exchange the roles of the images.
pub struct Fixed<B: Backend> {
    pub(crate) source: Source<B>,
    pub(crate) options: Options,
    levels: Kept<Arc<FixedLevel<B>>>,
    poses: Kept<Pose>,
    /// The border of the fixed image's white matter, for boundary-based registration.
    surface: Option<Surface<B>>,
}

/// Values computed for resolution levels and kept for later registrations. Each value is stored with the unit of its
/// lengths, and with the voxel size of its level in this unit.
type Kept<T> = Mutex<Vec<((Unit, f64), T)>>;

/// The fixed image resampled for one resolution level.
pub(crate) struct FixedLevel<B: Backend> {
    /// Isotropic grid of the resolution level.
    pub grid: Grid,
    pub values: FixedValues<B>,
}

/// Voxels of the fixed image on one level, in the form that the cost function needs.
pub(crate) enum FixedValues<B: Backend> {
    /// Voxels sorted by intensity into bins; the number is the number of bins.
    Binned(B::FixedBins, usize),
    /// Voxels in the order of the grid, not sorted, for cost functions that have no bins.
    Plain { image: B::Image, weight: Option<B::Image> },
}

impl<B: Backend> Fixed<B> {
    /// Checks the fixed image and the options, and copies the image to the device. `weight` is an image of voxel
    /// weights, at least 0, on the grid of the image. Without `weight`, all weights are 1.
    ///
    /// # Errors
    /// An image that is constant, not finite or too small; a weight on another grid or without any voxel; options out
    /// of range; a device that fails.
    pub fn new<'a>(
        backend: &B,
        image: impl Into<Input<'a, B::Image>>,
        weight: Option<&Volume>,
        options: &Options,
    ) -> Result<Self, Error> {
        options.check()?;
        let source = Source::new(backend, Side::Fixed, &image.into(), weight, options)?;
        Ok(Fixed {
            source,
            options: options.clone(),
            levels: Mutex::default(),
            poses: Mutex::default(),
            surface: None,
        })
    }

    /// Adds the white matter of the fixed image, which boundary-based registration needs. `white_matter` is a mask
    /// (above 0.5 is white matter) or an image of white-matter fractions, on any grid in the world of the fixed image.
    ///
    /// # Errors
    /// White matter without a border; a device that fails.
    pub fn with_white_matter(self, backend: &B, white_matter: &Volume) -> Result<Self, Error> {
        let boundary = self.options.boundary.unwrap_or_default();
        let unit = self.source.unit();
        Ok(Fixed { surface: Some(Surface::new(backend, white_matter, boundary.distance_mm, unit)?), ..self })
    }

    /// The options of all registrations to this fixed image.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Aligns `moving` to the fixed image. The search begins at `start` and has the options with which the fixed image
    /// was prepared. `backend` must be the backend that prepared the fixed image. The result does not depend on earlier
    /// registrations.
    ///
    /// # Errors
    /// The errors of [`crate::register`] that concern the moving image, the start, the observer and the device.
    pub fn register<'a>(
        &self,
        backend: &B,
        moving: impl Into<Input<'a, B::Image>>,
        moving_weight: Option<&Volume>,
        start: Start,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        let images = Images::new(backend, self, &moving.into(), moving_weight)?;
        let (unit, poses) = (images.unit, images.poses()?);
        let start = start.in_unit(unit).transform(|| Ok(poses))?;
        let searched = |observer| {
            search::run(&images, &start, &poses, &self.options, &mut Progress::new(observer, unit))
                .map(|found| found.in_mm(unit))
        };
        let Some(boundary) = &self.options.boundary else { return searched(observer) };
        let surface = match &self.surface {
            _ if images.are_slices() => return Err(Error::BoundaryOfSlices),
            Some(surface) => surface,
            None => return Err(Error::NoWhiteMatter),
        };
        let before = match boundary.from_start {
            true => Outcome::of_start(unit.transform_in_mm(&start)),
            false => searched(observer)?,
        };
        // The surface belongs to the fixed image alone, and so does its unit.
        let moving = images.moving().in_other_unit(unit, surface.unit);
        let centre = poses[1].centre * (unit.mm() / surface.unit.mm());
        let frame = Frame::new(&surface.unit.transform(&before.transform), moving.grid.direction, centre, false)?;
        let progress = &mut Progress::new(observer, surface.unit);
        refine(backend, surface, &moving, &frame.of(self.options.dof), before, (&self.options, boundary), progress)
    }

    /// Returns the transform at which [`Fixed::register`] would begin, fixed → moving, RAS mm, without a search.
    ///
    /// # Errors
    /// A slice beside a volume, or slices of differing planes; a singular start; for [`Start::CentreOfMass`], all
    /// errors of [`crate::register`] that concern the moving image and the device.
    pub fn start<'a>(
        &self,
        backend: &B,
        moving: impl Into<Input<'a, B::Image>>,
        moving_weight: Option<&Volume>,
        start: Start,
    ) -> Result<AffineTransform, Error> {
        let moving = moving.into();
        check_planes(&self.source.grid, moving.grid)?;
        let Start::CentreOfMass = start else { return start.transform(|| Err(Error::NoOverlap)) };
        let images = Images::new(backend, self, &moving, moving_weight)?;
        Ok(images.unit.transform_in_mm(&start.transform(|| images.poses())?))
    }

    /// Returns the costs of transforms (fixed → moving, RAS mm) as a search evaluates them on the resolution level with
    /// voxels of `mm`, if it does not exchange the roles of the images. The level may be finer than the voxels of the
    /// images. The axes of the moving image are reordered to suit the first of the transforms.
    ///
    /// # Errors
    /// The errors of [`crate::register`] that concern the moving image and the device.
    pub fn costs<'a>(
        &self,
        backend: &B,
        moving: impl Into<Input<'a, B::Image>>,
        moving_weight: Option<&Volume>,
        mm: f64,
        transforms: &[AffineTransform],
    ) -> Result<Vec<f64>, Error> {
        let images = Images::new(backend, self, &moving.into(), moving_weight)?;
        let near = transforms.first().copied().unwrap_or_else(AffineTransform::identity);
        let unit = images.unit;
        let near = unit.transform(&near);
        let overlap = images.overlap(Order::Given, &[near]);
        let transforms: Vec<_> = transforms.iter().map(|transform| unit.transform(transform)).collect();
        images.level(Order::Given, mm / unit.mm(), &near, &overlap)?.costs_of(&transforms)
    }

    /// The fixed image of `images` on the level with voxels of `mm` in their unit.
    pub(crate) fn level(&self, images: &Images<B>, mm: f64) -> Result<Arc<FixedLevel<B>>, Error> {
        kept(&self.levels, (images.unit, mm), || {
            Ok(Arc::new(images.fixed().fixed_level(images.backend(), mm, &self.options)?))
        })
    }

    /// The pose of the fixed image of `images` at a resolution of `mm` in their unit.
    pub(crate) fn pose(&self, images: &Images<B>, mm: f64) -> Result<Pose, Error> {
        kept(&self.poses, (images.unit, mm), || images.fixed().pose(images.backend(), mm))
    }
}

/// Returns the stored value for a resolution level. If no value is stored, `make` computes one, and this value is
/// stored.
fn kept<T: Clone>(list: &Kept<T>, level: (Unit, f64), make: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = list.iter().find(|(known, _)| *known == level) {
        return Ok(known.clone());
    }
    let made = make()?;
    list.push((level, made.clone()));
    Ok(made)
}
