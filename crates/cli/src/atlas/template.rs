//! The template that a pass registers to.

use std::sync::Arc;

use antsreg_cohort::template::{brighter, foreground_in, sparse};
use antsreg_core::Volume;
use nalgebra::Point3;

/// The template that a pass registers to.
pub struct Template {
    /// Each channel.
    pub images: Vec<Arc<Volume>>,
    /// 1 in the head or brain.
    pub mask: Volume,
    /// Those of its voxels that affine parts are found from.
    pub sparse: Volume,
    /// Centre of mass of the first channel.
    pub centre: Point3<f64>,
}

impl Template {
    /// Of its channels.
    pub fn new(images: Vec<Volume>) -> Template {
        let foreground = foreground_in(&images[0]);
        Template::with(images, foreground)
    }

    /// Of its channels, and what is foreground in the first.
    pub fn with(images: Vec<Volume>, foreground: f32) -> Template {
        let centre = || images[0].centre_of_mass().unwrap_or_else(|| images[0].grid.centre());
        let (mask, centre) = rayon::join(|| brighter(&images[0], foreground), centre);
        Template { images: images.into_iter().map(Arc::new).collect(), sparse: sparse(&mask), mask, centre }
    }
}
