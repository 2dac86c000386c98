//! FSL's commands for warps: `applywarp`, `convertwarp` and `invwarp`.

mod chain;
mod options;

use antsreg_console::{CliError, Refusal, output::print};
use antsreg_core::io::fsl;
use antsreg_core::io::fsl_warp::{self, Vectors};
use antsreg_core::io::nifti::{self, GridRule, PlanesReader};
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_core::{Transform, TransformChain};
use antsreg_kernels::apply::{self, SplineOrder, Window};
use antsreg_register::Description;
use antsreg_study::apply::{Carrying, Kind, Reading};

use self::chain::Kind::{Matrix, Warp};
use self::options::{Given, Known};
use super::{names, stored};
use crate::call::Call;

const APPLY: &str = "\
applywarp -i IMAGE -r REFERENCE -o OUTPUT [-w WARP] [--premat=MATRIX] [--postmat=MATRIX] [--interp=trilinear|nn|spline|sinc]
          [--rel | --abs] [-d char|short|int|float|double] [--usesqform]

Served by antsreg-gpu. A point of the reference passes the inverse of postmat, then the warp, then the inverse of premat.
";

const APPLY_OPTIONS: &[Known] = &[
    Known("in", "i", true),
    Known("ref", "r", true),
    Known("out", "o", true),
    Known("warp", "w", true),
    Known("premat", "", true),
    Known("postmat", "", true),
    Known("interp", "", true),
    Known("rel", "", false),
    Known("abs", "", false),
    Known("datatype", "d", true),
    Known("usesqform", "", false),
    Known("mask", "m", true),
    Known("super", "s", false),
    Known("superlevel", "", true),
    Known("paddingsize", "", true),
    Known("verbose", "v", false),
];

const CONVERT: &str = "\
convertwarp -r REFERENCE -o OUTPUT [--premat=MATRIX] [--warp1=WARP] [--midmat=MATRIX] [--warp2=WARP] [--postmat=MATRIX]
            [--rel | --abs] [--relout | --absout] [--jacobian=IMAGE]

Served by antsreg-gpu. The matrices and warps act on the moving image in this order; the output is one warp.
";

const CONVERT_OPTIONS: &[Known] = &[
    Known("ref", "r", true),
    Known("out", "o", true),
    Known("premat", "m", true),
    Known("warp1", "w", true),
    Known("midmat", "", true),
    Known("warp2", "", true),
    Known("postmat", "", true),
    Known("rel", "", false),
    Known("abs", "", false),
    Known("relout", "", false),
    Known("absout", "", false),
    Known("jacobian", "j", true),
    Known("shiftmap", "s", true),
    Known("shiftdir", "d", true),
    Known("constrainj", "", false),
    Known("jstats", "", false),
    Known("jmin", "", true),
    Known("jmax", "", true),
    Known("verbose", "v", false),
];

const INVERT: &str = "\
invwarp -w WARP -r REFERENCE -o OUTPUT [--rel | --abs] [--noconstraint]

Served by antsreg-gpu. REFERENCE is the image that the warp moves; the output is a warp on its grid.
";

const INVERT_OPTIONS: &[Known] = &[
    Known("warp", "w", true),
    Known("ref", "r", true),
    Known("out", "o", true),
    Known("rel", "", false),
    Known("abs", "", false),
    Known("noconstraint", "", false),
    Known("jmin", "", true),
    Known("jmax", "", true),
    Known("verbose", "v", false),
];

/// The options of a call; `None` if its usage was printed.
fn given(call: &Call, known: &'static [Known], usage: &str) -> Result<Option<Given>, CliError> {
    let asks = |word: &String| ["-h", "--help", "-help"].contains(&word.as_str());
    if call.arguments.is_empty() || call.arguments.iter().any(asks) {
        print(usage)?;
        return Ok(None);
    }
    Ok(Some(Given::parse(&call.arguments, known)?))
}

