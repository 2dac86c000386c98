//! The mask of valid data: the voxels of an image that the metrics may compare.
//!
//! Outside an image nothing is known. Where the object ends inside the image, zeros continue it rightly. Where the field
//! of view cuts it, zeros would be an edge that the other image does not have, and tissue would be pulled over it. So such
//! an image has a mask of valid data, all of its voxels: the metrics compare nothing outside.
//!
//! A lesion has no counterpart in the other image either. Its voxels are no valid data. So no force acts inside, and the
//! smoothing of the updates carries the warp in from the surrounding tissue.

use std::sync::Arc;

use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::{Backend, CcParameters};
use nalgebra::{Matrix3, Point3, Vector3};

use crate::{Error, Options};

/// An image on the device, and its grid.
pub(crate) type OnGrid<I> = (Arc<I>, Grid);

/// A voxel of an image from 0 to 1 shows the object if it is above this.
const SIGNAL: f32 = 0.15;

/// The object is cut if more than this share of the voxels of one face of the image shows it. Measured: brains without a
/// skull 0 to 0.002, whole heads at their upper faces 0 to 0.02, necks 0.1 to 0.6, brains cut in the middle 0.3 to 0.7.
const LEAST_SHARE: f64 = 0.05;

/// Most samples along an axis of a face.
const MOST_SAMPLES: usize = 64;

/// The mask of the valid data of images on the grid of the first one, if it differs from the given `mask`: the voxels of
/// `mask`, or those of [`field_of_view`], without the voxels of the lesion. Intensities are from 0 to 1.
pub(crate) fn mask<B: Backend>(
    backend: &B,
    images: &[OnGrid<B::Image>],
    mask: Option<&OnGrid<B::Image>>,
    lesion: Option<&Volume>,
    options: &Options,
) -> Result<Option<OnGrid<B::Image>>, Error> {
    // Outside a mask nothing counts anyway, so it needs no field of view.
    let (in_view, whole) = match mask {
        Some(_) => (None, mask),
        None => (field_of_view(backend, images, options)?, None),
    };
    let Some(lesion) = lesion else { return Ok(in_view) };
    let mut voxels = match in_view.as_ref().or(whole) {
        Some((mask, _)) => backend.download(mask)?,
        None => vec![1.0; lesion.voxels.len()],
    };
    voxels.iter_mut().zip(&lesion.voxels).filter(|(_, lesion)| **lesion > 0.5).for_each(|(valid, _)| *valid = 0.0);
    Ok(Some((Arc::new(backend.upload(lesion.grid.shape, &voxels)?), lesion.grid.clone())))
}

/// 1 where all images that the field of view cuts have data, on the grid of the first image; `None` if no image is cut.
fn field_of_view<B: Backend>(
    backend: &B,
    images: &[OnGrid<B::Image>],
    options: &Options,
) -> Result<Option<OnGrid<B::Image>>, Error> {
    // Wider windows have no masks on a GPU.
    if options.radius > CcParameters::MOST_TILED_RADIUS {
        return Ok(None);
    }
    let mut cut = Vec::new();
    for (image, grid) in images {
        if is_cut(backend, image, grid)? {
            cut.push(grid);
        }
    }
    let Some((first, grid)) = images.first().filter(|_| !cut.is_empty()) else { return Ok(None) };
    let others: Vec<AffineTransform> = cut
        .iter()
        .filter(|other| **other != grid)
        .map(|other| other.world_to_voxel().after(&grid.voxel_to_world()))
        .collect();
    if others.is_empty() {
        let mut ones = backend.copy(first)?;
        backend.clip(&mut ones, (1.0, 1.0), 0.0, 1.0)?;
        return Ok(Some((Arc::new(ones), grid.clone())));
    }
    let cut: Vec<&Grid> = cut.into_iter().filter(|other| *other != grid).collect();
    let [nx, ny, _] = grid.shape;
    let is_valid = |n: usize| {
        let index = Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64);
        others.iter().zip(&cut).all(|(map, other)| other.holds(&map.apply(&index)))
    };
    let voxels: Vec<f32> = (0..grid.len()).map(|n| f32::from(u8::from(is_valid(n)))).collect();
    Ok(Some((Arc::new(backend.upload(grid.shape, &voxels)?), grid.clone())))
}

