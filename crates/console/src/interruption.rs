//! Ctrl-C and termination signals: unfinished outputs are removed, a message says what is left, the exit code is the shell's.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use antsreg_core::io::outputs;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::output::say;

/// What a signal's number is added to for an exit code, as shells have it: 130 after Ctrl-C, 143 after SIGTERM.
const INTERRUPTED: i32 = 128;

/// Whether files that were written before an interruption stay, so that the same command goes on from them.
static RESUMABLE: AtomicBool = AtomicBool::new(false);

/// Starts to handle signals. To be called once, before any output is written.
pub fn clean_up_on_signals() {
    if let Err(error) = watch_signals() {
        say(format_args!("warning: Ctrl-C may leave temporary files behind: {error}"));
    }
}

/// From now on an interrupted command can be run again and goes on from the files that are finished.
pub fn resumable() {
    RESUMABLE.store(true, Ordering::Relaxed);
}

/// Removes temporary files that could not be removed before; warns of those that remain. To be called when a command ends.
pub fn clean_up() {
    warn_of(&outputs::remove_unfinished());
}

fn watch_signals() -> std::io::Result<()> {
    // Where file sizes are limited, a file too large is then an error of its writer and not the end of the program.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    // What `nohup` has switched off stays off.
    if !starts_ignored(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            end(signal);
        }
    })?;
    Ok(())
}

/// Whether this process was started to ignore a signal; no where the system does not say.
fn starts_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Ends the program after a signal.
fn end(signal: i32) -> ! {
    // Until the process ends: all files of a set have their names, or none has.
    let mut stopped = outputs::stop_commits();
    let what = if RESUMABLE.load(Ordering::Relaxed) {
        "the same command goes on from here"
    } else if stopped.any_output_written() {
        "what was complete stays"
    } else {
        "no output was written"
    };
    say(format_args!("\ninterrupted: {what}"));
    warn_of(&stopped.remove_unfinished());
    std::process::exit(INTERRUPTED + signal);
}

fn warn_of(left: &[PathBuf]) {
    for path in left {
        say(format_args!("warning: {}: could not be removed", path.display()));
    }
}
