//! The template to which a pass registers the subjects, with its mask and centre.

use std::sync::Arc;

use antsreg_cohort::template::{brighter, foreground_in, sparse};
use antsreg_core::Volume;
use nalgebra::Point3;

/// The template to which a pass registers the subjects.
pub struct Reference {
    /// The template's image of each channel, on one grid.
    pub images: Vec<Arc<Volume>>,
    /// Mask of the template: 1 in the foreground of the first channel, else 0.
    pub mask: Volume,
    /// The mask reduced to every second voxel along each axis. The affine part of a subject's transform is fitted at
    /// these voxels.
    pub sparse: Volume,
    /// Centre of mass of the image of the template's first channel, RAS mm.
    pub centre: Point3<f64>,
}

impl Reference {
    /// Creates a template from its channels; the foreground threshold is computed from the first channel.
    pub fn new(images: Vec<Volume>) -> Reference {
        let foreground = foreground_in(&images[0]);
        Reference::with(images, foreground)
    }

    /// Creates a template from its channels. Voxels of the first channel above `foreground` are foreground.
    pub fn with(images: Vec<Volume>, foreground: f32) -> Reference {
        let centre = || images[0].centre_of_mass().unwrap_or_else(|| images[0].grid.centre());
        let (mask, centre) = rayon::join(|| brighter(&images[0], foreground), centre);
        Reference { images: images.into_iter().map(Arc::new).collect(), sparse: sparse(&mask), mask, centre }
    }
}
