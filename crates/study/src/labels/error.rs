//! Errors in a list of atlases.

use std::path::PathBuf;

/// Why a list of atlases cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AtlasesError {
    /// A row of a table of atlases has no label map.
    #[error("{} has no label map; expected a label map for each atlas", image.display())]
    NoLabels {
        /// Path of the image of the atlas without a label map.
        image: PathBuf,
    },
    /// Two atlases have the same name.
    #[error(
        "two atlases are called {name}, with the images {} and {}; rename one atlas, or give only one of \
         them", images[0].display(),
        images[1].display()
    )]
    Twice {
        /// The name that both atlases have.
        name: String,
        /// Paths of the images of the two atlases with this name.
        images: [PathBuf; 2],
    },
    /// Fewer than two atlases were given for leave-one-out scores.
    #[error(
        "leave-one-out labels the image of each atlas by the other atlases: expected two or more atlases, found {found}"
    )]
    TooFew {
        /// Number of atlases.
        found: usize,
    },
    /// None of the given atlases can be used, for example because none could be read or registered.
    #[error("none of the {of} atlases can be used")]
    NoneLeft {
        /// Number of atlases given.
        of: usize,
    },
}
