//! The commands `antsApplyTransformsToTRX` and `antsApplyTransformsToGifti`: move a tract or a surface through a chain of
//! transforms.

use std::path::PathBuf;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::geometry::GeometryFormat;
use antsreg_core::io::nifti::GridRule;
use antsreg_core::io::outputs;
use antsreg_register::Description;
use antsreg_study::points;
use antsreg_study::transforms::{self, TransformFile};

use super::words::{self, Flag, Given, Value, flag};
use crate::call::Call;

const TRX_USAGE: &str = "\
antsApplyTransformsToTRX -i TRACT.trx -o OUTPUT.trx -t TRANSFORM …

Served by antsreg-gpu. The positions are moved and keep their type; all other data are kept. Numbers are computed in double
precision; --precision has no effect.
";

const GIFTI_USAGE: &str = "\
antsApplyTransformsToGifti -i SURFACE.gii -o OUTPUT.gii -t TRANSFORM …

Served by antsreg-gpu. The points are moved; all other data are kept. Coordinates of FreeSurfer's surfaces are recognised by the
metadata (VolGeom) and stay in the same volume. Numbers are computed in double precision; --precision has no effect.
";

/// The flags of `antsApplyTransformsToTRX`.
const TRX_FLAGS: &[Flag] = &[flag('p', "precision"), flag('i', "input"), flag('o', "output"), flag('t', "transform")];

/// The flags of `antsApplyTransformsToGifti`.
const GIFTI_FLAGS: &[Flag] = &[
    flag('p', "precision"),
    flag('i', "input"),
    flag('o', "output"),
    flag('t', "transform"),
    flag('r', "reference-image"),
    Flag { short: None, long: "input-is-scanner-ras" },
];

/// Runs `antsApplyTransformsToTRX`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run_trx(call: &Call) -> Result<(), CliError> {
    run(call, GeometryFormat::Trx, TRX_FLAGS, TRX_USAGE)
}

/// Runs `antsApplyTransformsToGifti`.
///
/// # Errors
/// Those of [`run_trx`].
pub fn run_gifti(call: &Call) -> Result<(), CliError> {
    run(call, GeometryFormat::Gifti, GIFTI_FLAGS, GIFTI_USAGE)
}

fn run(call: &Call, format: GeometryFormat, flags: &'static [Flag], usage: &str) -> Result<(), CliError> {
    let Some(given) = words::read(&call.arguments, flags, usage)? else { return Ok(()) };
    let Request { input, output, files } = request(&given, format)?;
    outputs::check_in_place([&output])?;
    files.iter().try_for_each(transforms::check_of_volumes)?;
    let chain = transforms::read_chain_by(GridRule::Itk, &files)?;
    let moved = points::carry(format, (&input, &output), &chain, None, None)?;
    moved.outside.iter().for_each(|missed| call.note(&format!("warning: {missed}")));
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

/// Parses the arguments of `antsApplyTransformsToTRX` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read_trx(words: &[String]) -> Result<(), Refusal> {
    request(&words::parse(words, TRX_FLAGS)?, GeometryFormat::Trx).map(drop)
}

/// Parses the arguments of `antsApplyTransformsToGifti` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read_gifti(words: &[String]) -> Result<(), Refusal> {
    request(&words::parse(words, GIFTI_FLAGS)?, GeometryFormat::Gifti).map(drop)
}

struct Request {
    input: PathBuf,
    output: PathBuf,
    files: Vec<TransformFile>,
}

fn request(given: &[Given], format: GeometryFormat) -> Result<Request, Refusal> {
    for name in ["reference-image", "input-is-scanner-ras"] {
        if words::last(given, name).is_some_and(|value| value.text != "0") {
            return Err(Refusal::not_served(format!("--{name}"), "leave the flag out"));
        }
    }
    let path = |name: &'static str| {
        let value = words::last(given, name);
        let value =
            value.ok_or_else(|| Refusal::new(format!("--{name}"), "is missing; expected the name of a file"))?;
        let path = PathBuf::from(&value.text);
        match GeometryFormat::of_name(&path) == Some(format) {
            true => Ok(path),
            false => {
                let instead = format!("use a name that ends in {}", format.extension());
                Err(Refusal::not_served(format!("--{name} {}", value.text), instead))
            }
        }
    };
    let file = |value: &Value| {
        value.text.parse().map_err(|error| Refusal::new(format!("--transform {}", value.text), error))
    };
    let files = words::all(given, "transform").map(file).collect::<Result<_, _>>()?;
    Ok(Request { input: path("input")?, output: path("output")?, files })
}
