//! Ctrl-C and termination signals: the program removes unfinished outputs, says which files remain, and ends with the
//! exit code that shells use for signals.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use antsreg_core::io::outputs;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::output::say;

/// The exit code after a signal is this number plus the signal's number, as in shells: 130 after Ctrl-C, 143 after
/// SIGTERM.
const INTERRUPTED: i32 = 128;

/// Whether the same command can continue from finished files after an interruption.
static RESUMABLE: AtomicBool = AtomicBool::new(false);

/// Installs the signal handlers. Must be called once, before any output is written.
pub fn clean_up_on_signals() {
    // With a handler for the signal SIGXFSZ, a write beyond the limit on file sizes returns an error and does not kill
    // the program.
    let limited = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let watched = limited.and_then(|_| watch_signals(|signal| end(signal)));
    if let Err(error) = watched {
        say(format_args!("warning: Ctrl-C may leave temporary files behind: {error}"));
    }
}

/// Marks the running command as resumable: after an interruption, the same command continues from the finished files.
pub fn resumable() {
    RESUMABLE.store(true, Ordering::Relaxed);
}

/// Tries again to remove temporary files that could not be removed, and warns about files that remain. Must be called
/// at the end of a command.
pub fn clean_up() {
    warn_of(&outputs::remove_unfinished());
}

/// Starts a thread that calls the function `act` with each signal that ends a program.
pub(crate) fn watch_signals(act: impl Fn(i32) + Send + 'static) -> std::io::Result<()> {
    // A signal that the program was started to ignore stays ignored: SIGHUP under `nohup`, SIGINT in the background of a
    // script.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !starts_ignored(*signal)))?;
    std::thread::Builder::new().name("signals".into()).spawn(move || signals.forever().for_each(act))?;
    Ok(())
}

/// Whether the parent of this process has set the given signal to be ignored, as `nohup` does with SIGHUP. False if the
/// system does not say.
fn starts_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Ends the program after a signal.
fn end(signal: i32) -> ! {
    // While the guard `stopped` exists, no further output file is renamed from its temporary to its final name. The
    // guard exists until the process ends. So either all output files of a set have their final names, or none has.
    let mut stopped = outputs::stop_commits();
    let what = if RESUMABLE.load(Ordering::Relaxed) {
        "run the same command again to continue"
    } else if stopped.any_output_written() {
        "finished output files are kept"
    } else {
        "no output was written"
    };
    say(format_args!("\ninterrupted: {what}"));
    warn_of(&stopped.remove_unfinished());
    std::process::exit(INTERRUPTED + signal);
}

fn warn_of(left: &[PathBuf]) {
    for path in left {
        say(format_args!("warning: {}: the temporary file could not be removed", path.display()));
    }
}
