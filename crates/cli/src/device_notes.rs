//! Shows notes about devices, which are opened while other work continues: that a device is ready, or why it is not
//! used.

use antsreg_console::Console;
use antsreg_pool::DeviceNote;
use crossbeam_channel::Receiver;

/// Shows all notes about devices (ready, or not used and why) that have been received so far.
pub fn show(notes: &Receiver<DeviceNote>, console: &mut Console) {
    notes.try_iter().for_each(|note| show_one(&note, console));
}

/// Shows a note about a device, for example that the device is ready.
pub fn show_one(note: &DeviceNote, console: &mut Console) {
    match note {
        DeviceNote::Ready(device, seconds) => {
            console.note(format_args!("device: {device}, ready in {seconds:.2} s"));
        }
        DeviceNote::CpuBecause(reason) => console.note(format_args!("device: cpu, because {reason}")),
        DeviceNote::LeftOut { reason, cpu_instead } => {
            let instead = if *cpu_instead { "takes the CPU" } else { "leaves it out" };
            console.warn(format_args!("{reason}; --device auto {instead}"));
        }
    }
}
