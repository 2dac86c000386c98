//! `antsreg-fuzz`: tests the readers of files and command lines with randomly damaged inputs, for a time or a number of
//! inputs. Inputs at which a reader fails are kept.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use antsreg_fuzz::{Budget, TARGETS, run};
use clap::Parser;

/// Gives millions of damaged files and command lines to everything that antsreg-gpu reads
#[derive(Debug, Parser)]
struct Args {
    /// Names of the readers (of files or command lines) to test [default: all]
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Largest number of damaged inputs for each reader
    #[arg(long, value_name = "N", default_value_t = u64::MAX)]
    executions: u64,
    /// Time to test each reader, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    seconds: f64,
    /// Seed of the random numbers; the same seed gives the same inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Folder to which the inputs at which a reader fails are written
    #[arg(long, value_name = "FOLDER", default_value = "fuzz-failures")]
    keep: PathBuf,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match fuzz(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Tests the chosen readers with damaged inputs. Returns whether no reader failed at any input.
fn fuzz(args: &Args) -> Result<bool, Box<dyn std::error::Error>> {
    if let Some(unknown) = args.targets.iter().find(|name| TARGETS.iter().all(|target| target.name != **name)) {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        return Err(format!("there is no fuzzing target {unknown}; the targets are {}", names.join(", ")).into());
    }
    // One thread computes, so that all memory that is allocated during the reading of an input is counted for this
    // input.
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let budget = Budget { executions: args.executions, time: Duration::try_from_secs_f64(args.seconds)? };
    // Panics of the readers under test print no message, because each failure is reported later with its input.
    std::panic::set_hook(Box::new(|_| ()));
    let mut all = 0;
    let mut failed = false;
    for target in
        TARGETS.iter().filter(|target| args.targets.is_empty() || args.targets.iter().any(|name| name == target.name))
    {
        let report = run(target, args.seed, budget)?;
        all += report.executions;
        println!(
            "{:<13} {:>10} inputs in {:>7.1} s; for one input at most {:>6.1} ms and {:>6.1} MB; {} different failures",
            target.name,
            report.executions,
            report.time.as_secs_f64(),
            1e3 * report.longest.as_secs_f64(),
            report.most_bytes as f64 / 1e6,
            report.failures.len()
        );
        for (n, failure) in report.failures.iter().enumerate() {
            failed = true;
            std::fs::create_dir_all(&args.keep)?;
            let path = args.keep.join(format!("{}-{}-{n}", target.name, args.seed));
            std::fs::write(&path, &failure.input)?;
            println!("  {}: {}", path.display(), failure.what);
        }
    }
    println!("{all} inputs in all");
    Ok(!failed)
}
