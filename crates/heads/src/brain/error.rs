//! Errors of brain extraction.

use antsreg_kernels as kernels;
use antsreg_register as register;

/// Why a brain could not be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The image has two dimensions; brain extraction needs three.
    #[error("the image is a slice of {0:?} voxels; brain extraction needs a volume")]
    Slice([usize; 3]),
    /// The object in the image is much larger than the head of the template.
    #[error(
        "the object in the image is {} times as large as the head of the template; check that the voxel sizes of the image \
         are in mm", (found_mm / expected_mm).round()
    )]
    TooLarge {
        /// Extent of the object in the image, mm: the standard deviation of its mass along its longest axis.
        found_mm: f64,
        /// Extent of the template's head, measured in the same way, mm.
        expected_mm: f64,
    },
    /// The computer has too little free memory for a finer copy of the image.
    #[error("a copy of the image with finer voxels {0}")]
    Memory(#[from] antsreg_core::memory::Shortage),
    /// The head and the mask of a template have different numbers of voxels.
    #[error("the template's head has {head:?} voxels and the mask of its brain {mask:?}, expected the same grid")]
    TemplateGrid {
        /// Shape of the template's head, in voxels.
        head: [usize; 3],
        /// Shape of the mask of the template's brain, in voxels.
        mask: [usize; 3],
    },
    /// The brain mask of the template is empty: no voxel is above 0.5.
    #[error("the mask of the template's brain is empty, expected voxels above 0.5")]
    TemplateEmpty,
    /// The template has no image of this contrast.
    #[error("the template has no {0} image")]
    NoContrast(super::Contrast),
    /// A volume of the built-in template cannot be unpacked.
    #[error("the built-in template cannot be unpacked ({0}); install the program again")]
    Damaged(String),
    /// The head could not be registered to the template.
    #[error(transparent)]
    Register(#[from] register::Error),
    /// An operation on a volume failed on the device.
    #[error(transparent)]
    Kernels(#[from] kernels::Error),
    /// The brain of the template lies completely outside the image.
    #[error(
        "the template's brain lies completely outside the image after registration; check that the image shows a head"
    )]
    Nowhere,
}
