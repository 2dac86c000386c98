//! The command `antsApplyTransformsToPoints`: maps a table of points through a chain of transforms.

use std::path::PathBuf;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::GridRule;
use antsreg_core::io::outputs;
use antsreg_core::io::points::PointTable;
use antsreg_register::Description;
use antsreg_study::transforms::{self, TransformFile};

use super::words::{self, Flag, Given, Value, flag};
use crate::call::Call;

const USAGE: &str = "\
antsApplyTransformsToPoints -d 2|3 -i POINTS.csv -o OUTPUT.csv -t TRANSFORM …

Served by antsreg-gpu. Tables have the columns x, y and z (only x and y for slices) in LPS mm; other columns are kept. Numbers
are written with all their digits; --precision has no effect.
";

/// All flags of `antsApplyTransformsToPoints`.
const FLAGS: &[Flag] = &[
    flag('d', "dimensionality"),
    flag('p', "precision"),
    flag('f', "forantsr"),
    flag('i', "input"),
    flag('o', "output"),
    flag('t', "transform"),
];

/// Runs `antsApplyTransformsToPoints`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(given) = words::read(&call.arguments, FLAGS, USAGE)? else { return Ok(()) };
    let last = |flag: &'static str| words::last(&given, flag);
    let slices = match last("dimensionality") {
        None => false,
        Some(value) => super::dimension(&value.text)? == 2,
    };
    if last("forantsr").is_some_and(|value| value.text != "0") {
        return Err(
            Refusal::not_served("--forantsr", "leave the flag out, and give a table of points in LPS mm").into()
        );
    }
    let [input, output] = ["input", "output"].map(|flag| table(flag, last(flag)));
    let (input, output) = (input?, output?);
    let files = transform_files(&given)?;
    outputs::check_in_place([&output])?;
    if !slices {
        files.iter().try_for_each(transforms::check_of_volumes)?;
    }
    let chain = transforms::read_chain_by(GridRule::Itk, &files)?;
    let mut points = if slices { PointTable::read_in_plane(&input)? } else { PointTable::read(&input)? };
    for missed in chain.outside_fields(points.points()) {
        call.note(&format!("warning: {missed}"));
    }
    points.move_points(|point| chain.apply(point));
    points.write(&output)?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

/// Parses the arguments of `antsApplyTransformsToPoints` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    transform_files(&words::parse(words, FLAGS)?).map(drop)
}

/// Returns the path of the table of points that this flag gives.
fn table(flag: &str, value: Option<&Value>) -> Result<PathBuf, Refusal> {
    let value =
        value.ok_or_else(|| Refusal::new(format!("--{flag}"), "is missing; expected the name of a .csv file"))?;
    let path = PathBuf::from(&value.text);
    match path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
        true => Ok(path),
        false => Err(Refusal::not_served(format!("--{flag} {}", value.text), "use a table whose name ends in .csv")),
    }
}

fn transform_files(given: &[Given]) -> Result<Vec<TransformFile>, Refusal> {
    let file = |value: &Value| {
        value.text.parse().map_err(|error| Refusal::new(format!("--transform {}", value.text), error))
    };
    words::all(given, "transform").map(file).collect()
}
