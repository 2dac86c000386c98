//! Lends memory of this library to numpy without a copy.
#![expect(unsafe_code, reason = "numpy takes a pointer to memory that it does not own")]

use antsreg_core::{Grid, LabelVolume, Volume};
use ndarray::{ArrayView, Dimension, ShapeBuilder};
use numpy::{Element, PyArray, PyArrayMethods};
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;

use crate::error::{Class, Failure};

/// Makes a read-only numpy array of memory that belongs to a frozen object. The array keeps the object alive.
///
/// `lend` must give the object's own memory, which lives as long as the object and never changes.
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
        .ok_or_else(|| Failure::own(Class::Input, "there are not as many voxels as the grid has"))?;
    // SAFETY: the view is of memory that belongs to `owner`, a frozen object: nothing moves or changes it while the object
    // lives, and the array holds the object.
    let array: Bound<'py, PyArray<T, D>> = unsafe { PyArray::borrow_from_array(&view, owner.clone().into_any()) };
    let array = array.try_readwrite().map_err(|error| Failure::Python(error.into()))?.make_nonwriteable();
    Ok(array.as_any().clone())
}

/// The voxels of a volume as an array, X×Y×Z; X×Y for a slice.
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

/// The labels of a label map as an array, X×Y×Z; X×Y for a slice.
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

/// The vectors of a field as an array, X×Y×Z×3.
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
        // The components of a voxel are adjacent in memory, then the voxels of a row.
        ArrayView::from_shape((x, y, z, 3).strides((3, 3 * x, 3 * x * y, 1)), vectors.as_flattened()).ok()
    })
}
