//! The flag `--version` of ANTs' commands, whose output nipype and scripts read.

use antsreg_console::{CliError, output::print};

/// The release of ANTs whose command lines are understood.
const ANTS: &str = "2.6.5";

/// Prints the version.
///
/// # Errors
/// Standard output is closed or full.
pub fn print_version() -> Result<(), CliError> {
    let own = env!("CARGO_PKG_VERSION");
    print(&format!("ANTs Version: {ANTS}-antsreg-gpu-{own}\nCompiled: by antsreg-gpu {own}, not by ANTs\n"))
}
