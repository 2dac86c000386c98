//! Runs the subcommand (verb) `labels` and shows its results.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use antsreg_console::{CliError, Console, advice, command_line::command_line, device_notes, output};
use antsreg_register::{DeviceNote, Warning};
use antsreg_study::Error as StudyError;
use antsreg_study::labels::{
    AtlasStudy, Carrying, LabelOptions, LabelsProgress, Registered, TargetFiles, carry, label_target, leave_one_out,
};

use antsreg_study::skulls::ExtractedRecord;

use super::args::{Args, Task};
use super::show;
use crate::pair::found_brain;
use crate::{overlap, pair};

/// Runs `labels`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    match args.task()? {
        Task::Pair(request) => match pair::run(&request, args.dry_run, console)? {
            Some(overlap) => output::print(&format!("\n{}", overlap::show(&overlap))),
            None => Ok(()),
        },
        Task::Carry(carrying) => run_carry(&carrying, console),
        Task::Atlases(options, target) => run_atlases(args, &options, target.as_ref(), console),
    }
}

/// Resamples one label map through existing transforms.
fn run_carry(carrying: &Carrying, console: &mut Console) -> Result<(), CliError> {
    let carried = carry(carrying)?;
    carried.warnings.iter().for_each(|warning| console.warn(warning));
    note_written(&carried.paths, console);
    carried.overlap.map_or(Ok(()), |overlap| output::print(&overlap::show(&overlap)))
}

/// Labels a target image by several atlases. Without a target, labels each atlas by the others and compares the result
/// with the labels of this atlas.
fn run_atlases(
    args: &Args,
    options: &LabelOptions,
    target: Option<&TargetFiles>,
    console: &mut Console,
) -> Result<(), CliError> {
    let (threads, command_line, page) = (console.threads, command_line(), args.page());
    let study = AtlasStudy {
        atlases: &args.atlas,
        options,
        devices: &args.registration.device,
        label_list: args.label_list.as_deref(),
        keep_going: args.keep_going,
        prefix: &args.output,
        format: args.format,
        threads,
        page: page.as_deref(),
        command_line: &command_line,
    };
    let progress = Lines(Mutex::new(console));
    let Some(target) = target else {
        let scored = leave_one_out(&study, &progress)?;
        note_written(&scored.paths, &mut progress.console());
        output::print(&show::scores(&scored.targets))?;
        check_used(scored.used, scored.of)?;
        return if scored.every_pair { Ok(()) } else { Err(CliError::NotEveryPair) };
    };
    let labelled = label_target(&study, target, &progress)?;
    note_written(&labelled.paths, &mut progress.console());
    if let Some(overlap) = &labelled.overlap {
        output::print(&overlap::show(overlap))?;
    }
    check_used(labelled.used, labelled.of)
}

fn note_written(paths: &[PathBuf], console: &mut Console) {
    paths.iter().for_each(|path| console.note(format_args!("wrote {}", path.display())));
}

/// Returns an error if some atlases were left out of the label fusion.
fn check_used(used: usize, of: usize) -> Result<(), CliError> {
    if used < of { Err(CliError::AtlasesLeftOut { failed: of - used, of }) } else { Ok(()) }
}

/// Prints the progress of labelling, a line for each event.
struct Lines<'a>(Mutex<&'a mut Console>);

impl<'a> Lines<'a> {
    fn console(&self) -> MutexGuard<'_, &'a mut Console> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LabelsProgress for Lines<'_> {
    fn device(&self, note: &DeviceNote) {
        device_notes::show(note, &mut self.console());
    }

    fn is_target(&self, atlas: &str) {
        self.console().warn(format_args!(
            "atlas {atlas} is the image to label, so the result will be the labels of this atlas"
        ));
    }

    fn left_out(&self, error: &StudyError) {
        self.console().warn(format_args!("{error}{}; left out", advice::of_study(error)));
    }

    fn brain(&self, image: &str, brain: &ExtractedRecord) {
        let mut console = self.console();
        console
            .note(format_args!("{image}: its brain is registered instead of the whole head: {}", found_brain(brain)));
        brain.warnings.iter().for_each(|warning| console.warn(format_args!("{image}: {warning}")));
    }

    fn target_left_out(&self, target: &str) {
        self.console().warn(format_args!("{target}: no atlas could be registered to it; left out"));
    }

    fn warning(&self, target: &str, atlas: &str, warning: &Warning) {
        self.console().warn(format_args!("{target}: atlas {atlas}: {warning}{}", advice::of_warning(warning)));
    }

    fn registered(&self, target: &str, atlas: &Registered) {
        let Registered { name, done, of, seconds, correlation } = atlas;
        let correlation = correlation.map_or(String::new(), |r| format!(", correlation {r:.4}"));
        let line = format!("{target}: {name} registered ({done} of {of}), {seconds:.2} s{correlation}");
        self.console().note(line);
    }

    fn fused(&self, atlases: usize, undecided: usize, seconds: f64) {
        let line = format!("{atlases} atlases fused, {undecided} voxels with differing labels, {seconds:.2} s");
        self.console().note(line);
    }

    fn scored(&self, target: &str, majority: f64, joint: f64, seconds: f64) {
        self.console().note(format_args!(
            "{target}: mean Jaccard {majority:.4} by majority vote, {joint:.4} by joint fusion, {seconds:.2} s"
        ));
    }
}
