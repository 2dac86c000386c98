//! Images on other grids: margins, slices, and grids of other spacings.

use antsreg_core::{Grid, Volume, memory};
use nalgebra::{Point3, Vector3};

use crate::{Error, dimensions};

/// The image with a margin of `voxels` on all sides, filled with `value`. Voxels keep their places in the world.
///
/// # Errors
/// The image does not fit into the available memory.
pub fn padded(image: &Volume, voxels: usize, value: f32) -> Result<Volume, Error> {
    let margin: [usize; 3] = std::array::from_fn(|axis| if axis < dimensions(&image.grid) { voxels } else { 0 });
    let [nx, ny, nz] = image.grid.shape;
    let shape: [usize; 3] =
        std::array::from_fn(|axis| image.grid.shape[axis].saturating_add(margin[axis].saturating_mul(2)));
    memory::check_volume(shape, size_of::<f32>())?;
    let first = Point3::from(Vector3::from_fn(|axis, _| -(margin[axis] as f64)));
    let grid = Grid { shape, origin: image.grid.voxel_to_world().apply(&first), ..image.grid.clone() };
    let mut out = Volume::filled(grid, value);
    for (z, y) in (0..nz).flat_map(|z| (0..ny).map(move |y| (z, y))) {
        let to = ((z + margin[2]) * shape[1] + y + margin[1]) * shape[0] + margin[0];
        out.voxels[to..][..nx].copy_from_slice(&image.voxels[(z * ny + y) * nx..][..nx]);
    }
    Ok(out)
}

/// The image without `voxels` on all sides.
///
/// # Errors
/// Nothing would be left.
pub fn cropped(image: &Volume, voxels: usize) -> Result<Volume, Error> {
    let axes = dimensions(&image.grid);
    let shape = image.grid.shape;
    if let Some(axis) = (0..axes).find(|axis| shape[*axis] <= 2 * voxels) {
        return Err(Error::NoVoxels { axis });
    }
    let range = |axis: usize| if axis < axes { voxels..shape[axis] - voxels } else { 0..shape[axis] };
    Ok(region(image, [0, 1, 2].map(range)))
}

/// Repairs the place of an image that should lie as `reference` does: coordinates of the origin that are 0 or have the
/// other sign, and directions that differ by 0.7 or more in the Frobenius norm. ANTs' `ImageMath` with
/// `CompareHeadersAndImages`.
pub fn repair(grid: &mut Grid, reference: &Grid) {
    for axis in 0..dimensions(reference) {
        let (found, wanted) = (&mut grid.origin[axis], reference.origin[axis]);
        if *found * wanted < 0.0 {
            *found = -*found;
        } else if crate::is_zero(*found as f32) {
            *found = wanted;
        }
    }
    if (grid.direction - reference.direction).norm() >= 0.7 {
        grid.direction = reference.direction;
    }
}

/// The part of an image with these voxel indices. Voxels keep their places in the world.
pub fn region(image: &Volume, range: [std::ops::Range<usize>; 3]) -> Volume {
    let [nx, ny, _] = image.grid.shape;
    let first = Point3::from(Vector3::from_fn(|axis, _| range[axis].start as f64));
    let grid = Grid {
        shape: [0, 1, 2].map(|axis| range[axis].len()),
        origin: image.grid.voxel_to_world().apply(&first),
        ..image.grid.clone()
    };
    let rows = range[2].clone().flat_map(|z| range[1].clone().map(move |y| (z * ny + y) * nx));
    let voxels = rows.flat_map(|row| &image.voxels[row + range[0].start..row + range[0].end]).copied().collect();
    Volume { grid, voxels }
}

/// One slice of a volume along its third axis, as an image of two dimensions, which lies across the world's third axis.
/// The position along that axis is lost, as in ITK.
///
/// # Errors
/// There is no slice of this number.
pub fn slice(image: &Volume, number: usize) -> Result<Volume, Error> {
    let [nx, ny, nz] = image.grid.shape;
    if number >= nz {
        return Err(Error::NoSlice { found: number, count: nz });
    }
    let mut slice = region(image, [0..nx, 0..ny, number..number + 1]);
    slice.grid.origin.z = 0.0;
    slice.grid.spacing.z = 1.0;
    let mut direction = slice.grid.direction;
    // ITK takes the first two rows and columns of the directions, if these have an inverse.
    for axis in 0..3 {
        (direction[(2, axis)], direction[(axis, 2)]) = (0.0, 0.0);
    }
    direction[(2, 2)] = 1.0;
    if direction.determinant().abs() < 1e-9 {
        direction = nalgebra::Matrix3::from_diagonal(&Vector3::new(-1.0, -1.0, 1.0));
    }
    slice.grid.direction = direction;
    Ok(slice)
}

