//! Methods that fuse the labels of several atlases.

pub use antsreg_cohort::fusion::Atlas as CarriedAtlas;
use antsreg_cohort::fusion::{self, Fused, FusionError, JointOptions};
use antsreg_core::Volume;
use serde::{Deserialize, Serialize};

use super::propagate::Propagated;

/// A method that fuses the labels of several atlases.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Fusion {
    /// Majority vote: each atlas has one vote at each voxel.
    Majority,
    /// Joint label fusion (Wang et al. 2013).
    Joint(JointOptions),
}

impl Default for Fusion {
    fn default() -> Fusion {
        Fusion::Joint(JointOptions::default())
    }
}

impl Fusion {
    /// Checks that the options are in range.
    ///
    /// # Errors
    /// [`FusionError::Option`].
    pub fn check(&self) -> Result<(), FusionError> {
        match self {
            Fusion::Majority => Ok(()),
            Fusion::Joint(options) => options.check(),
        }
    }

    /// Fuses the labels of atlases on the grid of the target.
    pub(super) fn fuse(&self, target: &Volume, atlases: &[Propagated]) -> Result<Fused, FusionError> {
        let carried = atlases.iter().map(|atlas| fusion::Atlas { image: &atlas.image, labels: &atlas.labels });
        self.fuse_carried(target, &carried.collect::<Vec<_>>())
    }

    /// Fuses the labels of atlases whose images and labels have been resampled on the target's grid.
    ///
    /// # Errors
    /// Options out of range; no atlas; another grid.
    pub fn fuse_carried(&self, target: &Volume, atlases: &[CarriedAtlas]) -> Result<Fused, FusionError> {
        match self {
            Fusion::Majority => fusion::majority(&atlases.iter().map(|atlas| atlas.labels).collect::<Vec<_>>()),
            Fusion::Joint(options) => fusion::joint(target, atlases, options),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fusion_is_stored_with_its_kind_and_numbers() {
        let joint = Fusion::Joint(JointOptions { patch_radius: 1, search_radius: 2, alpha: 0.5, beta: 3.0 });
        let text = r#"{"kind":"joint","patch_radius":1,"search_radius":2,"alpha":0.5,"beta":3.0}"#;
        assert_eq!(serde_json::to_string(&joint).expect("text"), text);
        for fusion in [joint, Fusion::Majority, Fusion::default()] {
            let text = serde_json::to_string(&fusion).expect("text");
            assert_eq!(serde_json::from_str::<Fusion>(&text).expect("read"), fusion);
        }
        assert!(serde_json::from_str::<Fusion>(r#"{"kind":"joint","radius":1}"#).is_err());
        assert!(Fusion::Joint(JointOptions { alpha: 0.0, ..JointOptions::default() }).check().is_err());
    }
}
