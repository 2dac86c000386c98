//! Two-dimensional images: the slice is put twice above itself, and read in between as anything else is.

use antsreg_core::AffineTransform;

use crate::cpu::image::Image;

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
        (moving.shape[2] == 1 && edge_voxels[2] == 0.0).then(|| Slices {
            moving: twice(moving),
            weight: weight.map(twice),
            maps: maps.iter().map(|map| within_slice(fixed_shape, map)).collect(),
        })
    }
}

fn twice(image: &Image) -> Image {
    let [nx, ny, _] = image.shape;
    Image { shape: [nx, ny, 2], voxels: [image.voxels.as_slice(), &image.voxels].concat() }
}

/// The map with all of its third row 0, if it leads every fixed voxel to index 0; else a map to nowhere.
fn within_slice(fixed_shape: [usize; 3], map: &AffineTransform) -> AffineTransform {
    let moves = |axis: usize| fixed_shape[axis] > 1 && map.matrix[(2, axis)] != 0.0;
    let mut map = *map;
    if map.translation.z != 0.0 || (0..3).any(moves) {
        map.translation.fill(f64::NAN);
    }
    map.matrix.row_mut(2).fill(0.0);
    map
}
