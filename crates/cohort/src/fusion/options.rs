//! Parameters of joint label fusion.

use antsreg_kernels::fusion::Parameters;
use serde::{Deserialize, Serialize};

use super::error::FusionError;

/// Parameters of joint label fusion. The defaults are those of the authors of the method (Wang et al. 2013).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JointOptions {
    /// Radius of the compared patches, voxels. A patch is a cube of 2·radius + 1 voxels along each axis.
    pub patch_radius: usize,
    /// Largest shift between a patch of the target and the compared patch of an atlas, along each axis, voxels.
    pub search_radius: usize,
    /// α, the constant that is added to the diagonal of the matrix of expected errors. A larger α makes the weights of
    /// the atlases more equal.
    pub alpha: f64,
    /// β, the exponent that turns intensity differences into expected errors.
    pub beta: f64,
}

impl Default for JointOptions {
    fn default() -> JointOptions {
        JointOptions { patch_radius: 2, search_radius: 3, alpha: 0.1, beta: 2.0 }
    }
}

impl JointOptions {
    /// The largest patch radius allowed, voxels.
    pub const MOST_PATCH_RADIUS: usize = Parameters::MOST_PATCH_RADIUS;
    /// The largest search radius allowed, voxels.
    pub const MOST_SEARCH_RADIUS: usize = Parameters::MOST_SEARCH_RADIUS;
    /// The largest allowed alpha and beta.
    pub const MOST_WEIGHTING: f64 = 1e3;

    /// The parameters of the comparison of patches.
    pub(super) fn parameters(&self, sign: Sign) -> Parameters {
        let JointOptions { patch_radius, search_radius, alpha, beta } = *self;
        Parameters { patch_radius, search_radius, alpha, beta, not_negative: sign == Sign::NotNegative }
    }

    /// Checks that all parameters of joint label fusion are in range.
    ///
    /// # Errors
    /// [`FusionError::Option`] names the first parameter that is out of range.
    pub fn check(&self) -> Result<(), FusionError> {
        let is_within = |number: f64| number > 0.0 && number <= Self::MOST_WEIGHTING;
        let checks = [
            (
                "the patch radius",
                self.patch_radius as f64,
                "1 to 8 voxels",
                (1..=Self::MOST_PATCH_RADIUS).contains(&self.patch_radius),
            ),
            (
                "the search radius",
                self.search_radius as f64,
                "0 to 15 voxels",
                self.search_radius <= Self::MOST_SEARCH_RADIUS,
            ),
            ("alpha", self.alpha, "a number above 0, at most 1000", is_within(self.alpha)),
            ("beta", self.beta, "a number above 0, at most 1000", is_within(self.beta)),
        ];
        match checks.into_iter().find(|check| !check.3) {
            Some((option, found, expected, _)) => Err(FusionError::Option { option, found, expected }),
            None => Ok(()),
        }
    }
}

/// Whether negative weights of atlases are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Negative weights are kept, as in the formula of joint label fusion.
    Any,
    /// Negative weights are set to 0 before the weights are scaled to a sum of 1.
    NotNegative,
}
