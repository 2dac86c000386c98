//! Runs the mutants that no switch can hold: each alone in the text, with the tests built again.

mod suite;

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::Failure;
use crate::build::{self, Cargo};
use crate::list::Mutant;
use crate::run::{End, Log, Outcome, RESULTS, Reasons, Settings, Summary};
use crate::source::Source;
use crate::tree::Tree;
use suite::Suite;

/// Profile of the workspace whose builds are quick after a small change.
const PROFILE: &str = "mutants";

/// Runs the mutants of the package `antsreg-NAME` that compile, but not behind the switch, and have no result yet.
/// Writes the copy of the workspace and what cargo builds to the folder `work`, and files like those of
/// [`run`](crate::run::run) to the folder `out`. Results belong to one state of the crate's files.
pub fn alone(
    workspace: &Path,
    work: &Path,
    name: &str,
    out: &Path,
    settings: &Settings,
    reasons: &Reasons,
) -> Result<Summary, Failure> {
    let package = format!("antsreg-{name}");
    let mutants = build::without_switch(workspace, work, name, &package, settings.jobs)?;
    let tree = Tree::copy(workspace, &work.join("tree"))?;
    let target = work.join("target");
    let cargo = Cargo { tree: &tree, target, package: &package, profile: PROFILE, jobs: settings.jobs };
    let programs = cargo.build_tests()??.into_iter().map(|(_, path)| path).collect();
    fs::create_dir_all(out)?;
    let suite = Suite::new(programs, &tree.folder().join("crates").join(name), out, settings)?;
    let (mut log, done) = Log::open(&out.join(RESULTS))?;
    for mutant in mutants.iter().filter(|mutant| !done.contains(&mutant.name)) {
        let began = Instant::now();
        let source = tree.source(&mutant.file)?;
        tree.write(&mutant.file, mutated(&source, mutant).as_bytes())?;
        let (outcome, test) = match cargo.build_tests()? {
            Ok(_) => outcome(&suite, settings)?,
            Err(_) => (Outcome::Unviable, ""),
        };
        tree.write(&mutant.file, source.text().as_bytes())?;
        eprintln!("{outcome}: {}", mutant.name);
        log.push(outcome, began.elapsed().as_secs_f64(), test, &mutant.name)?;
    }
    Summary::write(out, reasons)
}

/// What became of the mutant in the programs, and the test that noticed it.
fn outcome<'a>(suite: &'a Suite, settings: &Settings) -> Result<(Outcome, &'a str), Failure> {
    Ok(match suite.first_to_fail(settings)? {
        None => (Outcome::Missed, ""),
        Some((End::Timeout, test)) => (Outcome::Timeout, test),
        Some((_, test)) => (Outcome::Caught, test),
    })
}

/// Text of a file with one mutant in it.
fn mutated(source: &Source, mutant: &Mutant) -> String {
    let mut text = source.text().to_owned();
    text.replace_range(source.bytes(&mutant.span), &mutant.replacement);
    text
}
