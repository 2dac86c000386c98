//! Notes about devices on the console.

use antsreg_register::DeviceNote;

use crate::Console;

/// Prints a note about a device: that it is ready, or why it is not used. A GPU that `auto` leaves out is a warning.
pub fn show(note: &DeviceNote, console: &mut Console) {
    match note {
        DeviceNote::Ready(..) | DeviceNote::CpuBecause(_) => console.note(note),
        DeviceNote::LeftOut { reason, cpu_instead } => {
            let instead = if *cpu_instead { "takes the CPU" } else { "leaves it out" };
            console.warn(format_args!("{reason}; --device auto {instead}"));
        }
    }
}
