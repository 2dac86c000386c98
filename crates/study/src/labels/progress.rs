//! Notifications during the registration and fusion of atlases.

use antsreg_register::DeviceNote;
use antsreg_register::Warning;

use crate::Error;
use crate::skulls::ExtractedRecord;

/// Observer of the labelling of targets by atlases.
pub trait LabelsProgress: Sync {
    /// A device is ready, or is left out because it cannot be used.
    fn device(&self, note: &DeviceNote);
    /// An atlas has the same image as the target, so the result will be the atlas's own labels.
    fn is_target(&self, atlas: &str);
    /// An atlas cannot be used, and is left out.
    fn left_out(&self, error: &Error);
    /// The brain of a target or an atlas was extracted, and is registered in the place of the head.
    fn brain(&self, image: &str, brain: &ExtractedRecord);
    /// A target is left out, because no atlas could be registered to the target.
    fn target_left_out(&self, target: &str);
    /// A warning about the registration of an atlas to a target.
    fn warning(&self, target: &str, atlas: &str, warning: &Warning);
    /// An atlas was registered to a target.
    fn registered(&self, target: &str, atlas: &Registered);
    /// The atlases were fused; `undecided` is the number of voxels where the atlases disagree.
    fn fused(&self, atlases: usize, undecided: usize, seconds: f64);
    /// A target was labelled by majority vote and by joint fusion. `majority` and `joint` are the mean Jaccard indices
    /// of the results.
    fn scored(&self, target: &str, majority: f64, joint: f64, seconds: f64);
}

/// An atlas that was registered to a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Registered<'a> {
    /// The name of the atlas.
    pub name: &'a str,
    /// Number of atlases registered so far, including atlases that failed.
    pub done: usize,
    /// Number of all atlases that are registered to the target.
    pub of: usize,
    /// Wall time of the registration, seconds.
    pub seconds: f64,
    /// Correlation of the atlas's image with the target's image after registration.
    pub correlation: Option<f64>,
}
