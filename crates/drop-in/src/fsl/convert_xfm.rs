//! The command `convert_xfm`: inverts and multiplies FSL's matrices.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Refusal, output::print};
use antsreg_core::io::{fsl, outputs};

use super::names::existing;
use crate::call::Call;

const USAGE: &str = "\
convert_xfm [-omat OUT] -inverse MATRIX
convert_xfm [-omat OUT] -concat B_TO_C A_TO_B

Served by antsreg-gpu. Without -omat the matrix is printed.
";

/// Runs `convert_xfm`.
///
/// # Errors
/// An argument that is wrong or not supported; a matrix that cannot be read, inverted or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    if call.arguments.is_empty() || call.arguments.iter().any(|word| word == "-help" || word == "-h") {
        return print(USAGE);
    }
    let (mut output, mut inverse, mut second, mut input) = (None, false, None, None);
    let mut words = call.arguments.iter();
    while let Some(word) = words.next() {
        let mut value =
            || words.next().ok_or_else(|| Refusal::new(word, "expected the name of a file after this option"));
        match word.as_str() {
            "-omat" => output = Some(PathBuf::from(value()?)),
            "-concat" => second = Some(existing(word, value()?)?),
            "-inverse" => inverse = true,
            "-fixscaleskew" => {
                return Err(Refusal::not_served(word, "use -inverse or -concat").into());
            }
            _ if word.starts_with('-') => return Err(Refusal::new(word, "convert_xfm has no such option").into()),
            _ if input.is_some() => {
                return Err(Refusal::new(word, "this argument is a second input; expected one input matrix").into());
            }
            _ => input = Some(existing("input", word)?),
        }
    }
    let Some(input) = input else {
        return Err(Refusal::new("input", "the input is missing; expected the file of a matrix").into());
    };
    if inverse && second.is_some() {
        return Err(Refusal::new("-inverse", "this option cannot be combined with -concat").into());
    }
    // The output may replace an input, as in FSL.
    outputs::check(&output, [] as [&Path; 0])?;
    let mut matrix = fsl::read_numbers(&input)?;
    if let Some(second) = second {
        matrix = fsl::read_numbers(&second)? * matrix;
    }
    if inverse {
        let singular = || Refusal::new(input.display(), "the matrix is singular: it has no inverse");
        matrix = matrix.try_inverse().ok_or_else(singular)?;
    }
    match output {
        Some(output) => Ok(fsl::write_numbers(&output, &matrix)?),
        None => print(&fsl::text(&matrix)),
    }
}
