//! Why no brain is found.

use antsreg_kernels as kernels;
use antsreg_register as register;

/// Why a brain could not be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An image of two dimensions.
    #[error("a brain is looked for in volumes, found a slice of {0:?} voxels")]
    Slice([usize; 3]),
    /// The template's own volumes cannot be unpacked, or do not go together.
    #[error("the template of a head: {0}")]
    Template(String),
    /// The head could not be registered to the template.
    #[error(transparent)]
    Register(#[from] register::Error),
    /// An operation on a volume failed.
    #[error(transparent)]
    Kernels(kernels::Error),
    /// The brain of the template lies nowhere in the image.
    #[error("nothing of the template's brain lies in the image after registration; is it a head?")]
    Nowhere,
}
