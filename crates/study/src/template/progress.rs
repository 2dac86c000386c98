//! Notifications during the building of a template.

use antsreg_register::DeviceNote;

use super::results::{FinishResults, TemplateResults};
use crate::skulls::ExtractedRecord;

/// Observer of the building of a template. Methods are called from one thread at a time.
pub trait TemplateProgress {
    /// A device is ready, or is left out because it cannot be used.
    fn device(&mut self, note: &DeviceNote);
    /// The brain of a subject, or of the initial template, was extracted and is registered instead of the whole head.
    fn brain(&mut self, subject: &str, brain: &ExtractedRecord);
    /// A subject has been registered and resampled on the template's grid.
    fn registered(&mut self, registered: &Registered);
    /// A pass was done by an earlier run.
    fn pass_done_before(&mut self, pass: usize);
    /// A pass is done; `seconds` is its duration.
    fn pass_done(&mut self, results: &TemplateResults, seconds: f64);
    /// The template is finished.
    fn finished(&mut self, results: &FinishResults);
}

/// A subject that was registered in a pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Registered<'a> {
    /// Number of the pass.
    pub pass: usize,
    /// Number of subjects that this pass has registered so far, the current subject included.
    pub done: usize,
    /// Number of subjects in this pass.
    pub all: usize,
    /// The subject's name.
    pub subject: &'a str,
    /// Pearson correlation with the template in the first channel, over the template's foreground.
    pub correlation: Option<f64>,
    /// Seconds of computation on the device; `None` if an earlier run registered the subject.
    pub seconds: Option<f64>,
}
