//! The command `antsAffineInitializer`: finds an affine map as the start of other registrations, by the search of the
//! linear stage.

use antsreg_console::{CliError, Refusal};
use antsreg_register::linear::{Cost, Dof};

use super::search::{self, Request};
use super::words::positional;
use crate::call::Call;

const USAGE: &str = "\
antsAffineInitializer DIMENSION FIXED MOVING OUTPUT.mat [SEARCH_FACTOR] [RADIAN_FRACTION] [PRINCIPAL_AXES] [ITERATIONS] [MASK]

Served by antsreg-gpu: the search of its affine stage takes the place of ANTs'. It looks for rotations up to
RADIAN_FRACTION × 180° from the headers' axes, with both centres of mass on each other. SEARCH_FACTOR and ITERATIONS, which
are steps of ANTs' search, change nothing.
";

/// Runs `antsAffineInitializer`.
///
/// # Errors
/// A refusal; a registration that fails.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(words) = positional(&call.arguments, 4..=9, USAGE)? else { return Ok(()) };
    search::run(call, &parse(words)?, false)
}

/// Parses the arguments without running the command.
///
/// # Errors
/// A refusal.
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
    // These two numbers are not used: they are read only to report errors in them.
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
