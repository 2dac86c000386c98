//! FSL's warps: images of three volumes that give, for each voxel of the fixed image, a displacement or a position in
//! FSL's coordinates (scaled mm). A warp maps the fixed image's coordinates to those of the moving image.

use std::path::Path;

use nalgebra::{Point3, Vector3};

use super::nifti::{GridRule, Planes, PlanesFile, PlanesReader, Stored};
use super::{Error, ErrorKind, Target, fsl};
use crate::{DisplacementField, Grid, Volume};

/// FSL's intent codes of files with coefficients of splines or cosines instead of displacements.
const COEFFICIENTS: std::ops::RangeInclusive<i16> = 2007..=2009;

/// What the vectors of a warp are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vectors {
    /// Displacements: x is mapped to x + u(x).
    Relative,
    /// Positions: x is mapped to u(x).
    Absolute,
}

/// Reads a warp as displacements in FSL's coordinates of its grid, mm: the grid of the result is
/// [`fsl::scaled_grid`]. Without `vectors`, the contents tell what the vectors are: positions grow by about 1 mm for each
/// mm along an axis, displacements by about 0.
///
/// # Errors
/// A file that cannot be read; other counts of volumes than three; coefficients instead of vectors.
pub fn read_warp(path: &Path, vectors: Option<Vectors>) -> Result<DisplacementField, Error> {
    let mut reader = PlanesReader::open(GridRule::Sform, path)?;
    let wrap = |found: String| {
        Error::new(path, ErrorKind::Format { expected: "a warp of FSL: three volumes of displacements", found })
    };
    if COEFFICIENTS.contains(&reader.intent()) {
        return Err(wrap("coefficients of a warp; convert the file with fnirtfileutils".into()));
    }
    let [fourth, fifth] = reader.counts();
    if fourth * fifth != 3 {
        return Err(wrap(format!("an image of {} volumes", fourth * fifth)));
    }
    let grid = fsl::scaled_grid(reader.grid());
    let mut found = vec![[0.0; 3]; grid.len()];
    for axis in 0..3 {
        let component = reader.next_volume()?.voxels;
        found.iter_mut().zip(component).for_each(|(vector, value)| vector[axis] = value);
    }
    if vectors.unwrap_or_else(|| kind_of(&grid, &found)) == Vectors::Absolute {
        add_places(&grid, &mut found, -1.0);
    }
    Ok(DisplacementField { grid, vectors: found })
}

/// Writes a warp on `grid`. `field` has displacements in FSL's coordinates of `grid`, mm.
///
/// # Errors
/// A file that cannot be written.
pub fn write_warp<'a>(
    to: impl Into<Target<'a>>,
    grid: &Grid,
    field: &DisplacementField,
    vectors: Vectors,
) -> Result<(), Error> {
    let mut written = field.vectors.clone();
    if vectors == Vectors::Absolute {
        add_places(&field.grid, &mut written, 1.0);
    }
    let file = PlanesFile { grid, count: 3, planes: Planes::Displacements, stored: Stored::Float32 };
    file.write(to, |axis| {
        Ok(Volume { grid: grid.clone(), voxels: written.iter().map(|vector| vector[axis]).collect() })
    })
}

/// Adds the positions of the voxels, multiplied by a factor.
fn add_places(grid: &Grid, vectors: &mut [[f32; 3]], factor: f64) {
    let to_place = grid.voxel_to_world();
    let [nx, ny, _] = grid.shape;
    for (voxel, vector) in vectors.iter_mut().enumerate() {
        let index = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)].map(|n| n as f64);
        let place = to_place.apply(&Point3::from(index));
        *vector = std::array::from_fn(|axis| (f64::from(vector[axis]) + factor * place[axis]) as f32);
    }
}

/// What vectors are, by their mean growth from the first to the last voxel of each axis.
fn kind_of(grid: &Grid, vectors: &[[f32; 3]]) -> Vectors {
    let strides = [1, grid.shape[0], grid.shape[0] * grid.shape[1]];
    let (mut sum, mut count) = (0.0, 0.0);
    for axis in (0..3).filter(|axis| grid.shape[*axis] > 1) {
        let last = grid.shape[axis] - 1;
        let length = grid.direction.column(axis) * (last as f64 * grid.spacing[axis]);
        for first in (0..vectors.len()).filter(|voxel| (voxel / strides[axis]).is_multiple_of(grid.shape[axis])) {
            let [first, last] =
                [first, first + last * strides[axis]].map(|voxel| Vector3::from(vectors[voxel].map(f64::from)));
            sum += (last - first).dot(&length) / length.norm_squared();
            count += 1.0;
        }
    }
    if sum > 0.5 * count { Vectors::Absolute } else { Vectors::Relative }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A warp on a grid whose first axis FSL counts from the other end, with displacements that grow by 0.2 along it.
    fn warp() -> (Grid, DisplacementField) {
        let mut grid = Grid::axis_aligned([5, 4, 3], [2.0, 1.0, 3.0]);
        grid.origin = [10.0, -3.0, 1.0].into();
        let scaled = fsl::scaled_grid(&grid);
        let vectors = (0..60).map(|voxel| [0.4 * (voxel % 5) as f32, 1.5, -0.5]).collect();
        (grid, DisplacementField { grid: scaled, vectors })
    }

    #[test]
    fn both_kinds_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("warp.nii");
        let (grid, field) = warp();
        for kind in [Vectors::Relative, Vectors::Absolute] {
            write_warp(&path, &grid, &field, kind).unwrap();
            for given in [None, Some(kind)] {
                let found = read_warp(&path, given).unwrap();
                assert_eq!(found.grid, field.grid);
                let apart =
                    found.vectors.iter().flatten().zip(field.vectors.iter().flatten()).map(|(a, b)| (a - b).abs());
                assert!(apart.fold(0.0, f32::max) < 1e-6, "{kind:?}");
            }
        }
    }

    #[test]
    fn the_scaled_grid_has_fsl_s_coordinates() {
        let (grid, field) = warp();
        let index = Point3::new(1.0, 2.0, 1.0);
        let scaled = fsl::scaled(&grid.voxel_to_world().apply(&index), &grid).unwrap();
        assert!((field.grid.voxel_to_world().apply(&index) - scaled).norm() < 1e-12);
        assert!((scaled - Point3::new(6.0, 2.0, 3.0)).norm() < 1e-12);
    }

    #[test]
    fn other_images_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image.nii");
        let (grid, _) = warp();
        let file = PlanesFile { grid: &grid, count: 2, planes: Planes::Displacements, stored: Stored::Float32 };
        file.write(&path, |_| Ok::<_, Error>(Volume { grid: grid.clone(), voxels: vec![0.0; 60] })).unwrap();
        assert!(read_warp(&path, None).unwrap_err().to_string().contains("2 volumes"));
    }
}
