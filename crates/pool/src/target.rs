//! The fixed side (image, channels and masks) of many registrations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use antsreg_register::{Device, Grids, Options, Side};

/// A fixed side (image, channels and masks) and the options of all registrations to this fixed side. Each worker
/// prepares the fixed side once, on its own device.
#[derive(Debug)]
pub struct Target {
    number: u64,
    /// The fixed image with its channels and masks.
    pub side: Side,
    /// Options of all registrations to this fixed side.
    pub options: Options,
}

impl Target {
    /// Makes a target, that is a fixed side and the options of its registrations, from a fixed image with its channels
    /// and masks. The workers prepare this fixed side later.
    pub fn new(side: Side, options: Options) -> Arc<Target> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Arc::new(Target { number: NEXT.fetch_add(1, Ordering::Relaxed), side, options })
    }

    /// A number that identifies this target (a fixed side and its options) among all targets of the process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// GPU memory that a registration of `moving` to this fixed side needs while it runs, bytes. If the image of
    /// `moving` is in GPU memory, the result includes memory for the next moving image, because that image is uploaded
    /// during the registration.
    pub(crate) fn device_bytes(&self, moving: &Side, device: &Device) -> u64 {
        self.options.device_bytes(&Grids::of([&self.side, moving])) + 2 * moving.held_bytes(device)
    }

    /// GPU memory that the prepared fixed side occupies between registrations, bytes.
    pub(crate) fn prepared_device_bytes(&self, device: &Device) -> u64 {
        self.options.prepared_device_bytes(&Grids::of([&self.side, &self.side])) + self.side.held_bytes(device)
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::{Grid, Volume};

    use super::*;

    #[test]
    fn images_on_the_device_are_counted() {
        let device = Device::cpu();
        let side = Side::new(Volume::filled(Grid::axis_aligned([10; 3], [1.0; 3]), 1.0));
        let held = Side::new(
            antsreg_register::Image::uploaded(&device, side.image.volume().expect("in memory")).expect("finite"),
        );
        let bytes = |fixed: &Side, moving| {
            let target = Target::new(fixed.clone(), Options::default());
            (target.device_bytes(moving, &device), target.prepared_device_bytes(&device))
        };
        let (registration, prepared) = bytes(&side, &side);
        assert_eq!(bytes(&held, &held), (registration + 2 * 4000, prepared + 4000));
    }
}
