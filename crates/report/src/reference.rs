//! The reference image of comparisons, drawn once for any number of pages.

use antsreg_core::{TransformChain, Volume};
use antsreg_kernels::apply::Interpolation;
use rayon::prelude::*;

use crate::Error;
use crate::outline::outline;
use crate::picture::Indexed;
use crate::slices::Slices;
use crate::views::{View, views};

/// The image with which other images are compared: the fixed image of a registration.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The planes and positions of the slices.
    pub(crate) views: Vec<View>,
    /// Intensities on the slices.
    pub(crate) slices: Slices,
    /// What outlines are drawn of.
    pub(crate) outlined: Slices,
    /// The value at which outlines are drawn.
    pub(crate) threshold: f32,
    /// Each slice of each view as a picture.
    pub(crate) pictures: Vec<Vec<String>>,
    /// The outlines of each slice of each view.
    pub(crate) outlines: Vec<Vec<String>>,
}

impl Reference {
    /// Draws an image. Its content is where `mask` exceeds ½, or without a mask where the image is bright.
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

    /// Draws the part of an image where a mask on its grid exceeds ½, with the outline of the mask, on slices through the whole image.
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

/// Each slice as a grey picture.
pub fn greys(slices: &Slices) -> Result<Vec<Vec<String>>, Error> {
    each(slices, |slice| Indexed::grey(slice, slices.range).address())
}

/// The outlines of each slice.
pub fn outlines(slices: &Slices, threshold: f32) -> Result<Vec<Vec<String>>, Error> {
    each(slices, |slice| outline(slice, threshold))
}

/// The result of a function for each slice of each view, computed on all threads.
fn each<T: Send>(slices: &Slices, of: impl Fn(&Volume) -> Result<T, Error> + Sync) -> Result<Vec<Vec<T>>, Error> {
    slices.views.par_iter().map(|view| view.par_iter().map(&of).collect()).collect()
}
