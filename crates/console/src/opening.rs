//! Opening a device while files are read.

use antsreg_register::{DeviceChoice, Error, Opened};

/// Opens a device. Meanwhile, calls the function `read`, which reads the input files. Waits for the device even if
/// `read` fails, because a program must not end while a driver starts.
pub fn while_reading<T>(device: DeviceChoice, read: impl FnOnce() -> T) -> (T, Result<Opened, Error>) {
    std::thread::scope(|scope| {
        let opening = scope.spawn(move || device.open());
        let read = read();
        (read, opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
