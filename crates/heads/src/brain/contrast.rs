//! Contrasts of images of heads.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

/// MRI contrast of an image of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contrast {
    /// T1-weighted.
    T1,
    /// T2-weighted.
    T2,
    /// Proton density. Of the contrasts of the built-in template, this is the most similar to FLAIR.
    Pd,
    /// Contrast of a template that the caller gives.
    Given,
}

impl Display for Contrast {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Contrast::T1 => "T1",
            Contrast::T2 => "T2",
            Contrast::Pd => "PD",
            Contrast::Given => "given",
        })
    }
}
