//! 3D arrays, read through texture objects and written through surface objects.
//!
//! They use `cust::sys` directly: cust's own arrays have a wrong element type and do not give access to their handle.

use std::ptr::{null, null_mut};
use std::sync::Arc;

use cust::sys;

use super::buffer::Buffer;
use super::device::{Device, KeptContext};
use super::driver::check;
use crate::Error;

/// A 3D array of floats and the texture and surface objects by which kernels access it.
pub(super) struct Array {
    handle: sys::CUarray,
    shape: [usize; 3],
    objects: Vec<Object>,
    device: Arc<Device>,
}

enum Object {
    Texture(u64),
    Surface(u64),
}

// SAFETY: the driver allows any thread to use the handles of arrays, textures and surfaces.
unsafe impl Send for Array {}
// SAFETY: the driver allows any thread to use the handles of arrays, textures and surfaces.
unsafe impl Sync for Array {}

/// How a texture is read between voxel centres.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    /// The value of the voxel that contains the point.
    Point,
    /// Trilinear interpolation with 8-bit weights.
    Linear,
}

impl Array {
    pub(super) fn new(device: &Arc<Device>, shape: [usize; 3]) -> Result<Array, Error> {
        device.bind("3D array")?;
        let description = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: shape[0],
            Height: shape[1],
            Depth: shape[2],
            Format: sys::CUarray_format::CU_AD_FORMAT_FLOAT,
            NumChannels: 1,
            Flags: sys::CUDA_ARRAY3D_SURFACE_LDST,
        };
        let mut handle = null_mut();
        // SAFETY: `handle` is valid for writing, and `description` for reading.
        let result = unsafe { sys::cuArray3DCreate_v2(&mut handle, &description) };
        if result == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            let requested = (shape.iter().product::<usize>() * size_of::<f32>()) as u64;
            return Err(Error::OutOfMemory { requested, free: device.memory()?.free });
        }
        check("3D array", result)?;
        Ok(Array { handle, shape, objects: Vec::new(), device: device.clone() })
    }

    /// Copies a volume from a buffer on the device into the array.
    pub(super) fn fill(&mut self, voxels: &Buffer<f32>) -> Result<(), Error> {
        let [width, height, depth] = [self.shape[0] * size_of::<f32>(), self.shape[1], self.shape[2]];
        // The structure is not initialised by zeros, because its memory-type enum has no variant 0.
        let copy = sys::CUDA_MEMCPY3D {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: null(),
            srcDevice: voxels.pointer(),
            srcArray: null_mut(),
            reserved0: null_mut(),
            srcPitch: width,
            srcHeight: height,
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_ARRAY,
            dstHost: null_mut(),
            dstDevice: 0,
            dstArray: self.handle,
            reserved1: null_mut(),
            dstPitch: 0,
            dstHeight: 0,
            WidthInBytes: width,
            Height: height,
            Depth: depth,
        };
        // SAFETY: the buffer has at least as many elements as the array has voxels. Both exist until the stream has
        // done the copy.
        check("fill 3D array", unsafe { sys::cuMemcpy3DAsync_v2(&copy, self.device.stream().as_inner()) })
    }

    fn resource(&self) -> sys::CUDA_RESOURCE_DESC {
        let mut resource =
            sys::CUDA_RESOURCE_DESC { resType: sys::CUresourcetype::CU_RESOURCE_TYPE_ARRAY, ..Default::default() };
        resource.res.array.hArray = self.handle;
        resource
    }

    /// A new texture object of the array: voxel i is read at i + 0.5; outside, the border value continues.
    pub(super) fn texture(&mut self, filter: Filter) -> Result<u64, Error> {
        let description = sys::CUDA_TEXTURE_DESC {
            addressMode: [sys::CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP; 3],
            filterMode: match filter {
                Filter::Point => sys::CUfilter_mode::CU_TR_FILTER_MODE_POINT,
                Filter::Linear => sys::CUfilter_mode::CU_TR_FILTER_MODE_LINEAR,
            },
            ..Default::default()
        };
        let mut object = 0;
        // SAFETY: both descriptions are valid, and the array exists as long as the texture object, because both are
        // dropped with `self`.
        check("texture", unsafe { sys::cuTexObjectCreate(&mut object, &self.resource(), &description, null()) })?;
        self.objects.push(Object::Texture(object));
        Ok(object)
    }

    /// A new surface object of the array.
    pub(super) fn surface(&mut self) -> Result<u64, Error> {
        let mut object = 0;
        // SAFETY: the description is valid, and the array exists as long as the surface object, because both are
        // dropped with `self`.
        check("surface", unsafe { sys::cuSurfObjectCreate(&mut object, &self.resource()) })?;
        self.objects.push(Object::Surface(object));
        Ok(object)
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // A CUDA array may be dropped on any thread. The driver needs the context of the array's device, so the
        // thread's own current context is saved and restored.
        let _kept = KeptContext::new();
        // Arrays are not freed in stream order, so all work that reads this array must be done first.
        if self.device.synchronize("drop 3D array").is_err() {
            return;
        }
        // SAFETY: the driver made the handles of this array and its objects, and no other value contains them.
        unsafe {
            for object in &self.objects {
                let _ = match object {
                    Object::Texture(texture) => sys::cuTexObjectDestroy(*texture),
                    Object::Surface(surface) => sys::cuSurfObjectDestroy(*surface),
                };
            }
            let _ = sys::cuArrayDestroy(self.handle);
        }
    }
}

/// The copy of an image in a 3D array, with a texture object for reading single voxels and one for interpolation by the
/// texture unit.
pub(super) struct Texture {
    array: Array,
    pub(super) exact: u64,
    pub(super) filtered: u64,
    pub(super) current: bool,
}

impl Texture {
    pub(super) fn new(device: &Arc<Device>, shape: [usize; 3]) -> Result<Texture, Error> {
        let mut array = Array::new(device, shape)?;
        let (exact, filtered) = (array.texture(Filter::Point)?, array.texture(Filter::Linear)?);
        Ok(Texture { array, exact, filtered, current: false })
    }

    /// Copies the image into the array, unless the array is up to date.
    pub(super) fn update(&mut self, voxels: &Buffer<f32>) -> Result<(), Error> {
        if !self.current {
            self.array.fill(voxels)?;
            self.current = true;
        }
        Ok(())
    }
}
