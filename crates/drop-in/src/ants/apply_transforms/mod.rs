//! The command `antsApplyTransforms`: resamples an image through a chain of transforms, or writes the transforms
//! themselves.

mod request;

use std::path::Path;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::itk;
use antsreg_core::io::nifti::{GridRule, PlanesReader, Stored};
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_core::{Grid, TransformChain};
use antsreg_kernels::apply;
use antsreg_register::Description;
use antsreg_study::transforms;
use antsreg_study::{self as study, apply::Carrying};
use nalgebra::Point3;

use self::request::{Output, Request};

use super::words;
use crate::call::Call;

const USAGE: &str = "\
antsApplyTransforms -d 2|3 -i INPUT -r REFERENCE -o OUTPUT -t TRANSFORM … [-n INTERPOLATION] [-e TYPE] [-u DATA_TYPE]

Served by antsreg-gpu, with the options of ANTs' own. -o also takes [FIELD,1], DisplacementField[FIELD], Linear[AFFINE,0|1]
and CompositeTransform[FILE.h5]; -e takes 0 to 6; -u takes char, uchar, short, int, float and double.
";

/// Parses the arguments of `antsApplyTransforms` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    Request::read(&words::parse(words, request::FLAGS)?).map(drop)
}

/// Runs `antsApplyTransforms`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(given) = words::read(&call.arguments, request::FLAGS, USAGE)? else { return Ok(()) };
    let request = Request::read(&given)?;
    outputs::check_in_place(request.output.as_ref().map(Output::path))?;
    if !request.slices {
        request.transforms.iter().try_for_each(transforms::check_of_volumes)?;
    }
    let chain = transforms::read_chain_by(GridRule::Itk, &request.transforms)?;
    let mut outputs = Outputs::new();
    match &request.output {
        None => call.note("no --output: nothing is written"),
        Some(Output::Image(path)) => image(&request, &chain, path, &mut outputs)?,
        Some(Output::Field(path)) => field(&request, &chain, path, &mut outputs)?,
        Some(Output::Affine { path, inverted }) => affine(&request, &chain, (path, *inverted), &mut outputs)?,
        Some(Output::Composite(path)) => {
            outputs.write(path, |path| composite(path, &chain, request.slices))?;
        }
    }
    outputs.commit()?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

fn image(request: &Request, chain: &TransformChain, path: &Path, outputs: &mut Outputs) -> Result<(), CliError> {
    let Some(input) = &request.input else {
        return Err(Refusal::new("--input", "is missing; expected an image to resample").into());
    };
    let carrying = Carrying {
        input: input.clone(),
        kind: request.kind,
        rule: GridRule::Itk,
        onto: reference(request)?,
        reading: request.reading,
        outside: request.outside,
        stored: stored(request, input)?,
        rounded: false,
    };
    let opened = carrying.open()?;
    if request.slices && !opened.grid().is_slice() {
        let why = "has three dimensions, but --dimensionality 2 expects two";
        return Err(Refusal::new(input.display(), why).into());
    }
    outputs.write(path, |path| opened.write(chain, path).map_err(CliError::from))
}

/// The storage type of the output: the type that the command line names, or that of ANTs. If ANTs' type cannot store
/// all labels of the input's integer type exactly, the type of the input.
fn stored(request: &Request, input: &Path) -> Result<Stored, CliError> {
    match request.stored {
        Some(stored) => Ok(stored),
        None if request.reading.keeps_values() => {
            let whole = PlanesReader::open(GridRule::Itk, input)?.whole();
            Ok(whole.filter(|whole| !request.float_type.holds(*whole)).unwrap_or(request.float_type))
        }
        None => Ok(request.float_type),
    }
}

/// Writes the chain of transforms as one displacement field on the grid of the reference image.
fn field(request: &Request, chain: &TransformChain, path: &Path, outputs: &mut Outputs) -> Result<(), CliError> {
    let field = apply::compose(&reference(request)?, chain);
    outputs.write(path, |path| match itk::is_composite(path) {
        true => {
            let chain = TransformChain::from(vec![antsreg_core::Transform::Displacement(field)]);
            composite(path, &chain, request.slices)
        }
        false => Ok(itk::write_warp_as(path, &field, request.float_type)?),
    })
}

/// Writes the chain of transforms, or the inverse of the chain, as one affine map.
fn affine(
    request: &Request,
    chain: &TransformChain,
    (path, inverted): (&Path, bool),
    outputs: &mut Outputs,
) -> Result<(), CliError> {
    let Some(whole) = chain.affine() else {
        let why = "the transforms contain a displacement field and cannot be written as one affine map";
        return Err(Refusal::new(format!("--output Linear[{}]", path.display()), why).into());
    };
    // The affines of a chain have inverses, but the determinant of their product may underflow.
    let singular = || {
        study::Error::Chain(antsreg_core::ChainError::Singular {
            name: "the composed transform".into(),
            determinant: whole.matrix.determinant(),
        })
    };
    let map = if inverted { whole.inverse().ok_or_else(singular)? } else { whole };
    outputs.write(path, |path| match request.slices {
        true => Ok(itk::write_affine_of_slices(path, &map, Point3::origin())?),
        false => Ok(itk::write_affine(path, &map, Point3::origin())?),
    })
}

fn composite(path: &Path, chain: &TransformChain, slices: bool) -> Result<(), CliError> {
    let dimensions = if slices { itk::Dimensions::Two } else { itk::Dimensions::Three };
    Ok(itk::write_composite(path, chain, Point3::origin(), dimensions)?)
}

/// Returns the grid of the reference image. For a time series, this is the grid of one volume.
fn reference(request: &Request) -> Result<Grid, CliError> {
    let Some(path) = &request.reference else {
        return Err(
            Refusal::new("--reference-image", "is missing; expected an image whose grid the output gets").into()
        );
    };
    let grid = GridRule::Itk.inspect(path)?.grid;
    if request.slices && !grid.is_slice() {
        let why = "has three dimensions, but --dimensionality 2 expects two";
        return Err(Refusal::new(path.display(), why).into());
    }
    Ok(grid)
}
