//! Runs the registration or motion correction of a command of ANTs or FSL, on the device that the environment variables choose.

use std::ops::ControlFlow;

use antsreg_console::{CliError, Console, device_notes, ending};
use antsreg_register::{Description, Grids, Options, Registered, Registration, Side};
use antsreg_study::motion::{self, Found, Opened};

use crate::call::Call;

/// The input of a registration: images with masks, and options.
#[derive(Debug, Clone)]
pub struct Task {
    /// The fixed and the moving images of the registration, with their masks.
    pub sides: [Side; 2],
    /// The options of the registration.
    pub options: Options,
    /// Notes about the images for the user.
    pub notes: Vec<String>,
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
    let (task, opened) = choice.open_during(|| {
        let task = read()?;
        task.options.precheck(task.sides.each_ref())?;
        Ok::<_, CliError>(task)
    });
    let task = task?;
    task.notes.iter().for_each(|note| call.note(note));
    let (sides, options) = (task.sides.each_ref(), &task.options);
    let grids = Grids::of(sides);
    let fitted = opened?.fit(choice, options, &grids, &[])?;
    options.check_device(&fitted.device, &grids)?;
    fitted.check_memory()?;
    let (device, note) = (&fitted.device, fitted.note());
    ending::keep_open(device);
    note.iter().for_each(|note| device_notes::show(note, console));
    let computed = console.watch(|watcher| {
        antsreg_register::register(sides[0], sides[1], options, device, watcher).and_then(Registered::download)
    })?;
    let found = computed.finish(sides, options)?;
    Ok(Done { task, found, device: device.description().clone() })
}

/// Reads the series while the device is being opened, then corrects its motion. The output files appear when the result
/// is committed.
///
/// # Errors
/// Files that cannot be read or written; a volume that cannot be aligned.
pub fn correct_motion(call: &Call, console: &mut Console, task: &motion::Task) -> Result<Found, CliError> {
    let (read, opened) = call.settings.device.open_during(|| Opened::new(task));
    let (read, opened) = (read?, opened?);
    opened.note().iter().for_each(|note| device_notes::show(note, console));
    ending::keep_open(&opened.device);
    Ok(read.find(opened.device, &mut |progress| {
        console.note(format_args!("aligned {} of {} volumes", progress.aligned, progress.of));
        ControlFlow::Continue(())
    })?)
}
