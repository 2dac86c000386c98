//! DLPack, the protocol for arrays on a GPU that PyTorch, CuPy and JAX share
//! (<https://dmlc.github.io/dlpack/latest/python_spec.html>): reads arrays of other libraries and lends results to
//! them.
#![expect(unsafe_code, reason = "the protocol passes pointers to structures of C")]

use std::ffi::{CStr, c_void};
use std::path::PathBuf;
use std::ptr::NonNull;

use antsreg_kernels::{Lent, Place};
use antsreg_register as registering;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::devices::Lease;
use crate::error::{Class, Failure};
use crate::image::Image;
use crate::process;
use crate::space::{Matrix, Space};

/// The name of a capsule whose array has not been taken.
const FRESH: &CStr = c"dltensor";
/// The device types `kDLCPU` and `kDLCUDA`.
const DEVICES: [i32; 2] = [1, 2];
/// The data type of single-precision numbers.
const FLOAT: DataType = DataType { code: 2, bits: 32, lanes: 1 };

/// The structure `DLDevice`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Device {
    kind: i32,
    number: i32,
}

/// The structure `DLDataType`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// The structure `DLTensor`.
#[repr(C)]
#[derive(Debug)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    axes: i32,
    kind: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// The structure `DLManagedTensor`.
#[repr(C)]
#[derive(Debug)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// The description of an array on a GPU.
struct Described {
    number: usize,
    address: u64,
    shape: Vec<usize>,
}

/// Copies an array on a GPU to an image: Z×Y×X (or Y×X for a slice) of adjacent numbers in single precision, with its
/// voxel-to-world matrix (4×4, RAS mm). The array is given as a capsule that is ready for the legacy default stream.
/// The owner keeps the array.
pub fn image(py: Python, capsule: &Bound<PyCapsule>, affine: Matrix, name: PathBuf) -> Result<Image, Failure> {
    let Described { number, address, mut shape } = described(capsule, &name)?;
    shape.reverse();
    let Space { grid, name, planar } = Space::new(shape, affine, name)?;
    process::compute(py, || {
        let lease = Lease::of_gpu(number)?;
        let Some(cuda) = lease.device.cuda() else {
            return Err(Failure::own(Class::Device, format!("{}: there is no GPU {number}", name.display())));
        };
        // SAFETY: the capsule describes memory with as many numbers, and is held until this returns. The legacy default stream
        // waits for work that still writes there.
        let voxels = unsafe { cuda.image_at(grid.shape, address) }.map_err(registering::Error::from)?;
        match registering::Image::of_cuda(cuda, grid, voxels) {
            Ok(image) => Ok(Image::on_device(image, name, planar)),
            Err(registering::Error::NotFinite { count }) => {
                let text = format!("{}: {count} voxels are not finite; expected numbers everywhere", name.display());
                Err(Failure::own(Class::Input, text))
            }
            Err(error) => Err(error.into()),
        }
    })
}

/// Reads the structure in a capsule.
fn described(capsule: &Bound<PyCapsule>, name: &std::path::Path) -> Result<Described, Failure> {
    let refuse = |what: String| Failure::own(Class::Input, format!("{}: {what}", name.display()));
    let pointer = capsule.pointer_checked(Some(FRESH)).map_err(Failure::Python)?;
    // SAFETY: a capsule of this name points to this structure, which lives as long as the capsule.
    let tensor = unsafe { &pointer.cast::<Managed>().as_ref().tensor };
    let axes = usize::try_from(tensor.axes).unwrap_or_default();
    let Device { kind, number } = tensor.device;
    if kind != DEVICES[1] || tensor.kind != FLOAT || !(2..=3).contains(&axes) {
        let DataType { code, bits, lanes } = tensor.kind;
        return Err(refuse(format!(
            "an array of {axes} axes, type {code}/{bits}/{lanes}, on a device of kind {kind}; expected 2 or 3 axes of single \
             precision on a GPU of NVIDIA"
        )));
    }
    // SAFETY: as many numbers as there are axes; no strides mean that the last axis is the fastest.
    let shape = unsafe { std::slice::from_raw_parts(tensor.shape, axes) };
    // SAFETY: strides that are not null are as many numbers as there are axes.
    let strides =
        NonNull::new(tensor.strides).map(|strides| unsafe { std::slice::from_raw_parts(strides.as_ptr(), axes) });
    let mut expected = 1;
    for axis in (0..axes).rev() {
        if strides.is_some_and(|strides| shape[axis] != 1 && strides[axis] != expected) {
            return Err(refuse("the numbers are not adjacent, the last axis fastest".into()));
        }
        expected *= shape[axis];
    }
    let unsigned = |n: i64| usize::try_from(n).unwrap_or_default();
    Ok(Described {
        number: usize::try_from(number).unwrap_or_default(),
        address: tensor.data as u64 + tensor.byte_offset,
        shape: shape.iter().map(|n| unsigned(*n)).collect(),
    })
}

