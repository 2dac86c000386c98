//! Opening a device while files are read.

use antsreg_register::{DeviceChoice, Error, Opened};

use crate::Console;

/// Opens a device. Meanwhile, calls the function `read`, which reads the input files. Waits for the device even if
/// `read` fails, because a program must not end while a driver starts.
pub fn while_reading<T>(device: DeviceChoice, read: impl FnOnce() -> T) -> (T, Result<Opened, Error>) {
    std::thread::scope(|scope| {
        let opening = scope.spawn(move || device.open());
        let read = read();
        (read, opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Prints which device the command uses, and why the CPU is used instead of a GPU. Prints nothing if the command line
/// names the CPU.
pub fn tell(opened: &Opened, console: &mut Console) {
    match (opened.seconds, &opened.instead_of_gpu) {
        (Some(seconds), _) => {
            console.note(format_args!("device: {}, ready in {seconds:.2} s", opened.device.description()));
        }
        (None, Some(reason)) => console.note(format_args!("device: cpu, because {reason}")),
        (None, None) => (),
    }
}
