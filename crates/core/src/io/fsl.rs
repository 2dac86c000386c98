//! FSL's (FLIRT's) matrices: text, 4×4, from moving to fixed, in "scaled millimetres".
//!
//! FSL's coordinates of a volume are voxel index × voxel size. If the voxel-to-world map has a positive determinant,
//! the first index is counted from the other end, so that the coordinates are always left-handed. A matrix has a
//! meaning only together with the two grids.

use std::fmt::Write;
use std::path::Path;

use nalgebra::{Matrix3, Matrix4, Point3, Vector3};

use super::replace::replace;
use super::{Error, ErrorKind, small};
use crate::{AffineTransform, Grid};

/// Largest size of a matrix file, bytes. A matrix takes a few hundred bytes.
const LARGEST: u64 = 1 << 16;
/// Largest accepted difference of a number in the last row from 0 0 0 1. Programs that invert the whole matrix write
/// rounding errors there.
const ROUNDING: f64 = 1e-6;
/// Name of the expected format, for error messages.
const EXPECTED: &str = "an FSL matrix (text)";

/// Reads an FSL matrix and converts it to the affine map fixed → moving, RAS mm.
///
/// # Errors
/// The file is not a regular file, is not text, is longer than 64 KiB, or does not hold 16 finite numbers whose last
/// four are 0 0 0 1 within 1e-6; the matrix is singular.
pub fn read_matrix(path: &Path, fixed: &Grid, moving: &Grid) -> Result<AffineTransform, Error> {
    let matrix = read_numbers(path)?;
    to_world(&matrix, fixed, moving).ok_or_else(|| Error::new(path, ErrorKind::Singular))
}

/// Reads the numbers of an FSL matrix and returns them unchanged, but with an exact last row 0 0 0 1.
///
/// # Errors
/// Those of [`read_matrix`], except that a singular matrix is allowed.
pub fn read_numbers(path: &Path) -> Result<Matrix4<f64>, Error> {
    let wrap = |kind| Error::new(path, kind);
    let (bytes, whole) = small::read_start(path, LARGEST)?;
    let found = || ErrorKind::Format { expected: EXPECTED, found: small::describe(&bytes) };
    let matrix = parse(small::text_of(&bytes).ok_or_else(|| wrap(found()))?).map_err(wrap)?;
    if !whole {
        return Err(wrap(ErrorKind::TooLong { what: "a matrix", most: LARGEST }));
    }
    Ok(matrix)
}

/// Writes the affine map fixed → moving (RAS mm) as FSL's matrix moving → fixed.
pub fn write_matrix(path: &Path, affine: &AffineTransform, fixed: &Grid, moving: &Grid) -> Result<(), Error> {
    let matrix = from_world(affine, fixed, moving).ok_or_else(|| Error::new(path, ErrorKind::Singular))?;
    write_numbers(path, &matrix)
}

/// Writes the numbers of an affine FSL matrix unchanged.
///
/// # Errors
/// A number that is NaN or infinite; a file that cannot be written.
pub fn write_numbers(path: &Path, matrix: &Matrix4<f64>) -> Result<(), Error> {
    if let Some((index, value)) = matrix.transpose().iter().enumerate().find(|(_, number)| !number.is_finite()) {
        return Err(Error::new(path, ErrorKind::NotFiniteNumber { what: "matrix", index, value: *value }));
    }
    replace(path, |file| std::io::Write::write_all(file, text(matrix).as_bytes()))
}

/// The inverse of an affine matrix, whose last row is exactly 0 0 0 1; `None` if the matrix is singular, or if a number
/// of the inverse is infinite.
pub fn inverse(matrix: &Matrix4<f64>) -> Option<Matrix4<f64>> {
    let inverse = AffineTransform::from_homogeneous(matrix).inverse()?.to_homogeneous();
    inverse.iter().all(|number| number.is_finite()).then_some(inverse)
}

/// Formats a matrix as text, one line for each row.
pub fn text(matrix: &Matrix4<f64>) -> String {
    let mut text = String::new();
    for row in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|column| matrix[(row, column)]);
        // Formatting text into a string in memory cannot fail, so the result is not checked.
        let _ = writeln!(text, "{a}  {b}  {c}  {d}");
    }
    text
}

