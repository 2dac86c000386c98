//! Page-locked memory for the sums of kernels, which is reused.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use cust::sys;

use super::driver::check;
use super::mark::Mark;
use crate::Error;

/// Page-locked memory for three sums that is not in use. With it is the mark (a CUDA event) behind the last kernel that
/// wrote to this memory.
pub(super) struct Spare {
    pub(super) sums: *mut [f64; 3],
    /// Mark (a CUDA event) in the stream after the last kernel that wrote sums to this memory; `None` until the memory
    /// is first used.
    pub(super) written: Option<Mark>,
}

/// A pool of page-locked memory for sums. To allocate or free such memory takes the driver as long as a coarse level of
/// a registration, so the memory is reused, and freed only with the device's context.
#[derive(Default)]
pub(super) struct SpareSums(Mutex<Vec<Spare>>);

// SAFETY: the pointers refer to plain memory, the handles belong to the driver, and a lock guards both.
unsafe impl Send for SpareSums {}
// SAFETY: the pointers refer to plain memory, the handles belong to the driver, and a lock guards both.
unsafe impl Sync for SpareSums {}

impl SpareSums {
    /// Page-locked memory is allocated once for this number of results, of three sums each. Fewer results are in use at
    /// the same time.
    const COUNT: usize = 256;
    /// Size of the page-locked memory for the sums of `COUNT` results, bytes.
    pub(super) const BYTES: usize = Self::COUNT * size_of::<[f64; 3]>();

    /// Adds unused page-locked memory of `BYTES` bytes to the pool. Its address must be a multiple of the alignment of
    /// three doubles.
    pub(super) fn add(&self, memory: *mut c_void) {
        let first: *mut [f64; 3] = memory.cast();
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spare.extend((0..Self::COUNT).map(|n| Spare { sums: first.wrapping_add(n), written: None }));
    }

    /// Takes memory from the pool, allocating more if necessary. The device's context must be current.
    pub(super) fn take(&self) -> Result<Spare, Error> {
        loop {
            if let Some(spare) = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop() {
                return Ok(spare);
            }
            let mut memory: *mut c_void = std::ptr::null_mut();
            // SAFETY: the variable `memory` is valid for writing.
            check("page-locked memory", unsafe { sys::cuMemAllocHost_v2(&mut memory, Self::BYTES) })?;
            self.add(memory);
        }
    }

    /// Returns page-locked memory for three sums, which [`take`](SpareSums::take) gave, to the pool. The last kernel
    /// that writes to this memory must have finished.
    pub(super) fn give_back(&self, spare: Spare) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(spare);
    }
}
