//! Why no field is found.

/// Why a bias field could not be found.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The value of an option lies outside its range.
    #[error("{what}: expected {expected}, found {found}")]
    Range {
        /// The option.
        what: &'static str,
        /// Allowed range of the option.
        expected: String,
        /// Value of the option.
        found: String,
    },
    /// No voxel of the shrunken image counts.
    #[error(
        "no voxel counts in every {shrink}th along each axis; expected a mask with more voxels, or a smaller shrink factor"
    )]
    NoVoxels {
        /// The shrink factor.
        shrink: usize,
    },
    /// All voxels that count are equally bright.
    #[error("all {voxels} voxels that count are equally bright; expected an image with contrast there")]
    Constant {
        /// Number of voxels that count.
        voxels: usize,
    },
    /// The finest mesh has too many control points.
    #[error(
        "the finest mesh has {found} control points, expected at most {most}; give a larger spline distance or fewer levels"
    )]
    Mesh {
        /// Number of control points of the finest mesh.
        found: usize,
        /// Largest supported number of control points.
        most: usize,
    },
    /// A mask or weights on another grid.
    #[error("the {what} has {found:?} voxels, expected {expected:?} as the image")]
    Shape {
        /// Which volume.
        what: &'static str,
        /// Its shape.
        found: [usize; 3],
        /// The image's.
        expected: [usize; 3],
    },
}
