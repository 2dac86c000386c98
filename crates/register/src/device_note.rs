//! Notes about the device of a registration: that it is ready, or why the CPU is used in place of a GPU.

use std::fmt::{Display, Formatter};

use crate::{Description, DeviceChoice, Opened, TooLittleMemory, TooWide};

/// Why [`DeviceChoice::Auto`] used the CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyCpu {
    /// No GPU can be used; the text is the driver's reason.
    NoGpu(String),
    /// No GPU supports the window of the cross-correlation.
    Window(TooWide),
    /// The GPU has too little free memory.
    Memory(TooLittleMemory),
}

impl Display for WhyCpu {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            WhyCpu::NoGpu(reason) => reason.fmt(f),
            WhyCpu::Window(reason) => reason.fmt(f),
            WhyCpu::Memory(reason) => reason.fmt(f),
        }
    }
}

/// A message for the user about a device.
#[derive(Debug, Clone, PartialEq)]
pub enum DeviceNote {
    /// A GPU is ready for use. The number is the time that it took to open the GPU, s.
    Ready(Description, f64),
    /// The device choice `auto` uses the CPU in place of a GPU.
    CpuBecause(WhyCpu),
    /// The device choice `auto` does not use a GPU that exists.
    LeftOut {
        /// The reason why `auto` does not use this GPU, in words.
        reason: String,
        /// Whether the CPU computes in place of GPUs, because `auto` found no GPU that can be used.
        cpu_instead: bool,
    },
}

impl Display for DeviceNote {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceNote::Ready(device, seconds) => write!(f, "device: {device}, ready in {seconds:.2} s"),
            DeviceNote::CpuBecause(reason) => write!(f, "device: cpu, because {reason}"),
            DeviceNote::LeftOut { reason, cpu_instead: true } => {
                write!(f, "{reason}; the device setting `auto` uses the CPU instead")
            }
            DeviceNote::LeftOut { reason, cpu_instead: false } => {
                write!(f, "{reason}; the device setting `auto` does not use this GPU")
            }
        }
    }
}

impl DeviceChoice {
    /// The device to open for registrations: this choice, or the CPU in place of `Auto` if no GPU supports the window
    /// `too_wide` of the cross-correlation. The note says why the CPU was chosen.
    #[must_use]
    pub fn for_window(self, too_wide: Option<TooWide>) -> (DeviceChoice, Option<DeviceNote>) {
        match too_wide.filter(|_| self == DeviceChoice::Auto) {
            Some(too_wide) => (DeviceChoice::Cpu, Some(DeviceNote::CpuBecause(WhyCpu::Window(too_wide)))),
            None => (self, None),
        }
    }
}

impl Opened {
    /// The note about this device: a GPU is ready, or why the CPU is used in place of a GPU. `None` if the user chose
    /// the CPU, or if the device was open already.
    pub fn note(&self) -> Option<DeviceNote> {
        match (self.seconds, &self.instead_of_gpu) {
            (Some(seconds), _) => Some(DeviceNote::Ready(self.device.description().clone(), seconds)),
            (None, Some(reason)) => Some(DeviceNote::CpuBecause(WhyCpu::NoGpu(reason.to_string()))),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_auto_becomes_the_cpu_if_a_window_is_too_wide() {
        let too_wide = TooWide { radius: 9, most: 7 };
        let (chosen, note) = DeviceChoice::Auto.for_window(Some(too_wide));
        assert_eq!(chosen, DeviceChoice::Cpu);
        let note = note.expect("a reason").to_string();
        assert!(note.starts_with("device: cpu, because ") && note.contains("radius is 9"), "{note}");
        assert_eq!(DeviceChoice::Auto.for_window(None), (DeviceChoice::Auto, None));
        assert_eq!(DeviceChoice::Cuda(1).for_window(Some(too_wide)), (DeviceChoice::Cuda(1), None));
    }
}
