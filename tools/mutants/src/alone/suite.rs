//! All tests of a crate, for mutants of which nobody knows what tests reach them.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Failure;
use crate::run::{Baseline, End, Program, Settings, Test};

/// Test programs with the times of their tests.
#[derive(Debug)]
pub struct Suite {
    programs: Vec<Program>,
    baseline: Baseline,
}

impl Suite {
    /// Takes the programs at the paths `programs`, which cargo has built without a mutant from the files of the folder
    /// `package`. Runs each test once, unless `out` has their times for the same files; else the results there, which
    /// belong to other files, are removed.
    pub fn new(mut programs: Vec<PathBuf>, package: &Path, out: &Path, settings: &Settings) -> Result<Self, Failure> {
        // Cargo lists programs in the order in which they are ready.
        programs.sort();
        let programs: Vec<Program> =
            programs.into_iter().map(|path| Program { path, package: package.to_owned() }).collect();
        let mut state = DefaultHasher::new();
        hash(package, &mut state)?;
        let baseline = Baseline::kept(out, &programs, state.finish(), settings)?;
        Ok(Self { programs, baseline })
    }

    /// Runs the tests, the fastest first, until one fails. Returns how it ended, and its name.
    pub fn first_to_fail(&self, settings: &Settings) -> Result<Option<(End, &str)>, Failure> {
        let failed = Mutex::new(None);
        let next = AtomicUsize::new(0);
        let worker = || -> Result<(), Failure> {
            while failed.lock().expect("no worker panics").is_none()
                && let Some(test) = self.baseline.tests.get(next.fetch_add(1, Ordering::Relaxed))
                && test.seconds <= settings.longest
            {
                let end = self.run(test, settings)?;
                if end != End::Passed {
                    failed.lock().expect("no worker panics").get_or_insert((end, test.name.as_str()));
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..settings.jobs).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
        })?;
        Ok(failed.into_inner().expect("no worker panics"))
    }

    /// Runs a test. Programs without a switch ignore the variable that others read.
    fn run(&self, test: &Test, settings: &Settings) -> Result<End, Failure> {
        self.programs[test.program].run(&test.name, ("MUTANT", OsStr::new("0")), &settings.limits(test.seconds))
    }
}

/// Hashes names and contents of the files of a folder.
fn hash(folder: &Path, state: &mut DefaultHasher) -> Result<(), Failure> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    for path in paths {
        path.hash(state);
        if path.is_dir() {
            hash(&path, state)?;
        } else {
            fs::read(&path)?.hash(state);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::*;

    const SETTINGS: Settings =
        Settings { jobs: 2, minimum_timeout: Duration::from_secs(1), memory: 1 << 30, longest: f64::INFINITY };

    /// Two new folders, for a package and for results.
    fn folders(folder: &Path) -> [PathBuf; 2] {
        ["package", "out"].map(|name| {
            fs::create_dir(folder.join(name)).unwrap();
            folder.join(name)
        })
    }

    /// A program with the tests `quick` and `slow`; `broken` names the file that lets `slow` fail.
    fn program(folder: &Path, broken: &Path) -> PathBuf {
        let path = folder.join("program");
        let list = "if [ $# = 2 ]; then echo quick: test; echo slow: test; fi";
        let slow = format!("if [ \"$2\" = slow ]; then sleep 0.2; test ! -e {}; fi", broken.display());
        fs::write(&path, format!("#!/bin/sh\ncase $1 in --list) {list};; *) {slow};; esac\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_first_test_that_fails_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let [package, out] = folders(folder.path());
        let broken = folder.path().join("broken");
        let suite = Suite::new(vec![program(folder.path(), &broken)], &package, &out, &SETTINGS).unwrap();
        assert_eq!(suite.first_to_fail(&SETTINGS).unwrap(), None);
        fs::write(&broken, "").unwrap();
        assert_eq!(suite.first_to_fail(&SETTINGS).unwrap(), Some((End::Failed, "slow")));
        let quick = Settings { longest: 0.1, ..SETTINGS };
        assert_eq!(suite.first_to_fail(&quick).unwrap(), None, "slow tests may be left out");
    }

    #[test]
    fn results_of_other_files_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let [package, out] = folders(folder.path());
        let results = out.join("results.tsv");
        let keeps_results = |text: &str| {
            fs::write(package.join("lib.rs"), text).unwrap();
            Suite::new(vec![], &package, &out, &SETTINGS).unwrap();
            let kept = results.exists();
            fs::write(&results, "").unwrap();
            kept
        };
        assert!(!keeps_results("a"));
        assert!(keeps_results("a"), "an interrupted run goes on");
        assert!(!keeps_results("b"));
    }
}
