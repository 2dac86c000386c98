//! Checks that a device supports the correlation windows of a registration and has enough memory.

use crate::{Device, DeviceChoice, DeviceNote, Error, Grids, Opened, Options, Side, TooLittleMemory, WhyCpu};

/// Planned and free memory of a GPU for a registration, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedMemory {
    /// Memory that a registration is expected to need.
    pub planned_bytes: u64,
    /// Free memory of the GPU before the registration, bytes.
    pub free_bytes: u64,
}

/// The device chosen for a registration.
#[derive(Debug)]
pub struct Fitted {
    /// The device.
    pub device: Device,
    /// Memory of the GPU; `None` on the CPU.
    pub memory: Option<PlannedMemory>,
    /// Why the CPU is used although a GPU was preferred.
    pub instead_of_gpu: Option<WhyCpu>,
}

impl Fitted {
    /// The note that `Auto` uses the CPU, with the reason; `None` for a device that the user chose, and for a GPU.
    pub fn note(&self) -> Option<DeviceNote> {
        self.instead_of_gpu.clone().map(DeviceNote::CpuBecause)
    }

    /// Checks that the GPU has enough free memory.
    ///
    /// # Errors
    /// [`Error::DeviceMemory`].
    pub fn check_memory(&self) -> Result<(), Error> {
        let Some(PlannedMemory { planned_bytes, free_bytes }) = self.memory else { return Ok(()) };
        match TooLittleMemory::of(self.device.description().choice(), planned_bytes, free_bytes) {
            Some(too_little) => Err(too_little.into()),
            None => Ok(()),
        }
    }
}

impl Opened {
    /// Chooses the device of a registration: this device, or with [`DeviceChoice::Auto`] the CPU if the GPU does not
    /// support the window of the cross-correlation or has too little free memory. A GPU chosen by its number is kept:
    /// check it with [`Options::check_device`] and [`Fitted::check_memory`]. `uploaded` is a list of sides, that is
    /// fixed or moving images with their masks. The images of these sides are copied to the device and stay there
    /// during the registration ([`Side::on`]).
    ///
    /// # Errors
    /// A GPU that fails.
    pub fn fit(
        self,
        asked: DeviceChoice,
        options: &Options,
        grids: &Grids,
        uploaded: &[&Side],
    ) -> Result<Fitted, Error> {
        let too_wide = options.too_wide_for_gpu(grids.masked.contains(&true));
        if let Some(too_wide) = too_wide.filter(|_| asked == DeviceChoice::Auto && self.device.is_gpu()) {
            return Ok(on_cpu(WhyCpu::Window(too_wide)));
        }
        let memory = self.device.memory()?.map(|memory| memory.free + memory.kept);
        let planned_bytes = planned_bytes(&self.device, options, grids, uploaded);
        Ok(fit(self, asked, planned_bytes, memory))
    }
}

/// GPU memory that a registration needs, bytes. This includes the images of the sides (fixed or moving) in `uploaded`,
/// which are copied to the GPU before the registration.
fn planned_bytes(device: &Device, options: &Options, grids: &Grids, uploaded: &[&Side]) -> u64 {
    options.device_bytes(grids) + uploaded.iter().map(|side| side.upload_bytes(device)).sum::<u64>()
}

/// Makes the result of the choice of a device if the CPU is used although a GPU was preferred; `reason` says why.
fn on_cpu(reason: WhyCpu) -> Fitted {
    Fitted { device: Device::cpu(), memory: None, instead_of_gpu: Some(reason) }
}

