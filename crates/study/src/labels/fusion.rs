//! Methods that fuse the labels of several atlases.

pub use antsreg_cohort::fusion::Atlas as CarriedAtlas;
use antsreg_cohort::fusion::{self, Fused, FusionError, JointOptions};
use antsreg_core::Volume;
use antsreg_kernels::fusion::FusionBackend;
use antsreg_pool::DeviceBytes;
use antsreg_register::{Device, Task};
use serde::{Deserialize, Serialize};

use crate::Error;

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

    /// Fuses the labels of atlases whose images and labels have been resampled on the target's grid. Joint fusion
    /// compares patches on the device; all devices find the same labels.
    ///
    /// # Errors
    /// Options out of range; no atlas; another grid; a device that fails.
    pub fn fuse_carried(&self, target: &Volume, atlases: &[CarriedAtlas], device: &Device) -> Result<Fused, Error> {
        device.run(Fusing { fusion: self, target, atlases })
    }
}

/// Fusion of the labels of atlases, on one device.
pub(super) struct Fusing<'a> {
    /// The method of fusion.
    pub fusion: &'a Fusion,
    /// The target's image.
    pub target: &'a Volume,
    /// Images and labels of the atlases on the target's grid.
    pub atlases: &'a [CarriedAtlas<'a>],
}

impl Task for Fusing<'_> {
    type Output = Fused;
    type Error = Error;

    fn run<B: FusionBackend>(self, backend: &B) -> Result<Fused, Error> {
        let Fusing { fusion, target, atlases } = self;
        Ok(match fusion {
            Fusion::Majority => fusion::majority(&atlases.iter().map(|atlas| atlas.labels).collect::<Vec<_>>()),
            Fusion::Joint(options) => fusion::joint(target, atlases, options, backend),
        }?)
    }
}

impl DeviceBytes for Fusing<'_> {
    fn device_bytes(&self) -> u64 {
        match self.fusion {
            Fusion::Majority => 0,
            Fusion::Joint(options) => fusion::joint_device_bytes(self.target.grid.shape, self.atlases.len(), options),
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
