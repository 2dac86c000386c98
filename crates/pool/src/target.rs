//! The fixed side of many registrations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use antsreg_register::{Grids, Options, Side};

/// A fixed side and the options of all registrations to it. Each worker prepares it once, on its own device.
#[derive(Debug)]
pub struct Target {
    number: u64,
    /// The fixed side.
    pub side: Side,
    /// The options.
    pub options: Options,
}

impl Target {
    /// A fixed side that workers have not prepared yet.
    pub fn new(side: Side, options: Options) -> Arc<Target> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Arc::new(Target { number: NEXT.fetch_add(1, Ordering::Relaxed), side, options })
    }

    /// A number that identifies this target among all targets of the process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// GPU memory that a registration of `moving` to this target takes while it runs, bytes.
    pub(crate) fn device_bytes(&self, moving: &Side) -> u64 {
        self.options.device_bytes(&Grids::of([&self.side, moving]))
    }

    /// GPU memory that the prepared side keeps between registrations, bytes.
    pub(crate) fn prepared_device_bytes(&self) -> u64 {
        self.options.prepared_device_bytes(&Grids::of([&self.side, &self.side]))
    }
}
