//! The verdict on an extracted brain.

use antsreg_register::verdict::Verdict;

use super::{BrainWarning, Extraction};

impl Extraction {
    /// Whether the mask is right, from the warnings about it. The volume and the likeness to the template's head decide
    /// whether it is a brain at all; the others are reasons to look.
    pub fn verdict(&self) -> Verdict {
        let is_wrong =
            |warning: &&BrainWarning| matches!(warning, BrainWarning::Volume { .. } | BrainWarning::Unlike { .. });
        let (wrong, look): (Vec<_>, Vec<_>) = self.warnings.iter().partition(is_wrong);
        let texts = |warnings: Vec<&BrainWarning>| warnings.into_iter().map(BrainWarning::to_string).collect();
        Verdict::of_findings(texts(wrong), texts(look))
    }
}
