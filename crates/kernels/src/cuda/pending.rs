//! Sums that a kernel writes to page-locked memory, such as those for the energy of the cross-correlation. The host
//! reads them when they are complete, without waiting for other work.

use std::sync::Arc;

use super::device::Device;
use super::mark::Mark;
use super::spare_sums::Spare;
use crate::Error;

/// Three sums in page-locked memory, to which a kernel writes them.
pub(super) struct Pending {
    sums: *mut [f64; 3],
    /// Mark (a CUDA event) in the stream after the kernel that writes the three sums of this result; `None` before the
    /// first launch of such a kernel.
    written: Option<Mark>,
    device: Arc<Device>,
}

// SAFETY: the pointer refers to plain page-locked memory that belongs to this value alone. The memory is read only
// after the stream has passed the mark behind the kernel that writes it.
unsafe impl Send for Pending {}

impl Pending {
    pub(super) fn new(device: &Arc<Device>) -> Result<Pending, Error> {
        device.bind("page-locked memory")?;
        let Spare { sums, written } = device.sums().take()?;
        // SAFETY: the page-locked memory has room for three sums, and no kernel writes to it any more.
        unsafe { sums.write([0.0; 3]) };
        Ok(Pending { sums, written, device: device.clone() })
    }

    /// Address where a kernel writes the sums. Host and device use the same address for page-locked memory.
    pub(super) fn target(&mut self) -> u64 {
        self.sums as u64
    }

    /// Must be called after the launch of the kernel that writes the three sums of this result. Places a mark (a CUDA
    /// event) in the stream, so that the host can wait for this kernel.
    pub(super) fn under_way(&mut self) -> Result<(), Error> {
        let mark = match &self.written {
            Some(mark) => mark,
            None => self.written.insert(Mark::new()?),
        };
        mark.set(self.device.stream())
    }

    /// Waits until the kernel has written the three sums of this result to page-locked memory, and returns them.
    pub(super) fn wait(&self, operation: &'static str) -> Result<[f64; 3], Error> {
        self.device.bind(operation)?;
        if let Some(mark) = &self.written {
            mark.wait(operation)?;
        }
        // SAFETY: the kernel that writes the sums is done. The read is volatile, because the compiler does not know
        // that a kernel changed the memory.
        Ok(unsafe { self.sums.read_volatile() })
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // A kernel may still be writing to this page-locked memory. If waiting for that kernel fails, the memory is not
        // reused.
        let written = self.written.take();
        let done = |mark: &Mark| self.device.bind("free").is_ok() && mark.wait("free").is_ok();
        if written.as_ref().is_none_or(done) {
            self.device.sums().give_back(Spare { sums: self.sums, written });
        }
    }
}