/// Whether the object reaches a face of the image.
fn is_cut<B: Backend>(backend: &B, image: &B::Image, grid: &Grid) -> Result<bool, Error> {
    let axes = if grid.is_slice() { 2 } else { 3 };
    for axis in 0..axes {
        for last in [0, grid.shape[axis] - 1] {
            let (across, along) = ([(axis + 1) % 3, (axis + 2) % 3], Vector3::ith(axis, last as f64));
            let step = across.map(|axis| grid.shape[axis].div_ceil(MOST_SAMPLES));
            let count = [0, 1].map(|n| grid.shape[across[n]].div_ceil(step[n]));
            let columns = [0, 1].map(|n| Vector3::ith(across[n], step[n] as f64));
            let map = AffineTransform {
                matrix: Matrix3::from_columns(&[columns[0], columns[1], Vector3::zeros()]),
                translation: along,
            };
            let mut face = backend.image([count[0], count[1], 1])?;
            backend.resample(image, &map, 0.0, &mut face)?;
            let face = backend.download(&face)?;
            let shown = face.iter().filter(|value| **value > SIGNAL).count();
            if shown as f64 > LEAST_SHARE * face.len() as f64 {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::Cpu;
    use antsreg_kernels::ops::Memory;

    use super::*;

    fn ball(grid: &Grid) -> Volume {
        let [nx, ny, _] = grid.shape;
        let value = |n: usize| {
            let index = Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64);
            f32::from(u8::from(grid.voxel_to_world().apply(&index).coords.norm() < 30.0))
        };
        Volume { voxels: (0..grid.len()).map(value).collect(), grid: grid.clone() }
    }

    fn around(shape: [usize; 3]) -> Grid {
        let mut grid = Grid::axis_aligned(shape, [1.0; 3]);
        grid.origin -= grid.centre().coords;
        grid
    }

    fn masked(grids: &[Grid]) -> Option<Vec<f32>> {
        let images: Vec<_> = grids
            .iter()
            .map(|grid| (Arc::new(Cpu.upload(grid.shape, &ball(grid).voxels).expect("voxels")), grid.clone()))
            .collect();
        let found = mask(&Cpu, &images, None, None, &Options::default()).expect("no device fails");
        found.map(|(mask, _)| Cpu.download(&mask).expect("voxels"))
    }

    #[test]
    fn images_that_end_inside_the_object_have_a_mask_along_every_axis() {
        assert_eq!(masked(&[around([70, 66, 68])]), None);
        for axis in 0..3 {
            for way in [-1.0, 1.0] {
                let mut grid = around([70, 66, 68]);
                grid.shape[axis] = 34;
                grid.origin[axis] += if way > 0.0 { 34.0 } else { 0.0 };
                assert_eq!(masked(std::slice::from_ref(&grid)), Some(vec![1.0; grid.len()]), "axis {axis}, {way}");
            }
        }
        let slice = around([70, 40, 1]);
        assert!(masked(&[slice]).is_some());
        assert_eq!(masked(&[around([70, 66, 1])]), None, "the faces of a slice along its normal do not count");
    }

    #[test]
    fn a_lesion_is_no_valid_data_with_and_without_a_mask() {
        let grid = around([70, 66, 34]);
        let marked =
            |share: usize| -> Vec<f32> { (0..grid.len()).map(|n| f32::from(u8::from(n % share == 0))).collect() };
        let lesion = Volume { voxels: marked(3), grid: grid.clone() };
        let on_device = |voxels: &[f32]| (Arc::new(Cpu.upload(grid.shape, voxels).expect("voxels")), grid.clone());
        let (image, given) = (on_device(&ball(&grid).voxels), on_device(&marked(2)));
        for (given, expected) in [(None, vec![1.0; grid.len()]), (Some(&given), marked(2))] {
            let found = mask(&Cpu, std::slice::from_ref(&image), given, Some(&lesion), &Options::default());
            let (found, _) = found.expect("no device fails").expect("a mask");
            let outside = |(n, value): (usize, f32)| if n % 3 == 0 { 0.0 } else { value };
            let expected: Vec<f32> = expected.into_iter().enumerate().map(outside).collect();
            assert_eq!(Cpu.download(&found).expect("voxels"), expected);
        }
    }

    #[test]
    fn the_mask_of_several_images_is_where_all_have_data() {
        let (whole, cut) = (around([70, 66, 68]), around([70, 66, 20]));
        let found = masked(&[whole.clone(), cut]).expect("a mask");
        let plane = whole.shape[0] * whole.shape[1];
        for (k, plane) in found.chunks(plane).enumerate() {
            let expected = if (24..44).contains(&k) { 1.0 } else { 0.0 };
            assert!(plane.iter().all(|value| *value == expected), "{k}");
        }
    }
}
