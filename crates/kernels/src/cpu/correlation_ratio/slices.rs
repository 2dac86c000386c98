//! Correlation ratio of slices: a slice is stacked twice to a volume with a depth of two voxels, which is then sampled
//! like any other volume.

use antsreg_core::AffineTransform;

use crate::cpu::image::Image;
use crate::slices::{is_slice, within_slice};

/// Moving image and maps for the correlation ratio of two slices.
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
    /// Prepares a slice; `None` if the moving image is deeper than one voxel, or if weights rise from 0 at its border
    /// along its depth (a ramp). With such a ramp every voxel of a slice has weight 0.
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
