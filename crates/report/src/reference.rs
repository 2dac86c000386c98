//! The reference image of comparisons. It is drawn once and used for any number of pages.

use antsreg_core::{TransformChain, Volume};
use antsreg_kernels::apply::Interpolation;
use rayon::prelude::*;

use crate::Error;
use crate::outline::outline;
use crate::picture::Indexed;
use crate::slices::Slices;
use crate::views::{View, views};

/// The image with which other images are compared, such as the fixed image of a registration.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The planes of the slices that the report page shows, and the positions of these slices.
    pub(crate) views: Vec<View>,
    /// Intensities of the reference image on the slices that the report page shows.
    pub(crate) slices: Slices,
    /// The values on the slices from which the outlines are made: those of the reference image itself, or of its mask.
    pub(crate) outlined: Slices,
    /// The threshold of the outlines. An outline encloses the pixels whose value in the field `outlined` exceeds this
    /// threshold.
    pub(crate) threshold: f32,
    /// Grey pictures of the reference's slices, for each view (plane), as `data:` addresses.
    pub(crate) pictures: Vec<Vec<String>>,
    /// Outlines on the slices of each view, as SVG paths.
    pub(crate) outlines: Vec<Vec<String>>,
}

impl Reference {
    /// Prepares a reference image for drawing. Its slices cover the content of the image: the region where `mask`
    /// exceeds ½, or without a mask the bright region.
    ///
    /// # Errors
    /// A picture that cannot be drawn.
    pub fn new(image: &Volume, mask: Option<&Volume>) -> Result<Reference, Error> {
        let views = views(image, mask);
        let slices = Slices::read(image, &views, &TransformChain::new(), Interpolation::Linear);
        let threshold = slices.threshold();
        let pictures = greys(&slices)?;
        let outlines = outlines(&slices, threshold)?;
        Ok(Reference { views, outlined: slices.clone(), slices, threshold, pictures, outlines })
    }

    /// Prepares a reference image for drawing. The pictures are black where `mask`, which has the image's grid, is ½ or
    /// less. The outlines are those of the mask. The slices cover the content of the whole image.
    ///
    /// # Errors
    /// A picture that cannot be drawn.
    pub fn cut_out(image: &Volume, mask: &Volume) -> Result<Reference, Error> {
        const INSIDE: f32 = 0.5;
        let views = views(image, None);
        let [mut slices, outlined] =
            [image, mask].map(|volume| Slices::read(volume, &views, &TransformChain::new(), Interpolation::Linear));
        for (slice, mask) in
            slices.views.iter_mut().zip(&outlined.views).flat_map(|(slices, of)| slices.iter_mut().zip(of))
        {
            slice
                .voxels
                .iter_mut()
                .zip(&mask.voxels)
                .filter(|(_, share)| **share <= INSIDE)
                .for_each(|(value, _)| *value = 0.0);
        }
        let pictures = greys(&slices)?;
        let outlines = outlines(&outlined, INSIDE)?;
        Ok(Reference { views, slices, outlined, threshold: INSIDE, pictures, outlines })
    }
}

/// A grey picture of each slice, as a `data:` address.
pub fn greys(slices: &Slices) -> Result<Vec<Vec<String>>, Error> {
    each(slices, |slice| Indexed::grey(slice, slices.range).address())
}

/// The outlines on each slice, as SVG paths.
pub fn outlines(slices: &Slices, threshold: f32) -> Result<Vec<Vec<String>>, Error> {
    each(slices, |slice| outline(slice, threshold))
}

/// Calls a function for each slice of each plane, on all threads, and returns the results by plane and slice.
fn each<T: Send>(slices: &Slices, of: impl Fn(&Volume) -> Result<T, Error> + Sync) -> Result<Vec<Vec<T>>, Error> {
    slices.views.par_iter().map(|view| view.par_iter().map(&of).collect()).collect()
}
