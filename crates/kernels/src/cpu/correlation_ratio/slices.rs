//! Two-dimensional images: the slice is put twice above itself, and read in between as anything else is.

use antsreg_core::AffineTransform;

use crate::cpu::image::Image;
use crate::slices::{is_slice, within_slice};

/// What stands for slices.
pub(in crate::cpu) struct Slices {
    /// The moving slice, twice.
    pub moving: Image,
    /// Its weight, twice.
    pub weight: Option<Image>,
    /// The maps; one that leaves the slice leads nowhere.
    pub maps: Vec<AffineTransform>,
}

impl Slices {
    /// Of a moving image one voxel deep, unless there is an edge along its depth: then nothing of it counts anyway.
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
