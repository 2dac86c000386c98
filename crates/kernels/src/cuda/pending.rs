//! Sums that a kernel leaves for the host, read when they are there: nothing else has to wait for them.

use std::ffi::c_void;
use std::sync::Arc;

use cust::sys;

use super::device::{Device, check};
use super::mark::Mark;
use crate::Error;

/// Three numbers in page-locked memory, which kernels reach by its address.
pub(super) struct Pending {
    sums: *mut [f64; 3],
    written: Mark,
    device: Arc<Device>,
}

// SAFETY: plain memory; it is read only behind the mark.
unsafe impl Send for Pending {}

impl Pending {
    pub(super) fn new(device: &Arc<Device>) -> Result<Pending, Error> {
        device.bind("page-locked memory")?;
        let mut memory: *mut c_void = std::ptr::null_mut();
        // SAFETY: `memory` is valid for writing.
        check("page-locked memory", unsafe { sys::cuMemAllocHost_v2(&mut memory, size_of::<[f64; 3]>()) })?;
        let sums: *mut [f64; 3] = memory.cast();
        // SAFETY: the memory has room for them.
        unsafe { sums.write([0.0; 3]) };
        Ok(Pending { sums, written: Mark::new()?, device: device.clone() })
    }

    /// Where a kernel writes the sums. Host and device share one range of addresses.
    pub(super) fn target(&mut self) -> u64 {
        self.sums as u64
    }

    /// The kernel that writes them has been given to the stream.
    pub(super) fn under_way(&mut self) -> Result<(), Error> {
        self.written.set(self.device.stream())
    }

    /// The sums, once they are there.
    pub(super) fn wait(&self, operation: &'static str) -> Result<[f64; 3], Error> {
        self.device.bind(operation)?;
        self.written.wait(operation)?;
        // SAFETY: the kernel is done; the compiler must not take an earlier value for this one.
        Ok(unsafe { self.sums.read_volatile() })
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // A kernel may still write to the memory.
        if self.device.bind("free").is_ok() && self.written.wait("free").is_ok() {
            // SAFETY: it came from the driver and nothing names it any more.
            let _ = unsafe { sys::cuMemFreeHost(self.sums.cast()) };
        }
    }
}