/// A result in the memory of the device that computed it, for `from_dlpack` of PyTorch, CuPy, JAX or numpy.
#[pyclass(frozen, module = "antsreg_gpu._native")]
pub struct DeviceArray(Lent);

impl DeviceArray {
    /// Makes the array; for a slice, without the axes of one element.
    pub fn new(lent: Lent, planar: bool) -> DeviceArray {
        DeviceArray(if planar { lent.planar() } else { lent })
    }

    fn device(&self) -> Device {
        match self.0.place() {
            Place::Main => Device { kind: DEVICES[0], number: 0 },
            Place::Cuda(number) => Device { kind: DEVICES[1], number: number as i32 },
        }
    }
}

#[pymethods]
impl DeviceArray {
    /// Elements along each axis.
    #[getter]
    fn shape(&self) -> Vec<usize> {
        self.0.shape().to_vec()
    }

    /// Type of the device's memory (1 main memory, 2 CUDA), and number of the device.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let Device { kind, number } = self.device();
        (kind, number)
    }

    /// Returns the array as a capsule. The array is complete, so that no stream needs to wait for it.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<Bound<'py, PyAny>>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = (stream, max_version);
        if dl_device.is_some_and(|wanted| wanted != self.__dlpack_device__()) || copy == Some(true) {
            return Err(PyBufferError::new_err("the array is lent where it is, and not copied"));
        }
        let export = NonNull::from(Box::leak(Box::new(Export::of(self.0.clone(), self.device()))));
        // SAFETY: the export begins with the structure. It lives until its deleter is called, by the library that takes it
        // from the capsule, or by the destructor of the capsule.
        unsafe { PyCapsule::new_with_pointer_and_destructor(py, export.cast(), FRESH, Some(destroy)) }
    }

    fn __repr__(&self) -> String {
        format!("DeviceArray(shape={:?}, on {:?})", self.0.shape(), self.0.place())
    }
}

/// The structure that is passed to the other library, with the memory that it points to.
#[repr(C)]
struct Export {
    managed: Managed,
    shape: Box<[i64]>,
    strides: Box<[i64]>,
    _lent: Lent,
}

impl Export {
    fn of(lent: Lent, device: Device) -> Export {
        let numbers = |list: &[usize]| list.iter().map(|n| *n as i64).collect::<Box<[i64]>>();
        let (mut shape, mut strides) = (numbers(lent.shape()), numbers(lent.strides()));
        let tensor = Tensor {
            data: std::ptr::with_exposed_provenance_mut(lent.address()),
            device,
            axes: shape.len() as i32,
            kind: FLOAT,
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        };
        let managed = Managed { tensor, context: std::ptr::null_mut(), deleter: Some(delete) };
        Export { managed, shape, strides, _lent: lent }
    }
}

/// Releases an export.
///
/// # Safety
/// `managed` came from [`DeviceArray::__dlpack__`], and nothing uses it any more.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: the caller's promise; the structure is the first of the export.
    drop(unsafe { Box::from_raw(managed.cast::<Export>()) });
}

/// Releases the export of a capsule whose array was not taken.
///
/// # Safety
/// Called by Python when the capsule ends.
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: the capsule is alive. A library that takes the array gives the capsule another name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, FRESH.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, FRESH.as_ptr()).cast());
        }
    }
}
