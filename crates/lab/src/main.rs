//! antsreg-lab: measurements of the methods of antsreg-gpu on this machine, as tables and plots.

use std::process::ExitCode;

use antsreg_lab::{Error, cost_curves, histograms, papers};
use clap::{Parser, Subcommand};

/// Measure the methods of antsreg-gpu on this machine, as tables and plots.
///
/// Tables go to standard output, everything else to standard error. Exit code: 0 done, 1 failed, 2 command line not
/// understood.
#[derive(Debug, Parser)]
#[command(name = "antsreg-lab", version, max_term_width = 110)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    measurement: Measurement,
}

#[derive(Debug, Subcommand)]
enum Measurement {
    CostCurves(cost_curves::Args),
    Histograms(histograms::Args),
    Papers(papers::Args),
}

fn run(cli: &Cli) -> Result<(), Error> {
    match &cli.measurement {
        Measurement::CostCurves(args) => cost_curves::run(args),
        Measurement::Histograms(args) => histograms::run(args),
        Measurement::Papers(args) => papers::run(args),
    }
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
