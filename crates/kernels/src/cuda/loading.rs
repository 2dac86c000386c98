//! A thread that loads kernels before they are needed.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use super::device::Device;
use super::kernels::{KernelGroup, Kernels};

/// A thread that loads groups of kernels one after the other while the host reads files and runs the affine stage.
/// Dropping this value waits until the thread has ended.
pub(super) struct Loading(Option<JoinHandle<()>>);

impl Loading {
    /// Begins, if there is machine code for the device: that takes some milliseconds. To compile PTX would take seconds,
    /// also for a command that soon ends.
    pub(super) fn begin(device: &Arc<Device>, kernels: &Arc<Kernels>, groups: &'static [KernelGroup]) -> Loading {
        let load = || {
            let (device, kernels) = (device.clone(), kernels.clone());
            Builder::new()
                .spawn(move || {
                    // An error comes again when the group is needed.
                    groups.iter().for_each(|group| drop(kernels.load(*group, &device)));
                })
                .ok()
        };
        Loading((device.takes_machine_code && !groups.is_empty()).then(load).flatten())
    }

    /// No thread: all kernels are loaded when they are needed.
    pub(super) fn nothing() -> Loading {
        Loading(None)
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        // A panic of the thread has been printed. What it did not load is loaded when it is needed.
        let _ = self.0.take().map(JoinHandle::join);
    }
}
