//! The command `antsAffineInitializer`: finds an affine map from which other registrations start, by the search of this
//! program's linear stage.

use antsreg_console::{CliError, Refusal};
use antsreg_register::linear::{Cost, Dof};

use super::search::{self, Request};
use super::words::positional;
use crate::call::Call;

const USAGE: &str = "\
antsAffineInitializer DIMENSION FIXED MOVING OUTPUT.mat [SEARCH_FACTOR] [RADIAN_FRACTION] [PRINCIPAL_AXES] [ITERATIONS] [MASK]

Served by antsreg-gpu: the search of its affine stage replaces ANTs' search. It tries rotations up to RADIAN_FRACTION × 180°
from the orientation in the headers, with aligned centres of mass. SEARCH_FACTOR and ITERATIONS belong to ANTs' search and have
no effect.
";

/// Runs `antsAffineInitializer`.
///
/// # Errors
/// An argument that is wrong or not supported; a registration that fails.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(words) = positional(&call.arguments, 4..=9, USAGE)? else { return Ok(()) };
    search::run(call, &parse(words)?, false)
}

/// Parses the arguments of `antsAffineInitializer` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    parse(words).map(drop)
}

fn parse(words: &[String]) -> Result<Request, Refusal> {
    let [dimension, fixed, moving, output, rest @ ..] = words else {
        return Err(Refusal::new("arguments", "expected at least 4"));
    };
    let number = |place: usize, name: &str, default: f64| match rest.get(place) {
        None => Ok(default),
        Some(word) => match word.parse() {
            Ok(number) if f64::is_finite(number) => Ok(number),
            _ => Err(Refusal::new(format!("{name} {word}"), "expected a number")),
        },
    };
    // The search factor and the number of iterations of ANTs have no effect on this program's search. They are parsed
    // only to report values that are no numbers.
    number(0, "SEARCH_FACTOR", 0.0)?;
    number(3, "ITERATIONS", 0.0)?;
    let fraction = number(1, "RADIAN_FRACTION", 0.1)?;
    Ok(Request {
        slices: super::dimension(dimension)? == 2,
        fixed: fixed.into(),
        moving: moving.into(),
        masks: [rest.get(4).map(Into::into), None],
        output: output.into(),
        dof: Dof::Affine12,
        cost: Cost::NormalisedMutualInformation,
        range_degrees: (fraction.abs() * 180.0).min(180.0),
        principal_axes: number(2, "PRINCIPAL_AXES", 0.0)? > 0.0,
    })
}
