//! DLPack, the protocol by which PyTorch, CuPy and JAX exchange arrays in GPU memory
//! (<https://dmlc.github.io/dlpack/latest/python_spec.html>). Reads arrays of other libraries, and gives them access to
//! results.
#![expect(unsafe_code, reason = "the DLPack protocol passes pointers to C structures")]

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
use crate::process;
use crate::space::{Matrix, Space};

/// Name of a DLPack capsule whose array no library has taken yet.
const FRESH: &CStr = c"dltensor";
/// DLPack's numbers for device types: `kDLCPU` (main memory) and `kDLCUDA` (GPU).
const DEVICES: [i32; 2] = [1, 2];
/// DLPack's description of the data type single-precision floating point.
const FLOAT: DataType = DataType { code: 2, bits: 32, lanes: 1 };

/// DLPack's C structure `DLDevice`: type and number of a device.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Device {
    kind: i32,
    number: i32,
}

/// DLPack's C structure `DLDataType`: the type of the numbers in an array.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// DLPack's C structure `DLTensor`: the address, device, shape and strides of an array.
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

/// DLPack's C structure `DLManagedTensor`: an array with the function that releases it.
#[repr(C)]
#[derive(Debug)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// An array on a GPU: number of the GPU, address in GPU memory, and shape in elements.
struct Described {
    number: usize,
    address: u64,
    shape: Vec<usize>,
}

/// Copies an array on a GPU to an image on the same GPU. `capsule` is a DLPack capsule of the array; work on CUDA's
/// legacy default stream may already read the array. The array has the axes Z×Y×X (or Y×X for a slice), in single
/// precision and without gaps. `affine` is the voxel-to-world matrix (4×4, RAS mm). The caller's library keeps the
/// array. Returns the image, and whether it is a slice.
pub fn image(
    py: Python,
    capsule: &Bound<PyCapsule>,
    affine: Matrix,
    name: PathBuf,
) -> Result<(registering::Image, bool), Failure> {
    let Described { number, address, mut shape } = described(capsule, &name)?;
    shape.reverse();
    let Space { grid, name, planar } = Space::new(shape, affine, name)?;
    process::compute(py, || {
        let lease = Lease::of_gpu(number)?;
        let Some(cuda) = lease.device.cuda() else {
            return Err(Failure::own(Class::Device, format!("{}: there is no GPU {number}", name.display())));
        };
        // SAFETY: the capsule describes an array on this GPU with one number for each voxel of `grid`, and the caller
        // holds the capsule until this function returns. Work that still writes the array is ordered before the copy by
        // the legacy default stream.
        let voxels = unsafe { cuda.image_at(grid.shape, address) }.map_err(registering::Error::from)?;
        Ok((registering::Image::of_cuda(cuda, grid, voxels)?, planar))
    })
}

/// Reads the description of an array from a DLPack capsule. Refuses arrays that are not in single precision, not
/// without gaps, or not on a GPU.
fn described(capsule: &Bound<PyCapsule>, name: &std::path::Path) -> Result<Described, Failure> {
    let refuse = |what: String| Failure::own(Class::Input, format!("{}: {what}", name.display()));
    let pointer = capsule.pointer_checked(Some(FRESH)).map_err(Failure::Python)?;
    // SAFETY: a capsule with the name `dltensor` holds a pointer to a `DLManagedTensor`, which lives as long as the
    // capsule.
    let tensor = unsafe { &pointer.cast::<Managed>().as_ref().tensor };
    let axes = usize::try_from(tensor.axes).unwrap_or_default();
    let Device { kind, number } = tensor.device;
    if kind != DEVICES[1] || tensor.kind != FLOAT || !(2..=3).contains(&axes) {
        let DataType { code, bits, lanes } = tensor.kind;
        return Err(refuse(format!(
            "found an array of {axes} axes with DLPack data type {code}/{bits}/{lanes} on DLPack device type {kind}; \
             expected 2 or 3 axes of single precision (2/32/1) on an NVIDIA GPU (2)"
        )));
    }
    // SAFETY: by the DLPack protocol, `shape` points to one number for each of the `axes` axes.
    let shape = unsafe { std::slice::from_raw_parts(tensor.shape, axes) };
    // SAFETY: by the DLPack protocol, `strides` is null (the array has no gaps and the last axis varies fastest) or
    // points to one number for each of the `axes` axes.
    let strides =
        NonNull::new(tensor.strides).map(|strides| unsafe { std::slice::from_raw_parts(strides.as_ptr(), axes) });
    let mut expected = 1;
    for axis in (0..axes).rev() {
        if strides.is_some_and(|strides| shape[axis] != 1 && strides[axis] != expected) {
            return Err(refuse(
                "expected a contiguous array whose last axis varies fastest, found other strides".into(),
            ));
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

/// A warp or image of a result in the memory of the device that computed it. PyTorch, CuPy, JAX and numpy read it by
/// `from_dlpack`.
#[pyclass(frozen, module = "antsreg_gpu._native")]
pub struct DeviceArray(Lent);

impl DeviceArray {
    /// Makes an array of memory on a device. For a slice (`planar`), the third axis, which has one element, is left
    /// out.
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
    /// Number of elements of the GPU array along each axis.
    #[getter]
    fn shape(&self) -> Vec<usize> {
        self.0.shape().to_vec()
    }

    /// DLPack's type of the memory (1 for main memory, 2 for CUDA), and the number of the device.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let Device { kind, number } = self.device();
        (kind, number)
    }

    /// Returns the array as a DLPack capsule. All writes to the array have finished, so no stream needs to wait.
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
            return Err(PyBufferError::new_err(
                "this array cannot be copied or moved to another device; leave out copy=True and dl_device",
            ));
        }
        let export = NonNull::from(Box::leak(Box::new(Export::of(self.0.clone(), self.device()))));
        // SAFETY: the pointer is to an `Export`, which begins with the `DLManagedTensor` that a `dltensor` capsule must
        // hold. The export lives until its deleter is called, either by the library that takes the array or by the
        // capsule's destructor.
        unsafe { PyCapsule::new_with_pointer_and_destructor(py, export.cast(), FRESH, Some(destroy)) }
    }

    fn __repr__(&self) -> String {
        format!("DeviceArray(shape={:?}, on {:?})", self.0.shape(), self.0.place())
    }
}

/// An array that is passed to another library by the protocol DLPack: DLPack's C structure first, then the memory to
/// which the structure's pointers lead.
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

/// Frees an exported array when the other library no longer needs the array. DLPack calls this function the deleter.
///
/// # Safety
/// `managed` came from [`DeviceArray::__dlpack__`] and is not used after this call.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: the caller promises that `managed` came from `__dlpack__`. So `managed` points to the first field of an
    // `Export` on the heap, which nothing else uses.
    drop(unsafe { Box::from_raw(managed.cast::<Export>()) });
}

/// Destructor of a DLPack capsule, the Python object that passes an array to another library: frees the exported array
/// if no library has taken it.
///
/// # Safety
/// Only Python may call this function, when it destroys the capsule.
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this while the capsule is still alive. A library that takes the array renames the capsule,
    // so a valid capsule named `dltensor` still owns its export.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, FRESH.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, FRESH.as_ptr()).cast());
        }
    }
}