fn fit(opened: Opened, asked: DeviceChoice, planned_bytes: u64, free_bytes: Option<u64>) -> Fitted {
    let Opened { device, instead_of_gpu, .. } = opened;
    let no_gpu = instead_of_gpu.map(|reason| WhyCpu::NoGpu(reason.to_string()));
    let Some(free_bytes) = free_bytes else { return Fitted { device, memory: None, instead_of_gpu: no_gpu } };
    match TooLittleMemory::of(device.description().choice(), planned_bytes, free_bytes) {
        Some(too_little) if asked == DeviceChoice::Auto => on_cpu(WhyCpu::Memory(too_little)),
        _ => Fitted { device, memory: Some(PlannedMemory { planned_bytes, free_bytes }), instead_of_gpu: no_gpu },
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::{Grid, Volume};

    use super::*;
    use crate::Description;

    /// Makes a device for tests without a GPU: the CPU computes, but the device describes itself as a GPU.
    fn gpu() -> Device {
        Device::cpu_described_as(Description::Cuda {
            index: 0,
            name: "a GPU".into(),
            compute_capability: "9.0".into(),
            driver_cuda: "13.0".into(),
            memory_bytes: u64::MAX,
        })
    }

    fn side() -> Side {
        Side::from(Volume::filled(Grid::axis_aligned([8; 3], [1.0; 3]), 0.0))
    }

    #[test]
    fn uploaded_images_are_part_of_the_memory() {
        let (options, side) = (Options::default(), side());
        let grids = Grids::of([&side, &side]);
        let gpu = gpu();
        let planned = |uploaded: &[&Side]| planned_bytes(&gpu, &options, &grids, uploaded);
        let (stages, image) = (options.device_bytes(&grids), 4 * 8 * 8 * 8);
        assert_eq!(planned(&[&side, &side]), stages + 2 * image);
        assert_eq!(planned(&[]), stages);
        let there = side.on(&gpu).expect("finite voxels");
        assert_eq!(planned(&[&there, &side]), stages + image);
    }

    #[test]
    fn without_its_window_auto_takes_the_cpu() {
        use antsreg_syn as syn;

        use crate::Stage;

        let opened = || Opened { device: gpu(), seconds: None, instead_of_gpu: None };
        let side = side();
        let with_radius = |radius| Options {
            stages: vec![Stage::Deformable(syn::Options { radius, ..Default::default() })],
            ..Default::default()
        };
        let grids = Grids::of([&side, &side]);
        for (asked, radius, taken) in
            [(DeviceChoice::Auto, 16, false), (DeviceChoice::Auto, 2, true), (DeviceChoice::Cuda(0), 16, true)]
        {
            let fitted = opened().fit(asked, &with_radius(radius), &grids, &[]).expect("a device");
            assert_eq!(fitted.device.is_gpu(), taken, "{asked} {radius}");
            assert_eq!(matches!(fitted.instead_of_gpu, Some(WhyCpu::Window(_))), !taken, "{asked} {radius}");
        }
    }

    /// Makes an opened device on which the CPU computes. In these tests the device also stands for a GPU; the tests
    /// pass the free memory of this GPU to the function `fit` separately.
    fn opened() -> Opened {
        Opened { device: Device::cpu(), seconds: None, instead_of_gpu: None }
    }

    #[test]
    fn with_too_little_memory_auto_takes_the_cpu_and_a_named_gpu_is_refused() {
        for asked in [DeviceChoice::Auto, DeviceChoice::Cuda(0)] {
            let enough = fit(opened(), asked, 1_000_000, Some(1_000_000));
            assert!(enough.instead_of_gpu.is_none() && enough.check_memory().is_ok());
        }
        let fallen_back = fit(opened(), DeviceChoice::Auto, 2_000_001, Some(2_000_000));
        assert!(fallen_back.memory.is_none() && fallen_back.check_memory().is_ok());
        let reason = fallen_back.instead_of_gpu.expect("a reason").to_string();
        assert!(reason.contains("3 MB") && reason.contains("2 MB"), "{reason}");
        let refused = fit(opened(), DeviceChoice::Cuda(0), 2_000_001, Some(2_000_000));
        assert!(refused.instead_of_gpu.is_none());
        assert!(matches!(refused.check_memory(), Err(Error::DeviceMemory(_))));
    }
}
