//! The grid of an image, for Python.

use std::path::{Path, PathBuf};

use antsreg_core::io::ErrorKind;
use antsreg_core::{AffineTransform, Grid};
use antsreg_study::{geometry, inputs};
use nalgebra::Matrix4;
use pyo3::prelude::*;

use crate::error::{Class, Failure, refused};
use crate::process;

/// A 4×4 matrix, row by row, as exchanged with Python.
pub type Matrix = [[f64; 4]; 4];

/// The grid of an image, RAS mm, with the name of the image in messages.
#[pyclass(frozen, module = "antsreg_gpu._native")]
#[derive(Debug, Clone)]
pub struct Space {
    /// The grid of the image.
    pub grid: Grid,
    /// The name of the image in messages.
    pub name: PathBuf,
    /// Whether arrays on this grid have two axes.
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
                let text = format!("{}: {found} axes, expected 3, or 2 of a slice", name.display());
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

    /// Voxels along each axis.
    #[getter]
    fn shape(&self) -> Vec<usize> {
        if self.planar { self.grid.shape[..2].to_vec() } else { self.grid.shape.to_vec() }
    }

    /// The map from voxel indices to the world, 4×4, RAS mm.
    #[getter]
    fn affine(&self) -> Matrix {
        matrix(&self.grid.voxel_to_world())
    }

    /// The grid described as text.
    fn describe(&self) -> String {
        geometry::describe(&self.grid)
    }
}

/// Converts an affine to a matrix for Python.
pub fn matrix(affine: &AffineTransform) -> Matrix {
    let homogeneous = affine.to_homogeneous();
    std::array::from_fn(|row| std::array::from_fn(|column| homogeneous[(row, column)]))
}

/// Converts a matrix of Python to an affine.
///
/// # Errors
/// Numbers that are not finite; a last row other than 0, 0, 0, 1.
pub fn affine_of(matrix: &Matrix, name: &Path) -> Result<AffineTransform, Failure> {
    let refuse = |what: &str| Err(Failure::own(Class::Input, format!("{}: {what}", name.display())));
    if matrix.iter().flatten().any(|value| !value.is_finite()) {
        return refuse("the matrix holds a number that is not finite");
    }
    if matrix[3] != [0.0, 0.0, 0.0, 1.0] {
        return refuse("the last row of the matrix is not 0, 0, 0, 1");
    }
    Ok(AffineTransform::from_homogeneous(&Matrix4::from_fn(|row, column| matrix[row][column])))
}
