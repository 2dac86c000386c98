//! Treats slices as volumes in the kernels for the costs of the linear stage, which interpolate between two voxels
//! along every axis.

use std::borrow::Cow;

use antsreg_core::AffineTransform;

use crate::slices::{is_slice, within_slice};

/// The shape with which the moving image is sampled, and the maps to it. A slice is sampled as two equal slices;
/// other images are sampled unchanged.
pub(crate) struct Sampled<'m> {
    /// Shape with which the moving image is sampled: its own or, for a slice, that of two equal slices. The texture
    /// of the image repeats the slice.
    pub shape: [usize; 3],
    /// Maps from the voxel indices of the fixed image to those of the moving image as it is sampled: a slice is sampled
    /// as a volume of two equal slices.
    pub maps: Cow<'m, [AffineTransform]>,
}

impl<'m> Sampled<'m> {
    /// Prepares the sampling of the moving image. `None` if the image has an axis of one voxel, except for a slice: a
    /// depth of one voxel, with weights that do not rise from 0 at the border along the depth.
    pub(crate) fn of(
        fixed_shape: [usize; 3],
        moving_shape: [usize; 3],
        edge_voxels: [f64; 3],
        maps: &'m [AffineTransform],
    ) -> Option<Sampled<'m>> {
        let sampled = if is_slice(moving_shape, edge_voxels) {
            let [nx, ny, _] = moving_shape;
            let maps = maps.iter().map(|map| within_slice(fixed_shape, map)).collect();
            Sampled { shape: [nx, ny, 2], maps: Cow::Owned(maps) }
        } else {
            Sampled { shape: moving_shape, maps: Cow::Borrowed(maps) }
        };
        sampled.shape.iter().all(|n| *n > 1).then_some(sampled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_sampled_in_its_plane_alone() {
        let mut out_of_plane = AffineTransform::identity();
        out_of_plane.matrix[(2, 1)] = 1e-3;
        let mut beside = AffineTransform::identity();
        beside.translation.z = 0.5;
        let maps = [AffineTransform::identity(), out_of_plane, beside];
        let sampled = Sampled::of([9, 8, 1], [7, 6, 1], [2.0, 2.0, 0.0], &maps).expect("a slice");
        assert_eq!(sampled.shape, [7, 6, 2]);
        let leads_somewhere = sampled.maps.iter().map(|map| map.translation.iter().all(|v| v.is_finite()));
        assert_eq!(leads_somewhere.collect::<Vec<_>>(), [true, false, false]);
        assert!(sampled.maps.iter().all(|map| map.matrix.row(2).iter().all(|element| *element == 0.0)));
    }

    #[test]
    fn other_thin_volumes_are_all_border() {
        let maps = [AffineTransform::identity()];
        for (shape, edge) in [([7, 6, 1], [0.0, 0.0, 0.5]), ([7, 1, 5], [0.0; 3]), ([1, 6, 1], [0.0; 3])] {
            assert!(Sampled::of([9, 8, 1], shape, edge, &maps).is_none(), "{shape:?}");
        }
        let volume = Sampled::of([9, 8, 7], [7, 6, 5], [0.0; 3], &maps).expect("a volume");
        assert_eq!((volume.shape, volume.maps.as_ref()), ([7, 6, 5], &maps[..]));
    }
}
