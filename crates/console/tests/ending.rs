//! Tests of the end of a program that runs its command in a child process. This program forks, which needs a process
//! with one thread, so it has no test harness: it starts itself, and the variable `CASE` says what it does then.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "a function that C calls at the end of a process")]

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use antsreg_console::{ending, interruption};
use antsreg_register::{Description, Device};
use rustix::process::{Pid, Signal, kill_process};

/// How long the child process takes to end after its command.
const END: Duration = Duration::from_secs(3);

extern "C" fn end_slowly() {
    std::thread::sleep(END);
}

/// What the command does in each case.
fn command(case: &str) -> u8 {
    if case != "plain" {
        let name = String::new();
        let (compute_capability, driver_cuda) = (name.clone(), name.clone());
        let gpu = Description::Cuda { index: 0, name, compute_capability, driver_cuda, memory_bytes: 0 };
        ending::keep_open(&Device::cpu_described_as(gpu));
    }
    // SAFETY: the function takes no argument and does not panic.
    unsafe { libc::atexit(end_slowly) };
    match case {
        "killed" => kill_process(rustix::process::getpid(), Signal::KILL).expect("the signal is sent"),
        "interrupted" => {
            interruption::clean_up_on_signals();
            println!("ready");
            std::thread::sleep(Duration::from_secs(60));
        }
        _ => {
            println!("done");
            ending::leave(Freed);
        }
    }
    7
}

/// A value that tells when it is freed.
struct Freed;

impl Drop for Freed {
    fn drop(&mut self) {
        println!("freed");
    }
}

/// Runs a case, and returns its status, its output, and the seconds until both the process and its output ended. The
/// signals are sent as soon as the command has written a line.
fn run(case: &str, signals: &[Signal]) -> (ExitStatus, String, f64) {
    run_ignoring("", case, signals)
}

/// Like [`run`], in a process that is started with one signal ignored.
fn run_ignoring(ignored: &str, case: &str, signals: &[Signal]) -> (ExitStatus, String, f64) {
    let began = Instant::now();
    let own = std::env::current_exe().expect("this program");
    let script = format!("trap '' {ignored}; exec \"$0\"");
    let mut shell = Command::new("sh");
    let started = shell.arg("-c").arg(if ignored.is_empty() { "exec \"$0\"" } else { &script }).arg(own);
    let mut process = started.env("CASE", case).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut output = process.stdout.take().expect("a pipe");
    let mut text = String::new();
    if !signals.is_empty() {
        let mut line = [0; 6];
        output.read_exact(&mut line).expect("a line");
        text += &String::from_utf8_lossy(&line);
    }
    for signal in signals {
        kill_process(Pid::from_child(&process), *signal).expect("the signal is sent");
    }
    output.read_to_string(&mut text).expect("the output");
    let status = process.wait().expect("its end");
    (status, text, began.elapsed().as_secs_f64())
}

fn main() {
    if let Ok(case) = std::env::var("CASE") {
        std::process::exit(ending::in_child(|| command(&case)).into());
    }
    let end = END.as_secs_f64();

    let (status, output, seconds) = run("plain", &[]);
    assert_eq!((status.code(), output.as_str()), (Some(7), "done\nfreed\n"), "without a GPU");
    assert!(seconds >= end, "without a GPU the end of the command's process is waited for: {seconds} s");

    let (status, output, seconds) = run("gpu", &[]);
    assert_eq!((status.code(), output.as_str()), (Some(7), "done\n"), "with a GPU");
    assert!(seconds < end, "the end of a process with a GPU is waited for: {seconds} s");

    let (status, _, _) = run("killed", &[]);
    assert_eq!(status.signal(), Some(9), "the signal that killed the command");

    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (status, output, _) = run("interrupted", &[signal]);
        assert_eq!((status.code(), output.as_str()), (Some(code), "ready\n"), "a signal is passed on");
    }

    let (status, _, seconds) = run("interrupted", &[Signal::KILL]);
    assert_eq!(status.signal(), Some(9));
    assert!(seconds < 30.0, "the command goes on although its parent was killed: {seconds} s");

    let (status, ..) = run_ignoring("CHLD", "gpu", &[]);
    assert_eq!(status.code(), Some(7), "the exit code does not depend on SIGCHLD");
    let (status, ..) = run_ignoring("CHLD", "plain", &[]);
    assert_eq!(status.code(), Some(7), "the exit code does not depend on SIGCHLD");

    // If SIGINT ended the command, the code would be 130.
    let (status, ..) = run_ignoring("INT", "interrupted", &[Signal::INT, Signal::TERM]);
    assert_eq!(status.code(), Some(143), "an ignored SIGINT stays ignored");
}
