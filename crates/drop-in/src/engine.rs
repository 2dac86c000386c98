//! Runs the registration of a command of ANTs or FSL, on the device that the environment variables choose.

use antsreg_console::{CliError, Console, ending, opening};
use antsreg_register::{
    Description, Device, DeviceChoice, Error, Fitted, Grids, Options, Registered, Registration, Side, WhyCpu,
};

use crate::call::Call;

/// The input of a registration: images with masks, and options.
#[derive(Debug, Clone)]
pub struct Task {
    /// The fixed and the moving images of the registration, with their masks.
    pub sides: [Side; 2],
    /// The options of the registration.
    pub options: Options,
}

/// A finished registration: its input, its result and the device that ran it.
pub struct Done {
    /// The input of the finished registration.
    pub task: Task,
    /// The result of the registration.
    pub found: Registration,
    /// The device that ran the registration.
    pub device: Description,
}

/// Reads the inputs while the device is being opened, then runs the registration.
///
/// # Errors
/// Errors of `read`; a registration that is refused or fails.
pub fn register(
    call: &Call,
    console: &mut Console,
    read: impl FnOnce() -> Result<Task, CliError>,
) -> Result<Done, CliError> {
    let choice = call.settings.device;
    let (task, opened) = opening::while_reading(choice, || {
        let task = read()?;
        task.options.precheck(task.sides.each_ref())?;
        Ok::<_, CliError>(task)
    });
    let task = task?;
    let (sides, options) = (task.sides.each_ref(), &task.options);
    let grids = Grids::of(sides);
    let mut fitted = opened?.fit(choice, options, &grids, &[])?;
    match options.check_device(&fitted.device, &grids) {
        Err(Error::Window(too_wide)) if choice == DeviceChoice::Auto => {
            let instead_of_gpu = Some(WhyCpu::Window(too_wide));
            fitted = Fitted { device: Device::cpu(), memory: None, instead_of_gpu };
        }
        checked => checked?,
    }
    fitted.check_memory()?;
    let Fitted { device, instead_of_gpu, .. } = fitted;
    ending::keep_open(&device);
    if let Some(reason) = instead_of_gpu {
        console.note(format_args!("device: cpu, because {reason}"));
    }
    let computed = console.watch(|watcher| {
        antsreg_register::register(sides[0], sides[1], options, &device, watcher).and_then(Registered::download)
    })?;
    let found = computed.finish(sides, options)?;
    Ok(Done { task, found, device: device.description().clone() })
}
