//! `antsreg-mutants`: prepares and runs the mutants of a crate.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use antsreg_mutants::alone::alone;
use antsreg_mutants::run::{Reasons, Settings, run};
use antsreg_mutants::{Failure, build};
use clap::Parser;

/// Tests the tests of a crate with mutants, all in one build
#[derive(Debug, Parser)]
enum Args {
    /// Build the tests of crates with their mutants; needs cargo-mutants
    Prepare {
        /// Crates, such as `syn`
        #[arg(required = true, value_name = "CRATE")]
        crates: Vec<String>,
        /// Folder for the copy of the workspace and the test programs
        #[arg(long, value_name = "FOLDER", default_value = "target/mutants")]
        work: PathBuf,
        /// Number of compilers at once
        #[arg(long, value_name = "N", default_value_t = 2)]
        jobs: usize,
    },
    /// Run the mutants that have no result yet; needs no cargo
    Run(Run),
    /// Build and run the mutants that no switch can hold and that have no result yet, each alone; needs cargo-mutants
    Alone(Run),
}

#[derive(Debug, clap::Args)]
struct Run {
    /// Crates, such as `syn`
    #[arg(required = true, value_name = "CRATE")]
    crates: Vec<String>,
    /// Folder of the copy of the workspace and the test programs. Tests read the copy, so it stays at its path
    #[arg(long, value_name = "FOLDER", default_value = "target/mutants")]
    work: PathBuf,
    /// Folder for the results; those of an earlier build are removed
    #[arg(long, value_name = "FOLDER", default_value = "target/mutants/results")]
    out: PathBuf,
    /// Number of tests, or compilers, at once
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// A test that takes longer, and ten times as long as without a mutant, counts as hanging
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    minimum_timeout: f64,
    /// Largest address space of a test
    #[arg(long, value_name = "GB", default_value_t = 8.0)]
    memory: f64,
    /// Leave out tests that take longer without a mutant; what survives may still be noticed by them
    #[arg(long, value_name = "SECONDS", default_value_t = f64::INFINITY)]
    longest: f64,
    /// Table of the survivors that need no test: description, tab, reason
    #[arg(long, value_name = "FILE", default_value = "tools/mutants/reasons.tsv")]
    reasons: PathBuf,
}

impl Run {
    fn settings(&self) -> Result<Settings, Failure> {
        let minimum_timeout = Duration::try_from_secs_f64(self.minimum_timeout)?;
        let memory = (self.memory * 1e9) as u64;
        Ok(Settings { jobs: self.jobs, minimum_timeout, memory, longest: self.longest })
    }
}

fn main() -> ExitCode {
    match act(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn act(args: Args) -> Result<(), Failure> {
    match args {
        Args::Prepare { crates, work, jobs } => {
            std::fs::create_dir_all(&work)?;
            let work = std::fs::canonicalize(work)?;
            for name in crates {
                let manifest = build::prepare(&std::env::current_dir()?, &work, &name, jobs)?;
                println!(
                    "{name}: {} mutants behind the switch, {} do not compile, {} left to `alone`",
                    manifest.mutants.len(),
                    manifest.unviable.len(),
                    manifest.left.len()
                );
            }
        }
        Args::Run(args) => {
            let (settings, reasons) = (args.settings()?, Reasons::read(&args.reasons)?);
            for name in &args.crates {
                println!("{name}: {}", run(&args.work.join(name), &args.out.join(name), &settings, &reasons)?);
            }
        }
        Args::Alone(args) => {
            let (settings, reasons) = (args.settings()?, Reasons::read(&args.reasons)?);
            std::fs::create_dir_all(&args.work)?;
            let work = std::fs::canonicalize(&args.work)?;
            for name in &args.crates {
                let out = args.out.join(format!("{name}-alone"));
                let summary = alone(&std::env::current_dir()?, &work, name, &out, &settings, &reasons)?;
                println!("{name}: {summary}");
            }
        }
    }
    Ok(())
}
