//! Sums that a kernel leaves for the host, read when they are there: nothing else has to wait for them.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use cust::sys;

use super::device::{Device, check};
use super::mark::Mark;
use crate::Error;

/// Three numbers in page-locked memory, which kernels reach by its address.
pub(super) struct Pending {
    sums: *mut [f64; 3],
    /// Behind the kernel that writes them; `None` before the first one.
    written: Option<Mark>,
    device: Arc<Device>,
}

// SAFETY: plain memory; it is read only behind the mark.
unsafe impl Send for Pending {}

impl Pending {
    pub(super) fn new(device: &Arc<Device>) -> Result<Pending, Error> {
        device.bind("page-locked memory")?;
        let Spare { sums, written } = device.sums().take()?;
        // SAFETY: the memory has room for them, and no kernel writes there any more.
        unsafe { sums.write([0.0; 3]) };
        Ok(Pending { sums, written, device: device.clone() })
    }

    /// Where a kernel writes the sums. Host and device share one range of addresses.
    pub(super) fn target(&mut self) -> u64 {
        self.sums as u64
    }

    /// The kernel that writes them has been given to the stream.
    pub(super) fn under_way(&mut self) -> Result<(), Error> {
        let mark = match &self.written {
            Some(mark) => mark,
            None => self.written.insert(Mark::new()?),
        };
        mark.set(self.device.stream())
    }

    /// The sums, once they are there.
    pub(super) fn wait(&self, operation: &'static str) -> Result<[f64; 3], Error> {
        self.device.bind(operation)?;
        if let Some(mark) = &self.written {
            mark.wait(operation)?;
        }
        // SAFETY: the kernel is done; the compiler must not take an earlier value for this one.
        Ok(unsafe { self.sums.read_volatile() })
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // A kernel may still write to the memory. Where that cannot be ruled out, the memory is not used again.
        let written = self.written.take();
        let done = |mark: &Mark| self.device.bind("free").is_ok() && mark.wait("free").is_ok();
        if written.as_ref().is_none_or(done) {
            self.device.sums().give_back(Spare { sums: self.sums, written });
        }
    }
}

/// Memory for one [`Pending`] and its mark, which are made once and used again.
struct Spare {
    sums: *mut [f64; 3],
    /// `None` until first used.
    written: Option<Mark>,
}

/// Memory for sums that is not in use. The driver takes as long to give page-locked memory, and to take it back, as a coarse
/// level takes; so it is kept, and is freed with the device's context.
#[derive(Default)]
pub(super) struct SpareSums(Mutex<Vec<Spare>>);

// SAFETY: plain memory and driver handles behind a lock.
unsafe impl Send for SpareSums {}
// SAFETY: as above.
unsafe impl Sync for SpareSums {}

impl SpareSums {
    /// More than are in use at once.
    const COUNT: usize = 256;
    /// Bytes of `COUNT` sums.
    pub(super) const BYTES: usize = Self::COUNT * size_of::<[f64; 3]>();

    /// Adds `BYTES` of page-locked memory, aligned for the sums, that nothing else uses.
    pub(super) fn add(&self, memory: *mut c_void) {
        let first: *mut [f64; 3] = memory.cast();
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spare.extend((0..Self::COUNT).map(|n| Spare { sums: first.wrapping_add(n), written: None }));
    }

    /// The device's context must be current.
    fn take(&self) -> Result<Spare, Error> {
        loop {
            if let Some(spare) = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop() {
                return Ok(spare);
            }
            let mut memory: *mut c_void = std::ptr::null_mut();
            // SAFETY: `memory` is valid for writing.
            check("page-locked memory", unsafe { sys::cuMemAllocHost_v2(&mut memory, Self::BYTES) })?;
            self.add(memory);
        }
    }

    /// What [`take`](SpareSums::take) gave, once no kernel writes there.
    fn give_back(&self, spare: Spare) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(spare);
    }
}
