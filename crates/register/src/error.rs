//! Errors of registrations.

use antsreg_kernels as kernels;
use antsreg_linear as linear;
use antsreg_syn as syn;

use crate::{DeviceChoice, TooWide};

/// Why a registration is refused or fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The list of stages is empty.
    #[error("the list of stages is empty, expected at least one")]
    NoStage,
    /// A linear stage comes after a deformable stage.
    #[error("stage {stage} is linear and follows a deformable stage; expected linear stages first")]
    LinearAfterDeformable {
        /// Number of the linear stage that follows a deformable stage, counted from 1.
        stage: usize,
    },
    /// The number of masks differs from the number of stages.
    #[error("the {side} image has masks for {found} stages; expected masks for {expected} stages")]
    Masks {
        /// Whether the masks belong to the fixed or to the moving image.
        side: linear::Side,
        /// Number of stages of the registration, which is the expected number of masks.
        expected: usize,
        /// Number of masks that were given for this image.
        found: usize,
    },
    /// The number of lists of pairs differs from the number of stages.
    #[error("there are lists of pairs of images for {found} stages; expected {expected} lists or none")]
    Pairs {
        /// Number of stages of the registration, which is the expected number of lists.
        expected: usize,
        /// Number of lists that were given.
        found: usize,
    },
    /// The list of the pairs that a stage compares is empty, or names a pair that does not exist.
    #[error("the list of the pairs of images of stage {stage} is empty or names a pair that does not exist")]
    PairOfStage {
        /// Number of the stage, counted from 1.
        stage: usize,
    },
    /// The first image of a stage has another grid than the first image of the registration.
    #[error(
        "the first {side} image of stage {stage} has another grid than the first {side} image of the registration; resample \
         it on that grid"
    )]
    GridOfStage {
        /// Number of the stage, counted from 1.
        stage: usize,
        /// Whether the image is fixed or moving.
        side: linear::Side,
    },
    /// One image is two-dimensional, the other three-dimensional.
    #[error(
        "one image is a slice and the other a volume (fixed {fixed:?}, moving {moving:?} voxels); expected two slices or \
         two volumes"
    )]
    SliceAndVolume {
        /// Shape of the fixed image, in voxels.
        fixed: [usize; 3],
        /// Shape of the moving image, in voxels.
        moving: [usize; 3],
    },
    /// A shrink factor is too large for the fixed image.
    #[error(
        "shrink factor {factor} leaves fewer than {least} voxels of the {extent} along an axis; give a smaller shrink \
         factor"
    )]
    Shrink {
        /// The shrink factor that is too large: the factor by which a level reduces the fixed image.
        factor: usize,
        /// Voxels along the shortest axis of the fixed image.
        extent: usize,
        /// Least number of voxels along an axis after shrinking.
        least: usize,
    },
    /// The images do not overlap at the start.
    #[error("the images do not overlap at the start")]
    NoOverlapAtStart,
    /// The initial transform cannot be inverted.
    #[error(
        "the initial transform is singular (determinant {determinant:e}): it maps space to a plane, a line or a point"
    )]
    SingularStart {
        /// Determinant of the linear part of the initial transform.
        determinant: f64,
    },
    /// The GPU's kernels do not support the window of the cross-correlation.
    #[error(transparent)]
    Window(#[from] TooWide),
    /// The device that the user chose cannot be used.
    #[error("the device {asked} cannot be used: {reason}; this machine has {there}")]
    NoDevice {
        /// The device that the user chose.
        asked: String,
        /// The reason why the device cannot be used.
        reason: Box<kernels::Error>,
        /// The names of the devices that this machine has, as one text for the message.
        there: String,
    },
    /// The device has too little free memory.
    #[error(transparent)]
    DeviceMemory(#[from] TooLittleMemory),
    /// The device failed before, between or after the stages.
    #[error("device: {0}")]
    Device(#[from] kernels::Error),
    /// A linear stage was refused or failed.
    #[error("affine stage: {source}")]
    Linear {
        /// Number of the registration stage that failed, counted from 1.
        stage: usize,
        /// The error of the linear stage: why this stage was refused or failed.
        source: linear::Error,
    },
    /// A deformable stage was refused or failed.
    #[error("syn stage: {source}")]
    Deformable {
        /// Number of the registration stage that failed, counted from 1.
        stage: usize,
        /// The error of the deformable stage: why this stage was refused or failed.
        source: syn::Error,
    },
    /// The observer stopped the registration.
    #[error("the registration was stopped")]
    Stopped,
}

impl Error {
    /// Makes the error of a failed linear stage. `place` is the index of the stage, counted from 0. If the observer
    /// stopped the stage, the error is [`Error::Stopped`].
    pub(crate) fn linear(place: usize, source: linear::Error) -> Error {
        match source {
            linear::Error::Stopped => Error::Stopped,
            source => Error::Linear { stage: place + 1, source },
        }
    }

    /// Makes the error of a failed deformable stage. `place` is the index of the stage, counted from 0. If the observer
    /// stopped the stage, the error is [`Error::Stopped`].
    pub(crate) fn deformable(place: usize, source: syn::Error) -> Error {
        match source {
            syn::Error::Stopped => Error::Stopped,
            source => Error::Deformable { stage: place + 1, source },
        }
    }
}

/// A GPU has too little free memory for a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{device}: registering takes about {needed_mb} MB of device memory, {free_mb} MB are free")]
pub struct TooLittleMemory {
    device: DeviceChoice,
    needed_mb: u64,
    free_mb: u64,
}

impl TooLittleMemory {
    /// Makes the error that the device has too little free memory, from the needed and the free memory in bytes.
    pub fn new(device: DeviceChoice, needed_bytes: u64, free_bytes: u64) -> TooLittleMemory {
        // The needed memory is rounded up and the free memory down, so that the two numbers in the message differ.
        TooLittleMemory { device, needed_mb: needed_bytes.div_ceil(1_000_000), free_mb: free_bytes / 1_000_000 }
    }

    /// Returns the error that the device has too little free memory; `None` if the free memory is enough.
    pub fn of(device: DeviceChoice, needed_bytes: u64, free_bytes: u64) -> Option<TooLittleMemory> {
        (needed_bytes > free_bytes).then(|| TooLittleMemory::new(device, needed_bytes, free_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_is_shown_with_both_numbers() {
        let of = |free_bytes| TooLittleMemory::of(DeviceChoice::Cuda(2), 740_500_000, free_bytes);
        assert_eq!(of(740_500_000), None);
        let message = of(740_499_999).expect("too little").to_string();
        for word in ["cuda:2", "741 MB", "740 MB"] {
            assert!(message.contains(word), "`{word}` is missing in: {message}");
        }
    }
}
