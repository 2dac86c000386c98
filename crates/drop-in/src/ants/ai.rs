//! The command `antsAI`: finds a transform from which other registrations start, by the search of this program's linear
//! stage.

use std::path::PathBuf;

use antsreg_console::{CliError, Refusal};
use antsreg_register::linear::{Cost, Dof};

use super::align::{self, Ends};
use super::search::{self, Request};
use super::words::{self, Flag, Given, Value, flag, last, long};
use crate::call::Call;

const HELP: &str = "\
antsAI, served by antsreg-gpu: -d 2|3 -m Mattes|MI|GC[FIXED,MOVING,...] -t Translation|Rigid|Similarity|Affine[...] -o OUTPUT.mat
  -t AlignCentersOfMass | AlignGeometricCenters: no search; the output is the translation between the centres
  -x MASK | [FIXED,MOVING]  -s [STEP,FRACTION]  -p 0|1  -v 0|1

The search of the affine stage replaces ANTs' search. It tries rotations up to FRACTION × 180° from the orientation in the
headers, with aligned centres of mass. STEP, -g, -b and -c belong to ANTs' search and have no effect.
";

const FLAGS: &[Flag] = &[
    flag('d', "dimensionality"),
    flag('m', "metric"),
    flag('t', "transform"),
    flag('p', "align-principal-axes"),
    flag('b', "align-blobs"),
    flag('s', "search-factor"),
    flag('g', "translation-search-grid"),
    flag('c', "convergence"),
    flag('x', "masks"),
    flag('o', "output"),
    flag('v', "verbose"),
    long("random-seed"),
];

/// Runs `antsAI`.
///
/// # Errors
/// An argument that is wrong or not supported; a registration that fails.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(given) = words::read(&call.arguments, FLAGS, HELP)? else { return Ok(()) };
    let verbose = last(&given, "verbose").map_or(Ok(false), |value| words::switch("--verbose", &value.text))?;
    match align::Centres::of(&given)? {
        Some(centres) => align::run(call, &ends(&given)?, centres),
        None => search::run(call, &request(&given)?, verbose),
    }
}

/// Parses the arguments of `antsAI` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    let given = words::parse(words, FLAGS)?;
    match align::Centres::of(&given)? {
        Some(_) => ends(&given).map(drop),
        None => request(&given).map(drop),
    }
}

fn needed<'a>(given: &'a [Given], flag: &'static str) -> Result<&'a Value, Refusal> {
    last(given, flag).ok_or_else(|| Refusal::new(format!("--{flag}"), "is missing"))
}

/// The images, the output and the number of dimensions of a call.
fn ends(given: &[Given]) -> Result<Ends, Refusal> {
    let metric = needed(given, "metric")?;
    let image = |place: usize| {
        let missing = || Refusal::new(format!("--metric {}", metric.text), "expected a fixed and a moving image");
        metric.parameter(place).map(PathBuf::from).ok_or_else(missing)
    };
    Ok(Ends {
        slices: last(given, "dimensionality").map_or(Ok(3), |value| super::dimension(&value.text))? == 2,
        fixed: image(0)?,
        moving: image(1)?,
        output: PathBuf::from(&needed(given, "output")?.text),
    })
}

fn request(given: &[Given]) -> Result<Request, Refusal> {
    let Ends { slices, fixed, moving, output } = ends(given)?;
    let metric = needed(given, "metric")?;
    let cost = match metric.name.to_ascii_lowercase().as_str() {
        "mattes" | "mi" => Cost::NormalisedMutualInformation,
        "gc" => Cost::NormalisedCorrelation,
        _ => return Err(Refusal::new(format!("--metric {}", metric.text), "expected Mattes, MI or GC")),
    };
    let transform = needed(given, "transform")?;
    let dof = match transform.name.to_ascii_lowercase().as_str() {
        "translation" => Dof::Translation3,
        "rigid" => Dof::Rigid6,
        "similarity" => Dof::Similarity7,
        "affine" => Dof::Affine12,
        _ => {
            return Err(Refusal::new(format!("--transform {}", transform.text), "is not supported")
                .instead("use Translation, Rigid, Similarity, Affine, AlignCentersOfMass or AlignGeometricCenters"));
        }
    };
    let fraction = match last(given, "search-factor").and_then(|value| value.parameter(1)) {
        None => 1.0,
        Some(text) => text.parse().ok().filter(|share: &f64| share.is_finite()).ok_or_else(|| {
            Refusal::new("--search-factor", format!("expected [STEP,FRACTION], found the fraction `{text}`"))
        })?,
    };
    let masks = match last(given, "masks") {
        None => [None, None],
        Some(value) => match value.parameters.as_deref() {
            None => [Some(PathBuf::from(&value.text)), None],
            Some(_) => [0, 1].map(|place| value.parameter(place).map(PathBuf::from)),
        },
    };
    Ok(Request {
        slices,
        fixed,
        moving,
        masks,
        output,
        dof,
        cost,
        range_degrees: (fraction.abs() * 180.0).min(180.0),
        principal_axes: last(given, "align-principal-axes")
            .map_or(Ok(false), |value| words::switch("--align-principal-axes", &value.text))?,
    })
}
