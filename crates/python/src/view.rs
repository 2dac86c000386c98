//! Numpy arrays that share the memory of Rust objects, without a copy.
#![expect(unsafe_code, reason = "numpy arrays get a pointer to memory that belongs to a Rust object")]

use antsreg_core::{Grid, LabelVolume, Volume};
use ndarray::{ArrayView, Dimension, ShapeBuilder};
use numpy::{Element, PyArray, PyArrayMethods};
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;

use crate::error::{Class, Failure};

/// Makes a read-only numpy array of memory that belongs to `owner`. The array keeps the owner alive.
///
/// `lend` must return memory of the owner that lives as long as the owner and never changes.
fn lent<'py, O, T, D>(
    owner: &Bound<'py, O>,
    lend: impl FnOnce(&O) -> Option<ArrayView<'_, T, D>>,
) -> Result<Bound<'py, PyAny>, Failure>
where
    O: PyClass<Frozen = True> + Sync,
    T: Element,
    D: Dimension,
{
    let view = lend(owner.get())
        .ok_or_else(|| Failure::own(Class::Input, "an array has another number of voxels than its grid"))?;
    // SAFETY: the view points to memory of `owner`. The owner is a frozen object, so nothing moves or changes its
    // memory while it lives, and the array keeps the owner alive.
    let array: Bound<'py, PyArray<T, D>> = unsafe { PyArray::borrow_from_array(&view, owner.clone().into_any()) };
    let array = array.try_readwrite().map_err(|error| Failure::Python(error.into()))?.make_nonwriteable();
    Ok(array.as_any().clone())
}

/// A read-only numpy array of the voxels of a volume: X×Y×Z, or X×Y for a slice.
pub fn voxels<'py, O>(
    owner: &Bound<'py, O>,
    planar: bool,
    of: impl FnOnce(&O) -> Option<&Volume>,
) -> Result<Bound<'py, PyAny>, Failure>
where
    O: PyClass<Frozen = True> + Sync,
{
    scalars(owner, planar, |owner| of(owner).map(|volume| (&volume.grid, volume.voxels.as_slice())))
}

/// A read-only numpy array of the labels of a label map: X×Y×Z, or X×Y for a slice.
pub fn labels<'py, O>(
    owner: &Bound<'py, O>,
    planar: bool,
    of: impl FnOnce(&O) -> &LabelVolume,
) -> Result<Bound<'py, PyAny>, Failure>
where
    O: PyClass<Frozen = True> + Sync,
{
    scalars(owner, planar, |owner| {
        let labels = of(owner);
        Some((&labels.grid, labels.voxels.as_slice()))
    })
}

fn scalars<'py, O, T>(
    owner: &Bound<'py, O>,
    planar: bool,
    of: impl FnOnce(&O) -> Option<(&Grid, &[T])>,
) -> Result<Bound<'py, PyAny>, Failure>
where
    O: PyClass<Frozen = True> + Sync,
    T: Element,
{
    lent(owner, |owner| {
        let (grid, values) = of(owner)?;
        let shape = if planar { grid.shape[..2].to_vec() } else { grid.shape.to_vec() };
        ArrayView::from_shape(ndarray::IxDyn(&shape).f(), values).ok()
    })
}

/// A read-only numpy array of the vectors of a displacement field: X×Y×Z×3.
pub fn vectors<'py, O>(
    owner: &Bound<'py, O>,
    of: impl FnOnce(&O) -> Option<(&Grid, &[[f32; 3]])>,
) -> Result<Bound<'py, PyAny>, Failure>
where
    O: PyClass<Frozen = True> + Sync,
{
    lent(owner, |owner| {
        let (grid, vectors) = of(owner)?;
        let [x, y, z] = grid.shape;
        // The memory layout of a displacement field: the three components of a voxel are adjacent, and voxels along the
        // first axis follow each other.
        ArrayView::from_shape((x, y, z, 3).strides((3, 3 * x, 3 * x * y, 1)), vectors.as_flattened()).ok()
    })
}