/// The grid of cubic voxels of `size_mm` that covers `reference`, as in `flirt -applyisoxfm`. The first voxels of
/// both grids coincide in FSL's coordinates; a remainder of less than a voxel at the far ends is left out.
pub fn isotropic(reference: &Grid, size_mm: f64) -> Grid {
    let shape = std::array::from_fn(|axis| {
        // Voxel sizes in headers are rounded. So if the computed number of voxels is less than 1e-4 below an integer,
        // the integer is taken.
        let count = reference.shape[axis] as f64 * reference.spacing[axis] / size_mm;
        ((count + 1e-4).floor() as usize).max(1)
    });
    let mut grid = Grid { shape, spacing: Vector3::repeat(size_mm), ..reference.clone() };
    // If FSL counts the first coordinate from the last voxel, the last voxels of both grids coincide.
    if reference.direction.determinant() > 0.0 {
        let reach = |grid: &Grid| (grid.shape[0] as f64 - 1.0) * grid.spacing.x;
        grid.origin += grid.direction.column(0) * (reach(reference) - reach(&grid));
    }
    grid
}

/// Converts FSL's `matrix`, which maps moving to fixed, to the affine map fixed → moving, RAS mm; `None` if the
/// matrix is singular.
pub fn to_world(matrix: &Matrix4<f64>, fixed: &Grid, moving: &Grid) -> Option<AffineTransform> {
    let fixed_to_moving = AffineTransform::from_homogeneous(matrix).inverse()?;
    let scaled_to_world = moving.voxel_to_world().after(&voxel_to_scaled(moving).inverse()?);
    Some(
        scaled_to_world
            .after(&fixed_to_moving)
            .after(&voxel_to_scaled(fixed))
            .after(&fixed.voxel_to_world().inverse()?),
    )
}

/// Converts the affine map fixed → moving (RAS mm) to FSL's matrix, which maps moving to fixed; `None` if the map is
/// singular.
pub fn from_world(affine: &AffineTransform, fixed: &Grid, moving: &Grid) -> Option<Matrix4<f64>> {
    // `Grid::world_to_voxel` is not used here, because it leaves out the third axis of slices, which FSL's matrices
    // include.
    let world_to_scaled = world_to_scaled(fixed)?;
    let moving_to_world = moving.voxel_to_world().after(&voxel_to_scaled(moving).inverse()?);
    Some(world_to_scaled.after(&affine.inverse()?).after(&moving_to_world).to_homogeneous())
}

/// FSL's coordinates (scaled mm) of a point in RAS mm; `None` if the grid's axes lie in one plane.
pub fn scaled(point: &Point3<f64>, grid: &Grid) -> Option<Point3<f64>> {
    Some(voxel_to_scaled(grid).apply(&grid.voxel_to_world().inverse()?.apply(point)))
}

/// The grid with the same voxels as `grid`, whose world is FSL's coordinates of `grid` (scaled mm).
pub fn scaled_grid(grid: &Grid) -> Grid {
    let AffineTransform { matrix, translation } = voxel_to_scaled(grid);
    let direction = Matrix3::from_fn(|row, column| matrix[(row, column)] / grid.spacing[column]);
    Grid { origin: translation.into(), direction, ..grid.clone() }
}

/// The map from the world (RAS mm) to FSL's coordinates (scaled mm) of a grid; `None` if the grid's axes lie in one
/// plane.
pub fn world_to_scaled(grid: &Grid) -> Option<AffineTransform> {
    Some(voxel_to_scaled(grid).after(&grid.voxel_to_world().inverse()?))
}

/// The map from voxel indices to FSL's scaled mm.
fn voxel_to_scaled(grid: &Grid) -> AffineTransform {
    let mut scaled = AffineTransform { matrix: Matrix3::from_diagonal(&grid.spacing), translation: Vector3::zeros() };
    if grid.direction.determinant() > 0.0 {
        scaled.matrix[(0, 0)] = -grid.spacing.x;
        scaled.translation.x = grid.spacing.x * (grid.shape[0] as f64 - 1.0);
    }
    scaled
}

fn parse(text: &str) -> Result<Matrix4<f64>, ErrorKind> {
    let mut numbers = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for word in line.split_whitespace() {
            let syntax = |_| ErrorKind::Syntax { line: index + 1, expected: "a number", found: word.into() };
            numbers.push(word.parse::<f64>().map_err(syntax)?);
        }
    }
    let what = "matrix";
    if numbers.len() != 16 {
        return Err(ErrorKind::Count { what, expected: 16, found: numbers.len() });
    }
    if let Some(index) = numbers.iter().position(|number| !number.is_finite()) {
        return Err(ErrorKind::NotFiniteNumber { what, index, value: numbers[index] });
    }
    let last_row = [numbers[12], numbers[13], numbers[14], numbers[15]];
    const AFFINE: [f64; 4] = [0.0, 0.0, 0.0, 1.0];
    if last_row.iter().zip(AFFINE).any(|(found, expected)| (found - expected).abs() > ROUNDING) {
        return Err(ErrorKind::LastRow(last_row));
    }
    numbers[12..].copy_from_slice(&AFFINE);
    Ok(Matrix4::from_row_slice(&numbers))
}
