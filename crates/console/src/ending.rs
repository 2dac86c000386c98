//! The end of a program that used a GPU. When a process ends, the driver takes 0.1 s to release its GPU, although all
//! outputs are written. So the command runs in a child process, and the process that the user started ends as soon as
//! the command has.
#![expect(unsafe_code, reason = "Rust has no safe function that forks a process")]

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};

use antsreg_register::Device;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use crate::interruption;

/// Whether a GPU stays open until the process ends.
static KEPT: AtomicBool = AtomicBool::new(false);

/// Keeps a GPU open until the process ends, which [`in_child`] does not wait for. A GPU that only one process at a time
/// may use is released as without this call, because the next process needs it.
pub fn keep_open(device: &Device) {
    if device.is_gpu() && !device.is_exclusive() {
        std::mem::forget(device.clone());
        KEPT.store(true, Ordering::Relaxed);
    }
}

/// Leaves a value in memory until the process ends, if a GPU stays open. The system takes 10 ms to free large volumes.
pub fn leave<T>(value: T) {
    if KEPT.load(Ordering::Relaxed) {
        std::mem::forget(value);
    }
}

/// Runs a command in a child process and returns the command's exit code: if the command has kept a GPU open, as soon
/// as the command has ended, otherwise after the child process has ended. Signals that end a program are passed on to
/// the child. If the child is killed by a signal, so is this process. Must be called by a process with one thread.
pub fn in_child(command: impl FnOnce() -> u8) -> u8 {
    let (Ok((from_child, to_parent)), Ok((from_parent, to_child))) = (std::io::pipe(), std::io::pipe()) else {
        return command();
    };
    let parent = rustix::process::getpid();
    // SAFETY: this process has one thread. So no other thread holds a lock that stays locked in the child, and none
    // handles signals. If SIGCHLD stayed ignored, as some programs leave it, the system would keep no exit code.
    match unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::fork()
    } {
        0 => {
            drop((from_child, to_child));
            child(parent, from_parent, to_parent, command)
        }
        id => match Pid::from_raw(id).filter(|_| id > 0) {
            Some(child) => {
                drop((from_parent, to_parent));
                wait(child, to_child, from_child)
            }
            None => command(),
        },
    }
}

/// The child process: runs the command as soon as the parent passes signals on, then tells its exit code to the parent.
fn child(parent: Pid, mut from_parent: PipeReader, mut to_parent: PipeWriter, command: impl FnOnce() -> u8) -> ! {
    // The parent writes nothing: it closes its end of the pipe.
    let _ = from_parent.read(&mut [0]);
    if !end_with(parent) {
        exit(1);
    }
    let code = command();
    if KEPT.load(Ordering::Relaxed) {
        end_alone();
        // The parent sees the end of this process if it cannot read the code.
        let _ = to_parent.write_all(&[code]);
        drop(to_parent);
    }
    exit(code.into())
}

/// Makes this process get SIGTERM when its parent is killed. False if the parent has ended already.
fn end_with(parent: Pid) -> bool {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
    rustix::process::getppid() == Some(parent)
}

/// Separates this process from its parent and from those who read its output: they wait until all writers have ended.
fn end_alone() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(None);
    if let Ok(nothing) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&nothing);
        let _ = rustix::stdio::dup2_stdout(&nothing);
        let _ = rustix::stdio::dup2_stderr(&nothing);
    }
}

/// The parent process: lets the child begin, then waits until it tells the exit code of the command, or ends.
fn wait(child: Pid, to_child: PipeWriter, mut from_child: PipeReader) -> u8 {
    // If no thread can be started, a signal ends this process, and the child gets SIGTERM.
    let _ = interruption::watch_signals(move |signal| {
        // The child may have ended.
        let _ = Signal::from_named_raw(signal).map(|signal| rustix::process::kill_process(child, signal));
    });
    drop(to_child);
    let mut code = [0];
    match from_child.read_exact(&mut code) {
        Ok(()) => code[0],
        Err(_) => end_of(child),
    }
}

/// Waits for the end of the child and returns its exit code, or ends this process by the signal that killed the child.
fn end_of(child: Pid) -> u8 {
    let status = loop {
        match rustix::process::waitpid(Some(child), WaitOptions::empty()) {
            Err(Errno::INTR) => (),
            Err(_) | Ok(None) => return 1,
            Ok(Some((_, status))) => break status,
        }
    };
    let number = |code: i32| u8::try_from(code).unwrap_or(1);
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => number(code),
        (None, Some(signal)) => {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            number(128 + signal)
        }
        (None, None) => 1,
    }
}
