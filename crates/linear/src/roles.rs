//! Which image has the role of the fixed image within a search, and transforms as parameters in these roles.
//!
//! Costs are not the same both ways round. The correlation ratio is the variance of the moving image that the fixed
//! image leaves unexplained, and of two contrasts, one may explain the other much better than the other explains it.
//! Mutual information and normalised correlation differ by the interpolation of the moving image.

use antsreg_core::AffineTransform;
use antsreg_kernels::Backend;

use crate::images::{Images, Order};
use crate::level::Level;
use crate::lockstep::Candidate;
use crate::overlap::Overlap;
use crate::parameters::{Frame, Parameters};
use crate::pose::Pose;
use crate::progress::Progress;
use crate::{Dof, Error, Options, Search, start};

/// The images of a search in their roles. If they are exchanged, the search finds the transform from the moving to the
/// fixed image of the registration. [`Roles::transform`] inverts it, so that its callers see one direction only.
pub(crate) struct Roles<'a, B: Backend> {
    images: &'a Images<'a, B>,
    order: Order,
    pub dof: Dof,
    pub frame: Frame,
    /// Poses of the image with the role of the fixed image, and of the other image.
    pub poses: [Pose; 2],
    overlap: Overlap,
}

impl<'a, B: Backend> Roles<'a, B> {
    /// Gives both images their roles. `start` is the start of the registration and `poses` are the poses of its fixed
    /// and its moving image.
    pub fn new(
        images: &'a Images<'a, B>,
        order: Order,
        start: &AffineTransform,
        poses: &[Pose; 2],
        options: &Options,
    ) -> Result<Self, Error> {
        let [fixed, moving] = *poses;
        let (start, poses) = match order {
            Order::Given => (*start, [fixed, moving]),
            Order::Exchanged => (start::inverse(start)?, [moving, fixed]),
        };
        let frame = Frame::new(&start, images.moving_axes(order), poses[1].centre, images.are_slices())?;
        let frame = frame.of(options.dof);
        let overlap = images.overlap(order, &starts(&frame, &poses, &options.search));
        Ok(Roles { images, order, dof: options.dof, frame, poses, overlap })
    }

    /// The resolution level with voxels of `mm`, for a search near the transform with these parameters.
    pub fn level(&self, mm: f64, near: &Parameters) -> Result<Level<'_, B>, Error> {
        let guess = self.frame.transform(near).unwrap_or_else(AffineTransform::identity);
        self.images.level(self.order, mm, &guess, &self.overlap)
    }

    /// Whether the moving image of the registration has the role of the fixed image.
    pub fn are_exchanged(&self) -> bool {
        self.order == Order::Exchanged
    }

    /// The transform of the registration that the parameters describe, fixed → moving, RAS mm.
    pub fn transform(&self, parameters: &Parameters) -> Option<AffineTransform> {
        let found = self.frame.transform(parameters)?;
        if self.are_exchanged() { found.inverse() } else { Some(found) }
    }

    /// The transforms of the registration that candidates describe; `None` for parameters without a valid transform.
    pub fn transforms(&self, candidates: &[Candidate]) -> Vec<Option<AffineTransform>> {
        candidates.iter().map(|candidate| self.transform(&candidate.parameters)).collect()
    }

    /// The costs, in these roles, of transforms of the registration, raised where hardly any overlap is left; 1 for
    /// `None`. `level` is a level of these roles.
    pub fn costs(
        &self,
        level: &Level<B>,
        transforms: &[Option<AffineTransform>],
        progress: &mut Progress,
    ) -> Result<Vec<f64>, Error> {
        let inverse = |transform: &Option<AffineTransform>| transform.and_then(|transform| transform.inverse());
        match self.order {
            Order::Given => level.penalised(transforms, progress),
            Order::Exchanged => level.penalised(&transforms.iter().map(inverse).collect::<Vec<_>>(), progress),
        }
    }

    /// The parameters that describe a transform of the registration, fixed → moving, RAS mm.
    pub fn parameters(&self, transform: &AffineTransform) -> Option<Parameters> {
        let moving_to_fixed = if self.are_exchanged() { *transform } else { transform.inverse()? };
        let centre = moving_to_fixed.apply(&self.poses[1].centre);
        self.frame.parameters(&moving_to_fixed.matrix, &centre, self.dof)
    }
}

/// The transforms whose overlap the search expects, from the image with the role of the fixed image to the other, RAS mm:
/// the start and, unless the search is local, the headers' alignment and the alignment of the centres of mass.
fn starts(frame: &Frame, [fixed, _]: &[Pose; 2], search: &Search) -> Vec<AffineTransform> {
    let mut starts = vec![*frame.start()];
    if let Search::Angles(_) = search {
        let others = frame.headers().into_iter().chain([frame.translation_to(&fixed.centre)]);
        starts.extend(others.filter_map(|parameters| frame.transform(&parameters)));
    }
    starts
}

#[cfg(test)]
mod tests;
