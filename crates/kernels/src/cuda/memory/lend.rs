//! Memory shared with other libraries of the process, such as PyTorch: their arrays are copied into images, and results
//! are lent to them. All libraries use the device's primary context, so that an address means the same memory for all
//! of them.

use std::sync::Arc;

use cust::sys;

use crate::cuda::Cuda;
use crate::cuda::buffer::{Buffer, Plain};
use crate::cuda::device::{Device, KeptContext};
use crate::cuda::driver::check;
use crate::cuda::image::Image;
use crate::{Error, Lent, Place};

/// A buffer in device memory that other libraries of the process may read, such as PyTorch. They may still be reading
/// when this value is dropped.
struct Shared<T: Plain> {
    device: Arc<Device>,
    /// The device memory that other libraries may read; `None` only while this value is dropped.
    memory: Option<Buffer<T>>,
}

impl<T: Plain> Drop for Shared<T> {
    fn drop(&mut self) {
        // Another library, such as PyTorch, may drop this value on a thread whose current CUDA device is another one.
        // So the thread's context is saved here and restored at the end.
        let _kept = KeptContext::new();
        // Other libraries may still read the lent memory, by work on their own streams. If waiting for all work of the
        // device fails, the memory is not freed. SAFETY: the function has no pointer argument.
        let done =
            self.device.bind("free").is_ok() && unsafe { sys::cuCtxSynchronize() } == sys::CUresult::CUDA_SUCCESS;
        let memory = self.memory.take();
        if !done {
            std::mem::forget(memory);
        }
    }
}

impl Cuda {
    /// Makes an image of this shape from voxels (x fastest) at an address on the device, after the work that is queued
    /// on the legacy default stream. The copy is complete when this returns.
    ///
    /// # Safety
    /// `address` is memory of this device with a number for each voxel, which nothing writes during the call, except
    /// for work that the legacy default stream waits for.
    ///
    /// # Errors
    /// The volume is too large, or the device fails.
    pub unsafe fn image_at(&self, shape: [usize; 3], address: u64) -> Result<Image, Error> {
        let mut image = Image::uninitialised(&self.device, shape)?;
        let (bytes, target) = (image.len() * size_of::<f32>(), image.write());
        // SAFETY: the caller promises that the memory at `address` has a number for each voxel, as the image has. The
        // stream waits for the legacy default stream.
        let result = unsafe { sys::cuMemcpyDtoDAsync_v2(target, address, bytes, self.device.stream().as_inner()) };
        check("copy", result)?;
        self.synchronize()?;
        Ok(image)
    }

    /// Waits until all writes to the buffer have finished, then lends the buffer to other libraries of the process.
    pub(in crate::cuda) fn lend<T: Plain + Send + Sync + 'static>(
        &self,
        memory: Buffer<T>,
        shape: [usize; 3],
        lent: impl FnOnce(Place, usize, [usize; 3], Arc<dyn std::any::Any + Send + Sync>) -> Lent,
    ) -> Result<Lent, Error> {
        self.synchronize()?;
        let address = memory.pointer() as usize;
        let shared = Shared { device: self.device.clone(), memory: Some(memory) };
        Ok(lent(Place::Cuda(self.info().index), address, shape, Arc::new(shared)))
    }
}
