//! Tests of Ctrl-C and full disks: after the program has ended, exactly the files from before must exist.
#![cfg(unix)]

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::Matrix3;
use rustix::process::{Pid, Signal, kill_process};

fn pair() -> Workplace {
    let place = Workplace::new();
    let onto = grid(3.0, [0.0; 3], Matrix3::identity());
    Brain::standard().write_image(&onto, &place.path("f.nii.gz"));
    Brain { warp_mm: 4.0, ..Brain::standard() }.write_image(&onto, &place.path("m.nii.gz"));
    place
}

/// Starts a registration, sends it a signal when `ready` returns true, and returns exit code and messages.
fn interrupted(place: &Workplace, log: &Path, signal: Signal, ready: impl Fn() -> bool) -> (Option<i32>, String) {
    // The registration runs on the CPU, so that it is still running when the signal is sent.
    let line = "register -f f.nii.gz -m m.nii.gz -o p -t syn-only --device cpu --iterations 5x5x5 --shrink-factors 4x2x1 \
        --smoothing-sigmas 0x0x0 --log";
    let arguments = line.split_whitespace().map(OsStr::new).chain([log.as_os_str()]);
    let mut child =
        place.command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let began = Instant::now();
    while !ready() && began.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let pid = Pid::from_raw(child.id() as i32).expect("a process");
    assert_eq!(child.try_wait().expect("its state"), None, "the program ended before the signal");
    kill_process(pid, signal).expect("the signal is sent");
    let output = child.wait_with_output().expect("the program ends");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn an_interrupted_run_leaves_what_was_there() {
    let place = pair();
    place.file("pWarped.nii.gz", b"from an earlier run");
    let before = place.names();
    // The log file stays after an interruption, so it is written to another folder than the outputs.
    let elsewhere = Workplace::new();
    let log = elsewhere.path("run.log");
    let computing = || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("iteration 1 of"));
    // The hidden folder for unfinished outputs contains a file only while output files are being written.
    let writing = || {
        let hidden = place.names().into_iter().filter(|name| name.starts_with(".antsreg-partial-"));
        hidden
            .map(|name| place.path(&name))
            .any(|folder| folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()))
    };
    let cases: [(Signal, &dyn Fn() -> bool, i32); 3] =
        [(Signal::INT, &computing, 130), (Signal::INT, &writing, 130), (Signal::TERM, &writing, 143)];
    for (signal, ready, expected) in cases {
        let (code, message) = interrupted(&place, &log, signal, ready);
        std::fs::remove_file(&log).expect("the log");
        assert_eq!(code, Some(expected), "{message}");
        assert!(message.contains("interrupted: no output was written"), "{message}");
        assert_eq!(place.names(), before);
        assert_eq!(place.read("pWarped.nii.gz"), b"from an earlier run");
    }
}

#[test]
fn what_nohup_has_switched_off_does_not_interrupt() {
    let place = pair();
    let log = place.path("run.log");
    let line = "register -f f.nii.gz -m m.nii.gz -o p -t syn-only --device cpu --no-warped --log run.log";
    let command = place.command(line.split_whitespace());
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    let mut child = shell
        .current_dir(command.get_current_dir().expect("a folder"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    // Standard error is closed here, as when a user has closed the terminal. The program must continue nevertheless.
    drop(child.stderr.take());
    let began = Instant::now();
    let computing = || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("iteration 1 of"));
    while !computing() && began.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(child.try_wait().expect("its state"), None, "the program ended before the signal");
    kill_process(Pid::from_raw(child.id() as i32).expect("a process"), Signal::HUP).expect("the signal is sent");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(place.names().contains(&"p1Warp.nii.gz".to_owned()), "{:?}", place.names());
}

#[test]
fn a_disk_that_fills_up_is_an_error_that_names_the_file() {
    let place = pair();
    place.file("w.nii.gz", b"from an earlier run");
    let before = place.names();
    let command = place.command(["apply", "-i", "m.nii.gz", "-r", "f.nii.gz", "-o", "w.nii.gz"]);
    // A limit on file sizes makes a write fail, as a full disk does.
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 8; exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    let output = shell.current_dir(command.get_current_dir().expect("a folder")).output().expect("a shell");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.starts_with("error: w.nii.gz: ") && message.contains("File too large"), "{message}");
    assert_eq!(place.names(), before);
    assert_eq!(place.read("w.nii.gz"), b"from an earlier run");
}
