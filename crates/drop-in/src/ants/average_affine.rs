//! The commands `AverageAffineTransform` and `AverageAffineTransformNoRigid`: the mean of affine transforms.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Refusal};
use antsreg_core::affine_mean::{self, Parts, Weighted};
use antsreg_core::io::{itk, outputs};
use antsreg_register::Description;

use super::words::positional;
use crate::call::Call;

const USAGE: &str = "\
AverageAffineTransform DIMENSION OUTPUT [-R REFERENCE] {[-i] TRANSFORM [WEIGHT=1]} …

Served by antsreg-gpu. Rotations, scales, shears and translations are averaged apart; with NoRigid, the mean has neither
rotation nor translation. -i takes the inverse. The centre is that of the reference, or of the first transform.
";

/// A transform that is averaged.
struct Given {
    path: PathBuf,
    inverted: bool,
    weight: f64,
}

/// Runs `AverageAffineTransform`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    average(call, Parts::All)
}

/// Runs `AverageAffineTransformNoRigid`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run_no_rigid(call: &Call) -> Result<(), CliError> {
    average(call, Parts::NoRigid)
}

fn average(call: &Call, parts: Parts) -> Result<(), CliError> {
    let Some([dimension, output, rest @ ..]) = positional(&call.arguments, 3..=usize::MAX, USAGE)? else {
        return Ok(());
    };
    let slices = super::dimension(dimension)? == 2;
    let output = Path::new(output);
    let (reference, given) = parse(rest)?;
    super::check_affine_name(output)?;
    outputs::check_in_place([output])?;
    let read = |given: &Given| {
        let (affine, centre) = itk::read_centred_affine(&given.path)?;
        let singular =
            || Refusal::new(given.path.display(), "has no inverse; expected a transform that can be inverted");
        let affine = if given.inverted { affine.inverse().ok_or_else(singular)? } else { affine };
        Ok::<_, CliError>(Weighted { affine, centre, weight: given.weight })
    };
    let maps = given.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let centre = match reference {
        Some(path) => itk::read_centred_affine(&path)?.1,
        None => maps[0].centre,
    };
    let refusal = || Refusal::new("weights", "their sum is not positive, or a matrix is singular");
    let mean = affine_mean::mean(&maps, centre, parts, slices).ok_or_else(refusal)?;
    match slices {
        true => itk::write_affine_of_slices(output, &mean, centre)?,
        false => itk::write_affine(output, &mean, centre)?,
    }
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

fn parse(words: &[String]) -> Result<(Option<PathBuf>, Vec<Given>), Refusal> {
    let (mut reference, mut given) = (None, Vec::<Given>::new());
    let mut words = words.iter().peekable();
    let missing = |flag: &str| Refusal::new(flag, "expected a transform after this flag");
    while let Some(word) = words.next() {
        let path = match word.as_str() {
            "-R" => {
                reference = Some(PathBuf::from(words.next().ok_or_else(|| missing("-R"))?));
                continue;
            }
            "-i" => words.next().ok_or_else(|| missing("-i"))?,
            _ => word,
        };
        let weight = words.peek().and_then(|next| next.parse().ok());
        if weight.is_some() {
            words.next();
        }
        given.push(Given { path: path.into(), inverted: word == "-i", weight: weight.unwrap_or(1.0) });
    }
    match given.is_empty() {
        true => Err(Refusal::new("TRANSFORM", "is missing; expected at least one")),
        false => Ok((reference, given)),
    }
}
