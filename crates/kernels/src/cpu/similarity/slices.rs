//! Correlation ratio of slices: a slice is stacked twice to a volume with a depth of two voxels, which is then sampled
//! like any other volume.

use antsreg_core::AffineTransform;

use crate::cpu::image::Image;
use crate::slices::{is_slice, within_slice};

/// Approximate number of samples of a task: large enough to hide the cost of starting it, small enough to keep all
/// threads busy.
const SLAB_SAMPLES: usize = 1 << 15;

/// Number of slices of a slab, the part of a fixed volume that one task samples.
pub(in crate::cpu) fn slab_slices([nx, ny, _]: [usize; 3]) -> usize {
    SLAB_SAMPLES.div_ceil((nx * ny).max(1))
}

/// The operands for the correlation ratio of two slices (images of one voxel along the third axis): moving image and
/// affine maps.
pub(in crate::cpu) struct Slices {
    /// The moving slice, stacked twice to a volume.
    pub moving: Image,
    /// The weights of the moving slice, stacked twice to a volume.
    pub weight: Option<Image>,
    /// The maps from the fixed slice to the moving slice. A map that leaves the plane of the moving slice is replaced
    /// by a map to points outside the volume.
    pub maps: Vec<AffineTransform>,
}

impl Slices {
    /// Prepares the images for the correlation ratio of two slices. `None` if the moving image has more than one slice,
    /// or if weights also rise from 0 at its border along the third axis: then every voxel of a slice has weight 0.
    pub fn of(
        fixed_shape: [usize; 3],
        moving: &Image,
        weight: Option<&Image>,
        edge_voxels: [f64; 3],
        maps: &[AffineTransform],
    ) -> Option<Slices> {
        is_slice(moving.shape, edge_voxels).then(|| Slices {
            moving: twice(moving),
            weight: weight.map(twice),
            maps: maps.iter().map(|map| within_slice(fixed_shape, map)).collect(),
        })
    }
}

fn twice(image: &Image) -> Image {
    let [nx, ny, _] = image.shape;
    Image { shape: [nx, ny, 2], voxels: image.voxels.repeat(2).into() }
}