/// The grid with another spacing (mm) along each axis, from the same first voxel. `voxels` turns a length in new voxels
/// into a number of voxels.
///
/// # Errors
/// An axis without voxels; an image on the grid would not fit into the available memory.
pub fn with_spacing(grid: &Grid, spacing: [f64; 3], voxels: impl Fn(f64) -> usize) -> Result<Grid, Error> {
    let axes = dimensions(grid);
    let spacing = Vector3::from_fn(|axis, _| if axis < axes { spacing[axis] } else { grid.spacing[axis] });
    let count = |axis: usize| voxels(grid.shape[axis] as f64 * grid.spacing[axis] / spacing[axis]);
    let shape = std::array::from_fn(|axis| if axis < axes { count(axis) } else { grid.shape[axis] });
    match shape.iter().position(|count| *count == 0) {
        Some(axis) => Err(Error::NoVoxels { axis }),
        None => {
            memory::check_volume(shape, size_of::<f32>())?;
            Ok(Grid { shape, spacing, ..grid.clone() })
        }
    }
}

/// The grid with other numbers of voxels between the same first and last voxels.
///
/// # Errors
/// An axis without voxels; an image on the grid would not fit into the available memory.
pub fn with_shape(grid: &Grid, shape: [usize; 3]) -> Result<Grid, Error> {
    let axes = dimensions(grid);
    let shape = std::array::from_fn(|axis| if axis < axes { shape[axis] } else { grid.shape[axis] });
    if let Some(axis) = shape.iter().position(|count| *count == 0) {
        return Err(Error::NoVoxels { axis });
    }
    memory::check_volume(shape, size_of::<f32>())?;
    let spacing = |axis: usize| match shape[axis] {
        1 => grid.spacing[axis],
        count => grid.spacing[axis] * (grid.shape[axis] as f64 - 1.0) / (count as f64 - 1.0),
    };
    Ok(Grid { shape, spacing: Vector3::from_fn(|axis, _| spacing(axis)), ..grid.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_other_sign_are_repaired() {
        let mut reference = Grid::axis_aligned([4, 4, 4], [1.0; 3]);
        reference.origin = [90.0, -126.0, -72.0].into();
        let mut grid = Grid { origin: [-80.0, 0.0, -60.0].into(), ..reference.clone() };
        grid.direction.swap_columns(0, 1);
        repair(&mut grid, &reference);
        assert_eq!((grid.origin, grid.direction), ([80.0, -126.0, -60.0].into(), reference.direction));
    }

    #[test]
    fn cropping_undoes_padding() {
        let mut grid = Grid::axis_aligned([3, 4, 5], [1.0, 2.0, 3.0]);
        grid.origin = Point3::new(7.0, -3.0, 2.0);
        let voxels = (0..60).map(|n| n as f32).collect();
        let image = Volume { grid, voxels };
        let wide = padded(&image, 2, -1.0).unwrap();
        assert!(matches!(padded(&image, 1 << 20, 0.0), Err(Error::Memory(_))));
        assert!(matches!(padded(&image, usize::MAX, 0.0), Err(Error::Memory(_))));
        assert_eq!(wide.grid.shape, [7, 8, 9]);
        assert_eq!(wide.grid.origin, Point3::new(5.0, -7.0, -4.0));
        assert_eq!(cropped(&wide, 2), Ok(image.clone()));
        assert_eq!(cropped(&image, 2), Err(Error::NoVoxels { axis: 0 }));
        let slice = slice(&image, 1).unwrap();
        assert_eq!((slice.voxels[0], slice.grid.origin), (12.0, Point3::new(7.0, -3.0, 0.0)));
    }

    #[test]
    fn new_spacings_keep_the_extent() {
        let grid = Grid::axis_aligned([10, 10, 1], [1.0; 3]);
        let coarse = with_spacing(&grid, [2.5, 4.0, 9.0], |length| length as usize).unwrap();
        assert_eq!((coarse.shape, coarse.spacing), ([4, 2, 1], Vector3::new(2.5, 4.0, 1.0)));
        let fine = with_shape(&grid, [19, 10, 7]).unwrap();
        assert_eq!((fine.shape, fine.spacing), ([19, 10, 1], Vector3::new(0.5, 1.0, 1.0)));
        assert!(matches!(with_spacing(&grid, [1e-9; 3], |length| length as usize), Err(Error::Memory(_))));
        assert!(matches!(with_shape(&grid, [usize::MAX; 3]), Err(Error::Memory(_))));
    }
}
