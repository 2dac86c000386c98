//! The command `LabelOverlapMeasures`: measures the agreement of two label maps.

use std::path::Path;

use antsreg_console::{CliError, output::print};
use antsreg_core::Overlap;
use antsreg_core::io::nifti::GridRule;
use antsreg_core::io::outputs;

use super::words::positional;
use crate::call::Call;

const USAGE: &str = "\
LabelOverlapMeasures DIMENSION SOURCE TARGET [OUTPUT.csv]

Served by antsreg-gpu. Without OUTPUT the table is printed.
";

/// Runs `LabelOverlapMeasures`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([dimension, source, target, rest @ ..]) = positional(&call.arguments, 3..=4, USAGE)? else {
        return Ok(());
    };
    super::dimension(dimension)?;
    let output = rest.first().map(Path::new);
    let (source, target) = (Path::new(source), Path::new(target));
    outputs::check(output, [source, target])?;
    let [source, target] = [source, target].map(|path| GridRule::Itk.read_labels(path));
    let overlap = Overlap::between(&source?, &target?, None)?;
    match output {
        Some(output) => Ok(outputs::write_file(output, overlap.to_csv().as_bytes())?),
        None => print(&overlap.to_csv()),
    }
}
