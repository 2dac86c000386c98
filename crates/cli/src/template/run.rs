//! Builds a whole template on one machine, or writes the plan for building it in steps.

use antsreg_console::{CliError, Console, command_line::command_line};
use antsreg_pool::DeviceWorkers;
use antsreg_study::Error as StudyError;
use antsreg_study::template::{Prepared, Run, TemplateProgress, suitable_devices};

use super::args::Args;
use super::show::Lines;

/// Builds the template, or only writes the plan of its steps.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let request = args.request()?;
    if args.list_subjects {
        let lines: Vec<String> = request.subjects()?.into_iter().map(|name| format!("{name}\n")).collect();
        return crate::output::print(&lines.concat());
    }
    let mut opening = None;
    if !args.plan_only {
        let (devices, note) = suitable_devices(&request.recipe, args.devices());
        note.iter().for_each(|note| Lines(console).device(note));
        // The devices are opened in the background while the subjects are read.
        opening = Some(antsreg_pool::open(&devices, None)?);
    }
    let prepared = Prepared::new(&request, &mut Lines(console))?;
    let workers = opening.map(|opening| DeviceWorkers::new::<StudyError>(opening, || prepared.device_bytes()));
    let workers = workers.transpose()?;
    let building = prepared.settle(args.restart)?;
    antsreg_console::interruption::resumable();
    let (left_out, all) = (building.left_out(), building.subjects());
    left_out.iter().for_each(|complaint| console.warn(format_args!("left out: {complaint}")));
    match workers {
        None => building.write_start()?,
        Some(workers) => {
            let run = Run {
                threads: console.threads,
                command_line: &command_line(),
                ready_seconds: console.began().elapsed().as_secs_f64(),
            };
            building.run(workers, &run, &mut Lines(console))?;
            console.note(format_args!("wrote {}", request.folder.display()));
        }
    }
    match left_out.is_empty() {
        true => Ok(()),
        false => Err(CliError::LeftOut { subjects: left_out, all }),
    }
}
