//! Images of Python: read from files, or copied from arrays.

use std::path::PathBuf;
use std::sync::Arc;

use antsreg_core::Volume;
use antsreg_core::io::{ErrorKind, nifti};
use antsreg_study::inputs;
use antsreg_study::pair::Named;
use ndarray::{ArrayViewD, Axis};
use numpy::PyReadonlyArrayDyn;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::error::{Failure, refused};
use crate::process;
use crate::space::{Matrix, Space, matrix};
use crate::view;

/// An image in memory: voxels in single precision, where they lie, and what messages call it.
#[pyclass(frozen, module = "antsreg_gpu._native")]
#[derive(Debug, Clone)]
pub struct Image {
    /// The voxels and their grid.
    pub volume: Arc<Volume>,
    /// What messages call it.
    pub name: PathBuf,
    /// Whether it came, and goes, as an array of two axes.
    pub planar: bool,
    /// A warning about its header.
    warning: Option<String>,
}

#[pymethods]
impl Image {
    /// Reads an image, with contrast or not.
    #[staticmethod]
    fn read(py: Python, path: PathBuf) -> Result<Image, Failure> {
        process::compute(py, || {
            let volume = Arc::new(inputs::any_image(&path)?);
            Ok(Image { volume, warning: inputs::odd_header(&path), planar: false, name: path })
        })
    }

    /// Copies an array (X×Y×Z, or X×Y of a slice) with its voxel-to-world matrix (4×4, RAS mm).
    #[staticmethod]
    fn copy(py: Python, array: PyReadonlyArrayDyn<f32>, affine: Matrix, name: PathBuf) -> Result<Image, Failure> {
        let Space { grid, name, planar } = Space::new(array.as_array().shape().to_vec(), affine, name)?;
        let view = array.as_array();
        process::compute(py, || {
            let voxels = first_axis_fastest(view);
            if let Some(first) = voxels.par_iter().position_first(|value| !value.is_finite()) {
                let count = voxels.iter().filter(|value| !value.is_finite()).count();
                let [nx, ny, _] = grid.shape;
                let first = [first % nx, first / nx % ny, first / nx / ny];
                return Err(refused(&name, ErrorKind::NotFinite { count, first }));
            }
            Ok(Image { volume: Arc::new(Volume { grid, voxels }), name, planar, warning: None })
        })
    }

    /// Writes the image, `.nii` or `.nii.gz`.
    fn write(&self, py: Python, path: PathBuf) -> Result<(), Failure> {
        process::compute(py, || Ok(nifti::write_volume(path.as_path(), &self.volume)?))
    }

    /// The voxels, X×Y×Z or X×Y, read-only and not copied.
    #[getter]
    fn array<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>, Failure> {
        view::voxels(slf, slf.get().planar, |image| Some(&image.volume))
    }

    /// From voxel indices to the world, 4×4, RAS mm.
    #[getter]
    fn affine(&self) -> Matrix {
        matrix(&self.volume.grid.voxel_to_world())
    }

    /// Where the voxels lie.
    #[getter]
    fn space(&self) -> Space {
        Space { grid: self.volume.grid.clone(), name: self.name.clone(), planar: self.planar }
    }

    /// A warning about the header of its file, if there is one.
    #[getter]
    fn warning(&self) -> Option<String> {
        self.warning.clone()
    }
}

impl Image {
    /// An image that was computed.
    pub fn made(volume: Volume, name: &str, planar: bool) -> Image {
        Image { volume: Arc::new(volume), name: name.into(), planar, warning: None }
    }

    /// The volume under its name.
    pub fn named(&self) -> Named {
        Named { name: self.name.clone(), volume: self.volume.clone() }
    }
}

/// The values of an array of two or three axes, whatever its strides, first axis fastest.
pub fn first_axis_fastest<T: Copy + Default + Send + Sync>(view: ArrayViewD<T>) -> Vec<T> {
    let turned = view.reversed_axes();
    if let Some(values) = turned.as_slice() {
        return values.to_vec();
    }
    let mut out = vec![T::default(); turned.len()];
    let slices = turned.len_of(Axis(0)).max(1);
    let length = (out.len() / slices).max(1);
    out.par_chunks_mut(length).enumerate().for_each(|(slice, out)| {
        let values = turned.index_axis(Axis(0), slice);
        out.iter_mut().zip(values.iter()).for_each(|(out, value)| *out = *value);
    });
    out
}
