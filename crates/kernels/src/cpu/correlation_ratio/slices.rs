//! Two-dimensional images: the slice is put twice above itself, and read in between as anything else is.

use antsreg_core::AffineTransform;

use crate::cpu::image::Image;

/// What stands for slices.
pub(super) struct Slices {
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
        moving: &Image,
        weight: Option<&Image>,
        edge_voxels: [f64; 3],
        maps: &[AffineTransform],
    ) -> Option<Slices> {
        (moving.shape[2] == 1 && edge_voxels[2] == 0.0).then(|| Slices {
            moving: twice(moving),
            weight: weight.map(twice),
            maps: maps.iter().map(within_slice).collect(),
        })
    }
}

fn twice(image: &Image) -> Image {
    let [nx, ny, _] = image.shape;
    Image { shape: [nx, ny, 2], voxels: [image.voxels.as_slice(), &image.voxels].concat() }
}

fn within_slice(map: &AffineTransform) -> AffineTransform {
    let stays = map.matrix.row(2).iter().chain([&map.translation.z]).all(|value| *value == 0.0);
    let mut map = *map;
    if !stays {
        map.translation.fill(f64::NAN);
    }
    map
}
