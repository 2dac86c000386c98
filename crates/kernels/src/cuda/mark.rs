//! A mark in the work of a stream, for which the host can wait.

use cust::stream::Stream;
use cust::sys;

use super::driver::check;
use crate::Error;

/// A CUDA event that marks a point of the stream. It has no timing, because events with timing cost more.
pub(super) struct Mark {
    event: sys::CUevent,
}

// SAFETY: the driver allows any thread to use the handle of an event.
unsafe impl Send for Mark {}
// SAFETY: the driver allows any thread to use the handle of an event.
unsafe impl Sync for Mark {}

impl Mark {
    /// Makes a new event. The device's context must be current.
    pub(super) fn new() -> Result<Mark, Error> {
        let mut event = std::ptr::null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: `event` is valid for writing.
        check("event", unsafe { sys::cuEventCreate(&mut event, flags) })?;
        Ok(Mark { event })
    }

    /// Records this mark, a CUDA event, in the stream after all work that is queued so far.
    pub(super) fn set(&self, stream: &Stream) -> Result<(), Error> {
        // SAFETY: the event and the stream exist.
        check("event", unsafe { sys::cuEventRecord(self.event, stream.as_inner()) })
    }

    /// Waits until the stream has done all work that was queued before this mark, a CUDA event.
    pub(super) fn wait(&self, operation: &'static str) -> Result<(), Error> {
        // SAFETY: the event exists as long as `self`.
        check(operation, unsafe { sys::cuEventSynchronize(self.event) })
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: no other value contains the event, and the driver keeps it while a stream waits for it.
        let _ = unsafe { sys::cuEventDestroy_v2(self.event) };
    }
}
