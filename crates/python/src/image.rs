//! Images for Python: read from files, or copied from arrays.

use std::path::PathBuf;
use std::sync::Arc;

use antsreg_core::Volume;
use antsreg_core::io::nifti;
use antsreg_register as registering;
use antsreg_study::inputs;
use antsreg_study::pair::Named;
use ndarray::{ArrayViewD, Axis};
use numpy::PyReadonlyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rayon::prelude::*;

use crate::dlpack;
use crate::error::Failure;
use crate::process;
use crate::space::{Matrix, Space, matrix};
use crate::view;

/// An image in main memory or in GPU memory: voxels in single precision, their grid, and a name for messages.
#[pyclass(frozen, module = "antsreg_gpu._native")]
#[derive(Debug, Clone)]
pub struct Image {
    /// The image: the values of its voxels, and the grid that gives the positions of the voxels.
    pub image: registering::Image,
    /// The name of the image in messages: the path of its file, or the name of an argument.
    pub name: PathBuf,
    /// Whether Python sees the image as a two-dimensional array.
    pub planar: bool,
    /// A warning about the header of the image's file.
    warning: Option<String>,
    /// Whether the image may be a label map or a mask.
    accepts_labels: bool,
}

#[pymethods]
impl Image {
    /// Reads an image from a file. An image whose voxels are all equal is accepted.
    #[staticmethod]
    fn read(py: Python, path: PathBuf) -> Result<Image, Failure> {
        process::compute(py, || {
            let image = inputs::any_image(&path)?.into();
            Ok(Image { image, warning: inputs::odd_header(&path), planar: false, name: path, accepts_labels: false })
        })
    }

    /// Copies an array on a GPU to an image on the same GPU. `capsule` is a DLPack capsule of an array with the axes
    /// Z×Y×X, in single precision and without gaps; work on CUDA's legacy default stream may already read the array.
    #[staticmethod]
    fn of_dlpack(py: Python, capsule: &Bound<PyCapsule>, affine: Matrix, name: PathBuf) -> Result<Image, Failure> {
        let (image, planar) = dlpack::image(py, capsule, affine, name.clone())?;
        Ok(Image { image, name, planar, warning: None, accepts_labels: false })
    }

    /// Copies a numpy array (X×Y×Z, or X×Y for a slice) to an image. `affine` is its voxel-to-world matrix (4×4, RAS
    /// mm). NaN and infinite voxels have no data and are 0.
    #[staticmethod]
    fn copy(py: Python, array: PyReadonlyArrayDyn<f32>, affine: Matrix, name: PathBuf) -> Result<Image, Failure> {
        let Space { grid, name, planar } = Space::new(array.as_array().shape().to_vec(), affine, name)?;
        let view = array.as_array();
        process::compute(py, || {
            let image = Volume { grid, voxels: first_axis_fastest(view) }.into();
            Ok(Image { image, name, planar, warning: None, accepts_labels: false })
        })
    }

    /// The same image, which may be a label map or a mask where an image is expected, with a warning if it is.
    fn accepting_labels(&self, py: Python) -> Result<(Image, Option<String>), Failure> {
        process::compute(py, || {
            let warning = inputs::labels_as_image(self.volume()?, &self.name);
            Ok((Image { accepts_labels: true, ..self.clone() }, warning))
        })
    }

    /// Writes the image to a file, as the command does. The end of the name says the format.
    fn write(&self, py: Python, path: PathBuf) -> Result<(), Failure> {
        process::compute(py, || Ok(nifti::write_volume(path.as_path(), self.volume()?)?))
    }

    /// The voxels as a numpy array, X×Y×Z or X×Y for a slice. The array is read-only and shares the image's memory.
    #[getter]
    fn array<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>, Failure> {
        slf.get().volume()?;
        view::voxels(slf, slf.get().planar, |image| image.image.in_main_memory().map(Arc::as_ref))
    }

    /// The map from voxel indices to the world, 4×4, RAS mm.
    #[getter]
    fn affine(&self) -> Matrix {
        matrix(&self.image.grid().voxel_to_world())
    }

    /// The grid of the image.
    #[getter]
    fn space(&self) -> Space {
        Space { grid: self.image.grid().clone(), name: self.name.clone(), planar: self.planar }
    }

    /// A warning about the header of the image's file; `None` if the header is unambiguous.
    #[getter]
    fn warning(&self) -> Option<String> {
        self.warning.clone()
    }
}

impl Image {
    /// Makes an image of voxels that were computed in main memory.
    pub fn made(volume: Volume, name: &str, planar: bool) -> Image {
        Image { image: volume.into(), name: name.into(), planar, warning: None, accepts_labels: false }
    }

    /// The image together with its name.
    pub fn named(&self) -> Named {
        Named { name: self.name.clone(), image: self.image.clone(), accepts_labels: self.accepts_labels }
    }

    /// The voxels in main memory, copied from the GPU if necessary.
    ///
    /// # Errors
    /// If the GPU that holds the image fails.
    pub fn volume(&self) -> Result<&Volume, Failure> {
        Ok(self.image.volume()?)
    }
}

/// Copies an array of two or three axes and any memory order, so that the first axis varies fastest.
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
