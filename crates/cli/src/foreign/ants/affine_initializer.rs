//! `antsAffineInitializer`: an affine map as the start of other registrations, out of the search of the linear stage.

use std::path::Path;

use antsreg_core::io::{itk, outputs};
use antsreg_register::linear::{self, AngleSearch, Cost, Search, Start};
use antsreg_register::{Options, Side, Stage};
use antsreg_study::inputs;

use crate::error::CliError;
use crate::foreign::engine::{self, Done, Task};
use crate::foreign::{Call, Refusal};
use crate::output::print;

const USAGE: &str = "\
antsAffineInitializer DIMENSION FIXED MOVING OUTPUT.mat [SEARCH_FACTOR] [RADIAN_FRACTION] [PRINCIPAL_AXES] [ITERATIONS] [MASK]

Served by antsreg-gpu: the search of its affine stage takes the place of ANTs'. It looks for rotations up to
RADIAN_FRACTION × 180° from the headers' axes, with both centres of mass on each other. SEARCH_FACTOR and ITERATIONS, which
are steps of ANTs' search, change nothing.
";

/// The arguments, in their order.
struct Arguments<'a> {
    slices: bool,
    fixed: &'a Path,
    moving: &'a Path,
    output: &'a Path,
    range_degrees: f64,
    principal_axes: bool,
    mask: Option<&'a Path>,
}

/// Runs `antsAffineInitializer`.
///
/// # Errors
/// A refusal; a registration that fails.
pub fn run(call: &Call) -> Result<(), CliError> {
    if call.arguments.is_empty() || call.arguments.iter().any(|word| word == "-h" || word == "--help") {
        return print(USAGE);
    }
    let arguments = parse(&call.arguments)?;
    let read = [Some(arguments.fixed), Some(arguments.moving), arguments.mask];
    outputs::check([arguments.output], read.into_iter().flatten())?;
    let Done { task, found, device } = engine::register(call, &mut call.console(false)?, || task(&arguments))?;
    let fixed = &task.sides[0].image;
    let centre = fixed.centre_of_mass().unwrap_or_else(|| fixed.grid.centre());
    match arguments.slices {
        true => itk::write_affine_of_slices(arguments.output, &found.affine, centre)?,
        false => itk::write_affine(arguments.output, &found.affine, centre)?,
    }
    call.tell(&device, &["the search by that of the affine stage".into()]);
    Ok(())
}

fn parse(words: &[String]) -> Result<Arguments<'_>, Refusal> {
    let [dimension, fixed, moving, output, rest @ ..] = words else {
        let found = format!("expected at least 4 arguments, found {}", words.len());
        return Err(Refusal::new("arguments", found).instead("see antsAffineInitializer --help"));
    };
    if let Some(word) = rest.get(5) {
        return Err(Refusal::new(word, "expected at most 9 arguments"));
    }
    let number = |place: usize, name: &str, default: f64| match rest.get(place) {
        None => Ok(default),
        Some(word) => match word.parse() {
            Ok(number) if f64::is_finite(number) => Ok(number),
            _ => Err(Refusal::new(format!("{name} {word}"), "expected a number")),
        },
    };
    // Named for their errors alone.
    number(0, "SEARCH_FACTOR", 0.0)?;
    number(3, "ITERATIONS", 0.0)?;
    let fraction = number(1, "RADIAN_FRACTION", 0.1)?;
    let output = Path::new(output);
    if !output.extension().is_some_and(|extension| extension == "mat" || extension == "txt" || extension == "tfm") {
        return Err(Refusal::new(output.display(), "expected a name that ends in .mat, .txt or .tfm"));
    }
    Ok(Arguments {
        slices: super::dimension(dimension)? == 2,
        fixed: Path::new(fixed),
        moving: Path::new(moving),
        output,
        range_degrees: (fraction.abs() * 180.0).min(180.0),
        principal_axes: number(2, "PRINCIPAL_AXES", 0.0)? > 0.0,
        mask: rest.get(4).map(Path::new),
    })
}

fn task(arguments: &Arguments) -> Result<Task, CliError> {
    let fixed = inputs::image(arguments.fixed)?;
    let moving = inputs::image(arguments.moving)?;
    super::check_dimension(arguments.slices, [(arguments.fixed, &fixed.grid), (arguments.moving, &moving.grid)])?;
    let mask = arguments.mask.map(|path| inputs::mask(path, arguments.fixed, &fixed.grid)).transpose()?;
    let mut side = Side::from(fixed);
    if let Some(mask) = mask {
        side = side.with_mask(mask);
    }
    let search = Search::Angles(AngleSearch {
        range_degrees: if arguments.slices {
            [0.0, 0.0, arguments.range_degrees]
        } else {
            [arguments.range_degrees; 3]
        },
        principal_axes: arguments.principal_axes,
        ..AngleSearch::default()
    });
    let stage = linear::Options { search, ..linear::Options::of(Cost::NormalisedMutualInformation) };
    let options = Options {
        start: Start::CentreOfMass,
        stages: vec![Stage::Linear(stage)],
        inverse_warp: false,
        scores: false,
        images: None,
    };
    Ok(Task { sides: [side, Side::from(moving)], options })
}
