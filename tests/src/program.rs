//! Runs the program `antsreg-gpu` as a user does.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use antsreg_core::Grid;
use nalgebra::Matrix3;
use serde_json::Value;
use tempfile::TempDir;

use crate::{Brain, grid};

/// A temporary folder in which the program runs. It is removed on drop.
#[derive(Debug)]
pub struct Workplace {
    folder: TempDir,
}

/// The outcome of a run of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// Text on standard output.
    pub stdout: String,
    /// Text on standard error.
    pub stderr: String,
}

impl Workplace {
    /// Makes an empty temporary folder.
    #[expect(clippy::new_without_default, reason = "making a folder is more than a default")]
    pub fn new() -> Workplace {
        Workplace { folder: TempDir::new().expect("a temporary folder") }
    }

    /// Makes a folder with a pair of small synthetic brains, `f.nii.gz` and `m.nii.gz`, and the labels of the fixed
    /// brain, `fl.nii.gz`.
    pub fn with_pair() -> Workplace {
        let place = Workplace::new();
        let onto = grid(8.0, [0.0; 3], Matrix3::identity());
        Brain::standard().write_image(&onto, &place.path("f.nii.gz"));
        Brain::standard().write_image(&onto, &place.path("m.nii.gz"));
        Brain::standard().write_labels(&onto, &place.path("fl.nii.gz"));
        place
    }

    /// The path of a file in the test folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes bytes to a file in the test folder and returns the file's name.
    pub fn file<'a>(&self, name: &'a str, bytes: &[u8]) -> &'a str {
        std::fs::write(self.path(name), bytes).expect("a file in the temporary folder");
        name
    }

    /// Writes a fixed brain and its labels as `f.nii.gz` and `fl.nii.gz`, and a moving brain as `m.nii.gz` and
    /// `ml.nii.gz`.
    pub fn write_pair(&self, (fixed, on_fixed): (&Brain, &Grid), (moving, on_moving): (&Brain, &Grid)) {
        for (brain, grid, name) in [(fixed, on_fixed, "f"), (moving, on_moving, "m")] {
            brain.write_image(grid, &self.path(&format!("{name}.nii.gz")));
            brain.write_labels(grid, &self.path(&format!("{name}l.nii.gz")));
        }
    }

    /// The bytes of a file in the test folder.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Reads the JSON record of a registration, or another JSON file in the test folder.
    pub fn record(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Names of all files and folders in the folder, including hidden ones, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("the temporary folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Makes a command that runs the program with these arguments in this folder.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_remove("RUST_BACKTRACE").env_remove("RAYON_NUM_THREADS");
        command
    }

    /// Runs the program with the words of a line as arguments.
    pub fn run(&self, line: &str) -> Run {
        self.run_with(line.split_whitespace())
    }

    /// Runs the program with these arguments.
    pub fn run_with<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Run {
        let output = self.command(arguments).output().expect("the program starts");
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }

    /// Runs the program and checks that it succeeds.
    pub fn succeed(&self, line: &str) -> Run {
        let run = self.run(line);
        assert_eq!(run.code, Some(0), "antsreg-gpu {line}\n{}", run.stderr);
        run
    }

    /// Runs the program and checks that it fails with this exit code, prints no result and writes no file. Returns the
    /// message.
    pub fn refuse(&self, code: i32, line: &str) -> String {
        let before = self.names();
        let run = self.run(line);
        assert_eq!(run.code, Some(code), "antsreg-gpu {line}\n{}{}", run.stdout, run.stderr);
        assert_eq!(self.names(), before, "antsreg-gpu {line} left something behind");
        assert_eq!(run.stdout, "", "antsreg-gpu {line} printed a result");
        run.stderr
    }
}

/// Path of the program `antsreg-gpu`. Cargo builds it before the tests of this package.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        // The test program is in target/PROFILE/deps or target/PROFILE/examples, the program in target/PROFILE.
        let test = std::env::current_exe().expect("the path of this test");
        let folder = test.ancestors().nth(2).expect("the folder of the profile");
        let program = folder.join(format!("antsreg-gpu-tested{}", std::env::consts::EXE_SUFFIX));
        assert!(program.exists(), "{} is missing: cargo test -p antsreg-tests --no-run", program.display());
        program
    })
}
