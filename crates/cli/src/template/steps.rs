//! Runs one step of building a template whose plan has been written before.

use std::path::Path;

use antsreg_console::{CliError, Console, UsageError};
use antsreg_pool::Devices;
use antsreg_register::DeviceChoice;
use antsreg_study::template::{self, Outcome, Session};

use super::args::{RegisterOne, Step, Update};
use super::show::Lines;

/// Runs a step.
pub fn run(step: &Step, console: &mut Console) -> Result<(), CliError> {
    match step {
        Step::RegisterOne(RegisterOne { folder, pass, subject, device }) => {
            let (device, session) = (one(device)?, open(folder)?);
            let outcome = session.register_one(*pass, subject, device, &mut Lines(console))?;
            if let Outcome::LeftOut(reason) = &outcome {
                console.warn(format_args!("left out: {subject} ({reason})"));
            }
            show(&outcome, console);
        }
        Step::Average(args) => show(&open(&args.folder)?.average(args.pass)?, console),
        Step::Update(Update { folder, pass, device }) => {
            let (device, session) = (one(device)?, open(folder)?);
            let outcome = session.update(*pass, device, &mut Lines(console))?;
            if let Outcome::Done(results) = &outcome {
                console.note(format_args!("template moved by {:.3} voxels", results.moved_mean_voxels));
            }
            show(&outcome, console);
        }
        Step::Finish(args) => {
            let threads = console.threads;
            open(&args.folder)?.finish(&args.device, threads, &mut Lines(console))?;
        }
        Step::Verify(args) => {
            let files = template::verify(&args.folder)?;
            console.note(format_args!("{files} files match the checksums in the plan and the manifests"));
        }
    }
    Ok(())
}

fn open(folder: &Path) -> Result<Session, CliError> {
    antsreg_console::interruption::resumable();
    Ok(Session::open(folder)?)
}

/// Returns the device for one step of building a template; an error if the user gave several devices.
fn one(devices: &Devices) -> Result<DeviceChoice, UsageError> {
    match devices {
        Devices::One(choice) => Ok(*choice),
        several => Err(UsageError::SeveralDevices { asked: several.to_string() }),
    }
}

/// Prints the reason if a step of building a template was not run.
fn show<T>(outcome: &Outcome<T>, console: &mut Console) {
    match outcome {
        Outcome::DoneBefore => console.note("done before"),
        Outcome::NotNeeded { after } => {
            console.note(format_args!("not needed: the template no longer moves after pass {after}"));
        }
        Outcome::Done(_) | Outcome::LeftOut(_) => {}
    }
}
