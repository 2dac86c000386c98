//! The verdict on an extracted brain.

use antsreg_register::verdict::Verdict;

use super::{BrainWarning, Extraction};

impl Extraction {
    /// Whether the mask is right, from the warnings about it. An unusual volume, or a low correlation with the template's
    /// head, makes the mask wrong; the other warnings are reasons to look.
    pub fn verdict(&self) -> Verdict {
        let is_wrong =
            |warning: &&BrainWarning| matches!(warning, BrainWarning::Volume { .. } | BrainWarning::Unlike { .. });
        let (wrong, look): (Vec<_>, Vec<_>) = self.warnings.iter().partition(is_wrong);
        let texts = |warnings: Vec<&BrainWarning>| warnings.into_iter().map(BrainWarning::to_string).collect();
        Verdict::of_findings(texts(wrong), texts(look))
    }
}
