//! Images of Python: read from files, or copied from arrays.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use antsreg_core::Volume;
use antsreg_core::io::{ErrorKind, nifti};
use antsreg_register as registering;
use antsreg_study::inputs;
use antsreg_study::pair::Named;
use ndarray::{ArrayViewD, Axis};
use numpy::PyReadonlyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rayon::prelude::*;

use crate::dlpack;
use crate::error::{Failure, refused};
use crate::process;
use crate::space::{Matrix, Space, matrix};
use crate::view;

/// An image in main memory or on a device: voxels in single precision, where they lie, and what messages call it.
#[pyclass(frozen, module = "antsreg_gpu._native")]
#[derive(Debug, Clone)]
pub struct Image {
    /// The voxels and their grid.
    pub image: registering::Image,
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
            let image = inputs::any_image(&path)?.into();
            Ok(Image { image, warning: inputs::odd_header(&path), planar: false, name: path })
        })
    }

    /// Copies an array on a GPU, given by a capsule of DLPack: its axes reversed (Z×Y×X), the numbers adjacent, in single
    /// precision, ready for the legacy default stream. The voxels stay on that GPU.
    #[staticmethod]
    fn of_dlpack(py: Python, capsule: &Bound<PyCapsule>, affine: Matrix, name: PathBuf) -> Result<Image, Failure> {
        dlpack::image(py, capsule, affine, name)
    }

    /// Copies an array (X×Y×Z, or X×Y of a slice) with its voxel-to-world matrix (4×4, RAS mm).
    #[staticmethod]
    fn copy(py: Python, array: PyReadonlyArrayDyn<f32>, affine: Matrix, name: PathBuf) -> Result<Image, Failure> {
        let Space { grid, name, planar } = Space::new(array.as_array().shape().to_vec(), affine, name)?;
        let view = array.as_array();
        process::compute(py, || {
            let voxels = first_axis_fastest(view);
            let volume = Volume { grid, voxels };
            check_finite(&volume, &name)?;
            Ok(Image { image: volume.into(), name, planar, warning: None })
        })
    }

    /// As `copy`, of a volume of a series: its voxels may be NaN or infinite.
    #[staticmethod]
    fn copy_volume(
        py: Python,
        array: PyReadonlyArrayDyn<f32>,
        affine: Matrix,
        name: PathBuf,
    ) -> Result<Image, Failure> {
        let Space { grid, name, planar } = Space::new(array.as_array().shape().to_vec(), affine, name)?;
        let view = array.as_array();
        process::compute(py, || {
            let volume = Volume { grid, voxels: first_axis_fastest(view) };
            Ok(Image { image: volume.into(), name, planar, warning: None })
        })
    }

    /// Writes the image, `.nii` or `.nii.gz`.
    fn write(&self, py: Python, path: PathBuf) -> Result<(), Failure> {
        process::compute(py, || Ok(nifti::write_volume(path.as_path(), self.volume()?)?))
    }

    /// The voxels, X×Y×Z or X×Y, read-only and not copied.
    #[getter]
    fn array<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>, Failure> {
        slf.get().volume()?;
        view::voxels(slf, slf.get().planar, |image| image.image.in_main_memory().map(Arc::as_ref))
    }

    /// From voxel indices to the world, 4×4, RAS mm.
    #[getter]
    fn affine(&self) -> Matrix {
        matrix(&self.image.grid().voxel_to_world())
    }

    /// Where the voxels lie.
    #[getter]
    fn space(&self) -> Space {
        Space { grid: self.image.grid().clone(), name: self.name.clone(), planar: self.planar }
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
        Image { image: volume.into(), name: name.into(), planar, warning: None }
    }

    /// An image on a device.
    pub fn on_device(image: registering::Image, name: PathBuf, planar: bool) -> Image {
        Image { image, name, planar, warning: None }
    }

    /// The image under its name.
    pub fn named(&self) -> Named {
        Named { name: self.name.clone(), image: self.image.clone() }
    }

    /// The image in main memory.
    ///
    /// # Errors
    /// A device that holds the image and fails.
    pub fn volume(&self) -> Result<&Volume, Failure> {
        Ok(self.image.volume()?)
    }
}

/// Refuses voxels that are no finite numbers.
fn check_finite(volume: &Volume, name: &Path) -> Result<(), Failure> {
    let voxels = &volume.voxels;
    let Some(first) = voxels.par_iter().position_first(|value| !value.is_finite()) else { return Ok(()) };
    let count = voxels.iter().filter(|value| !value.is_finite()).count();
    let [nx, ny, _] = volume.grid.shape;
    let first = [first % nx, first / nx % ny, first / nx / ny];
    Err(refused(name, ErrorKind::NotFinite { count, first }))
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
