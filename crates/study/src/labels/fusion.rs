//! Methods that fuse the labels of several atlases.

pub use antsreg_cohort::fusion::Atlas as CarriedAtlas;
use antsreg_cohort::fusion::{self, Compared, Fused, FusedImages, FusionError, JointOptions};
use antsreg_core::{LabelVolume, Volume};
use antsreg_kernels::fusion::FusionBackend;
use antsreg_pool::DeviceBytes;
use antsreg_register::{Computation, Device};
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
    /// compares patches on the device, or on the CPU if the device has too little free memory; all devices find the
    /// same labels.
    ///
    /// # Errors
    /// Options out of range; no atlas; another grid; a device that fails.
    pub fn fuse_carried(&self, target: &Volume, atlases: &[CarriedAtlas], device: &Device) -> Result<Fused, Error> {
        let comparing = Comparing { fusion: self, target, atlases };
        Ok(with_memory(device, comparing.device_bytes())?.run(comparing)?.count()?)
    }
}

/// Fuses labels and intensities of atlases at every voxel of a region, as `antsJointFusion` does
/// ([`joint_everywhere`](fusion::joint_everywhere)). Patches are compared on the device, or on the CPU if the device
/// has too little free memory; all devices find the same.
///
/// # Errors
/// Options out of range; no atlas; another grid; a device that fails.
pub fn fuse_everywhere(
    target: &Volume,
    atlases: &[CarriedAtlas],
    options: &JointOptions,
    region: Option<&[bool]>,
    device: &Device,
) -> Result<FusedImages, Error> {
    let bytes = fusion::joint_device_bytes(target.grid.shape, atlases.len(), options);
    with_memory(device, bytes)?.run(Everywhere { target, atlases, options, region })
}

/// Returns the device, or the CPU if the device has too little free memory, bytes.
fn with_memory(device: &Device, bytes: u64) -> Result<Device, Error> {
    let free = device.memory()?.map(|memory| memory.free + memory.kept);
    Ok(if free.is_none_or(|free| bytes <= free) { device.clone() } else { Device::cpu() })
}

/// The fusion of labels and intensities at every voxel of a region, on one device.
struct Everywhere<'a> {
    target: &'a Volume,
    atlases: &'a [CarriedAtlas<'a>],
    options: &'a JointOptions,
    region: Option<&'a [bool]>,
}

impl Computation for Everywhere<'_> {
    type Output = FusedImages;
    type Error = Error;

    fn run<B: FusionBackend>(self, backend: &B) -> Result<FusedImages, Error> {
        let Everywhere { target, atlases, options, region } = self;
        Ok(fusion::joint_everywhere(target, atlases, options, region, backend)?)
    }
}

/// What the votes on the labels of a target depend on, after the comparison of the images on a device. The votes are
/// counted by the CPU alone.
pub(super) enum Votes<'a> {
    /// The label maps of the atlases, for majority vote. It needs no images.
    Majority(Vec<&'a LabelVolume>),
    /// The compared patches, for joint fusion.
    Joint(Compared<'a>),
}

impl Votes<'_> {
    /// Counts the votes.
    ///
    /// # Errors
    /// Majority vote without an atlas, or with atlases on different grids.
    pub(super) fn count(&self) -> Result<Fused, FusionError> {
        match self {
            Votes::Majority(labels) => fusion::majority(labels),
            Votes::Joint(compared) => Ok(compared.fuse()),
        }
    }
}

/// The part of a fusion of labels that takes a device: the comparison of the target's image with those of the atlases.
pub(super) struct Comparing<'a, 't> {
    /// The method of fusion.
    pub fusion: &'t Fusion,
    /// The target's image.
    pub target: &'t Volume,
    /// Images and labels of the atlases on the target's grid.
    pub atlases: &'t [CarriedAtlas<'a>],
}

impl<'a> Computation for Comparing<'a, '_> {
    type Output = Votes<'a>;
    type Error = Error;

    fn run<B: FusionBackend>(self, backend: &B) -> Result<Votes<'a>, Error> {
        let Comparing { fusion, target, atlases } = self;
        Ok(match fusion {
            Fusion::Majority => Votes::Majority(atlases.iter().map(|atlas| atlas.labels).collect()),
            Fusion::Joint(options) => Votes::Joint(fusion::compare(target, atlases, options, backend)?),
        })
    }
}

impl DeviceBytes for Comparing<'_, '_> {
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
