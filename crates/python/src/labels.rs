//! Label maps for Python: read from files, or copied from arrays.

use std::path::PathBuf;

use antsreg_core::LabelVolume;
use antsreg_core::io::nifti;
use antsreg_study::inputs;
use numpy::PyReadonlyArrayDyn;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::image::first_axis_fastest;
use crate::process;
use crate::space::{Matrix, Space, matrix};
use crate::view;

/// A label map in main memory; label 0 is background.
#[pyclass(frozen, module = "antsreg_gpu._native")]
#[derive(Debug)]
pub struct Labels {
    /// The label map: the label of each voxel, and the grid that gives the positions of the voxels.
    pub labels: LabelVolume,
    /// The name of the label map in messages.
    pub name: PathBuf,
    /// Whether Python sees the label map as a two-dimensional array.
    pub planar: bool,
}

#[pymethods]
impl Labels {
    /// Reads a label map from a file.
    #[staticmethod]
    fn read(py: Python, path: PathBuf) -> Result<Labels, Failure> {
        process::compute(py, || Ok(Labels { labels: inputs::labels(&path)?, planar: false, name: path }))
    }

    /// Copies a numpy array (X×Y×Z, or X×Y for a slice) to a label map. `affine` is its voxel-to-world matrix (4×4, RAS
    /// mm).
    #[staticmethod]
    fn copy(py: Python, array: PyReadonlyArrayDyn<i32>, affine: Matrix, name: PathBuf) -> Result<Labels, Failure> {
        let Space { grid, name, planar } = Space::new(array.as_array().shape().to_vec(), affine, name)?;
        let view = array.as_array();
        process::compute(py, || {
            Ok(Labels { labels: LabelVolume { grid, voxels: first_axis_fastest(view) }, name, planar })
        })
    }

    /// Writes the label map to a file, as the command does: in the smallest integer type that holds all labels. The end
    /// of the name says the format.
    fn write(&self, py: Python, path: PathBuf) -> Result<(), Failure> {
        process::compute(py, || Ok(nifti::write_labels(path.as_path(), &self.labels)?))
    }

    /// The labels as a numpy array, X×Y×Z or X×Y for a slice. The array is read-only and shares the label map's memory.
    #[getter]
    fn array<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>, Failure> {
        view::labels(slf, slf.get().planar, |map| &map.labels)
    }

    /// The map from voxel indices to the world, 4×4, RAS mm.
    #[getter]
    fn affine(&self) -> Matrix {
        matrix(&self.labels.grid.voxel_to_world())
    }
}