/// Runs `applywarp`: resamples an image through matrices and a warp.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn apply(call: &Call) -> Result<(), CliError> {
    let Some(given) = given(call, APPLY_OPTIONS, APPLY)? else { return Ok(()) };
    given.refuse(&["mask", "super", "superlevel", "paddingsize"])?;
    let (input, reference, output) = (given.needed_image("in")?, given.needed_image("ref")?, given.output()?);
    let (reading, replaced) = interpolation(given.value("interp"))?;
    let asked = given.value("datatype").map(|name| stored::named("--datatype", name)).transpose()?;
    outputs::check_in_place([&output])?;
    let onto = nifti::inspect(&reference)?.grid;
    let reader = PlanesReader::open(GridRule::Sform, &input)?;
    let options = [("postmat", Matrix), ("warp", Warp), ("premat", Matrix)];
    let chain = chain::read(&given, &options, given.vectors(["rel", "abs"]))?;
    let chain = match given.has("usesqform") {
        // The headers take the place of a matrix.
        true if chain.is_empty() => chain,
        true => {
            return Err(Refusal::not_served("--usesqform", "use it without --warp, --premat and --postmat").into());
        }
        false => chain::in_world(chain, (&reference, &onto), (&input, reader.grid()))?,
    };
    let stored = asked.unwrap_or(stored::like(&reader, reading));
    let kind = if reader.counts()[0] > 1 { Kind::Series } else { Kind::Scalar };
    let carrying = Carrying {
        input,
        kind,
        rule: GridRule::Sform,
        onto,
        reading,
        outside: 0.0,
        stored,
        rounded: stored.is_whole(),
    };
    let (opened, chain) = (carrying.open()?, TransformChain::from(chain));
    let mut outputs = Outputs::new();
    outputs.write(&output, |path| opened.write(&chain, path).map_err(CliError::from))?;
    outputs.commit()?;
    call.tell(&Description::Cpu, &replaced);
    Ok(())
}

fn interpolation(name: Option<&str>) -> Result<(Reading, Vec<String>), Refusal> {
    match name {
        None | Some("trilinear") => Ok((Reading::Linear, Vec::new())),
        Some("nn") => Ok((Reading::Nearest, Vec::new())),
        Some("spline") => Ok((Reading::Spline(SplineOrder::CUBIC), Vec::new())),
        Some("sinc") => Ok((
            Reading::Sinc(Window::Hamming),
            vec!["the sinc is replaced by one of radius 3 with a Hamming window".into()],
        )),
        Some(name) => Err(Refusal::new(format!("--interp={name}"), "expected trilinear, nn, spline or sinc")),
    }
}

/// Runs `convertwarp`: combines matrices and warps to one warp.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn convert(call: &Call) -> Result<(), CliError> {
    let Some(given) = given(call, CONVERT_OPTIONS, CONVERT)? else { return Ok(()) };
    given.refuse(&["shiftmap", "shiftdir", "constrainj", "jstats", "jmin", "jmax"])?;
    let (reference, output) = (given.needed_image("ref")?, given.output()?);
    let jacobian = given.value("jacobian").map(names::output).transpose()?;
    outputs::check_in_place([&output].into_iter().chain(&jacobian))?;
    let grid = nifti::inspect(&reference)?.grid;
    let options = [("postmat", Matrix), ("warp2", Warp), ("midmat", Matrix), ("warp1", Warp), ("premat", Matrix)];
    let chain = chain::read(&given, &options, given.vectors(["rel", "abs"]))?;
    let field = apply::compose(&fsl::scaled_grid(&grid), &TransformChain::from(chain));
    let vectors = given.vectors(["relout", "absout"]).unwrap_or(Vectors::Relative);
    let mut outputs = Outputs::new();
    outputs.write(&output, |path| fsl_warp::write_warp(path, &grid, &field, vectors))?;
    if let Some(path) = &jacobian {
        let found = antsreg_core::Volume { grid, ..apply::jacobian(&field) };
        outputs.write(path, |path| nifti::write_volume(path, &found))?;
    }
    outputs.commit()?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

/// Runs `invwarp`: inverts a warp.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn invert(call: &Call) -> Result<(), CliError> {
    let Some(given) = given(call, INVERT_OPTIONS, INVERT)? else { return Ok(()) };
    given.refuse(&["jmin", "jmax"])?;
    let (warp, reference, output) = (given.needed_image("warp")?, given.needed_image("ref")?, given.output()?);
    outputs::check_in_place([&output])?;
    let given_vectors = given.vectors(["rel", "abs"]);
    let grid = nifti::inspect(&reference)?.grid;
    let chain = chain::read(&given, &[("warp", Warp)], given_vectors)?;
    let Some(Transform::Displacement(field)) = chain.first() else {
        return Err(Refusal::new(warp.display(), "expected a warp").into());
    };
    let inverse = apply::invert(field, &fsl::scaled_grid(&grid));
    fsl_warp::write_warp(&output, &grid, &inverse, given_vectors.unwrap_or(Vectors::Relative))?;
    let constraint =
        if given.has("noconstraint") { Vec::new() } else { vec!["Jacobians are not constrained".into()] };
    call.tell(&Description::Cpu, &constraint);
    Ok(())
}
