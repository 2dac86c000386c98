//! The fixed side of a registration, which outlives it when many images are brought to one.

use std::sync::{Arc, Mutex, PoisonError};

use antsreg_core::report::Observer;
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::Backend;

use crate::images::{Images, Source};
use crate::parameters::Frame;
use crate::pose::Pose;
use crate::progress::Progress;
use crate::{Error, Options, Outcome, Side, Start, search};

/// The fixed image on a device, with what every registration to it needs: its levels with their sorted voxels, made when
/// the first registration asks for them, and kept.
pub struct Fixed<B: Backend> {
    pub(crate) source: Source<B>,
    pub(crate) options: Options,
    /// By the level's mm; few, so that a list will do.
    levels: Kept<Arc<FixedLevel<B>>>,
    poses: Kept<Pose>,
}

/// What was made for a level of so many mm.
type Kept<T> = Mutex<Vec<(f64, T)>>;

/// The fixed image as one level sees it.
pub(crate) struct FixedLevel<B: Backend> {
    pub grid: Grid,
    pub values: FixedValues<B>,
}

/// The voxels of a level as the cost wants them.
pub(crate) enum FixedValues<B: Backend> {
    /// In so many bins.
    Binned(B::FixedBins, usize),
    /// As they are.
    Plain { image: B::Image, weight: Option<B::Image> },
}

impl<B: Backend> Fixed<B> {
    /// Checks the image and the options, and brings the image to the device. Voxels count as much as their weights, if
    /// given, say (≥ 0, on the image's grid).
    ///
    /// # Errors
    /// An image that is constant, not finite or too small; a weight on another grid or without any voxel; options out of
    /// range; a device that fails.
    pub fn new(backend: &B, volume: &Volume, weight: Option<&Volume>, options: &Options) -> Result<Self, Error> {
        options.check()?;
        let source = Source::new(backend, Side::Fixed, volume, weight, options)?;
        Ok(Fixed { source, options: options.clone(), levels: Mutex::default(), poses: Mutex::default() })
    }

    /// What it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Aligns `moving`, from `start` and otherwise with the options that this side was made with. The backend is the one
    /// that made it. What was registered before does not show in the result.
    ///
    /// # Errors
    /// Those of [`crate::register`] that concern the moving image, the start and the device.
    pub fn register(
        &self,
        backend: &B,
        moving: &Volume,
        moving_weight: Option<&Volume>,
        start: Start,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        let images = Images::new(backend, self, moving, moving_weight)?;
        let coarsest = search::levels(images.voxel_mm(), self.options.finest_mm)[0];
        let poses = images.poses(coarsest)?;
        let start = match start {
            Start::Headers => AffineTransform::identity(),
            Start::Transform(transform) => transform,
            Start::CentreOfMass => {
                AffineTransform { translation: poses[1].centre - poses[0].centre, ..AffineTransform::identity() }
            }
        };
        let frame = Frame::new(&start, images.moving_axes(), poses[1].centre, images.are_slices())?;
        search::run(&images, &frame, &poses, &self.options, &mut Progress::new(observer))
    }

    /// The costs of transforms of `moving`, fixed → moving, RAS mm, as the search sees them on a level of `mm`, which may be
    /// finer than the voxels. The moving image is put in the order in which the first of them reads it.
    ///
    /// # Errors
    /// Those of [`crate::register`] that concern the moving image and the device.
    pub fn costs(
        &self,
        backend: &B,
        moving: &Volume,
        moving_weight: Option<&Volume>,
        mm: f64,
        transforms: &[AffineTransform],
    ) -> Result<Vec<f64>, Error> {
        let images = Images::new(backend, self, moving, moving_weight)?;
        let near = transforms.first().copied().unwrap_or_else(AffineTransform::identity);
        images.level(mm, &near)?.costs_of(transforms)
    }

    pub(crate) fn level(&self, backend: &B, mm: f64) -> Result<Arc<FixedLevel<B>>, Error> {
        kept(&self.levels, mm, || Ok(Arc::new(self.source.fixed_level(backend, mm, &self.options)?)))
    }

    pub(crate) fn pose(&self, backend: &B, mm: f64) -> Result<Pose, Error> {
        kept(&self.poses, mm, || self.source.pose(backend, mm))
    }
}

/// What the list has for `mm`, made first if it has nothing.
fn kept<T: Clone>(list: &Kept<T>, mm: f64, make: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = list.iter().find(|(known_mm, _)| *known_mm == mm) {
        return Ok(known.clone());
    }
    let made = make()?;
    list.push((mm, made.clone()));
    Ok(made)
}
