//! Image grids for Python: shape and voxel-to-world matrix.

use std::path::{Path, PathBuf};

use antsreg_core::io::ErrorKind;
use antsreg_core::{AffineTransform, Grid};
use antsreg_study::{geometry, inputs};
use nalgebra::Matrix4;
use pyo3::prelude::*;

use crate::error::{Class, Failure, refused};
use crate::process;

/// A 4×4 matrix, row by row, as Python passes and receives it.
pub type Matrix = [[f64; 4]; 4];

/// The grid of an image (world coordinates in RAS mm), with the name of the image in messages.
#[pyclass(frozen, module = "antsreg_gpu._native")]
#[derive(Debug, Clone)]
pub struct Space {
    /// The grid of the image.
    pub grid: Grid,
    /// The name of the image in messages.
    pub name: PathBuf,
    /// Whether the grid is that of a slice, so that Python sees arrays on this grid as two-dimensional.
    pub planar: bool,
}

#[pymethods]
impl Space {
    /// Makes a grid with this shape (X, Y, Z, or X, Y) and this voxel-to-world matrix (4×4, RAS mm).
    #[new]
    pub fn new(shape: Vec<usize>, affine: Matrix, name: PathBuf) -> Result<Space, Failure> {
        let (shape, planar) = match shape[..] {
            [x, y] => ([x, y, 1], true),
            [x, y, z] => ([x, y, z], false),
            _ => {
                let found = shape.len();
                let text =
                    format!("{}: expected an array of 3 axes (or 2 for a slice), found {found} axes", name.display());
                return Err(Failure::own(Class::Input, text));
            }
        };
        if shape[..2].contains(&1) {
            return Err(refused(&name, ErrorKind::Flat { shape }));
        }
        let map = affine_of(&affine, &name)?;
        let grid = Grid::from_voxel_to_world(shape, &map)
            .map_err(|error| Failure::own(Class::Input, format!("{}: {error}", name.display())))?;
        Ok(Space { grid, name, planar })
    }

    /// Reads the grid of an image from the header of its file.
    #[staticmethod]
    fn read(py: Python, path: PathBuf) -> Result<Space, Failure> {
        let grid = process::compute(py, || Ok(inputs::grid(&path)?))?;
        Ok(Space { planar: false, grid, name: path })
    }

    /// Number of voxels along each axis.
    #[getter]
    fn shape(&self) -> Vec<usize> {
        if self.planar { self.grid.shape[..2].to_vec() } else { self.grid.shape.to_vec() }
    }

    /// The map from voxel indices to the world, 4×4, RAS mm.
    #[getter]
    fn affine(&self) -> Matrix {
        matrix(&self.grid.voxel_to_world())
    }

    /// A description of the grid in words.
    fn describe(&self) -> String {
        geometry::describe(&self.grid)
    }
}

/// Converts an affine to a matrix for Python.
pub fn matrix(affine: &AffineTransform) -> Matrix {
    let homogeneous = affine.to_homogeneous();
    std::array::from_fn(|row| std::array::from_fn(|column| homogeneous[(row, column)]))
}

/// Converts a 4×4 matrix from Python to an affine. `name` is the name of the matrix in messages.
///
/// # Errors
/// If a number is not finite, or the last row is not 0, 0, 0, 1.
pub fn affine_of(matrix: &Matrix, name: &Path) -> Result<AffineTransform, Failure> {
    let refuse = |what: &str| Err(Failure::own(Class::Input, format!("{}: {what}", name.display())));
    if matrix.iter().flatten().any(|value| !value.is_finite()) {
        return refuse("the matrix contains NaN or an infinite number");
    }
    if matrix[3] != [0.0, 0.0, 0.0, 1.0] {
        return refuse("the last row of the matrix is not 0, 0, 0, 1");
    }
    Ok(AffineTransform::from_homogeneous(&Matrix4::from_fn(|row, column| matrix[row][column])))
}
