//! The command `flirt`: runs a linear registration, or resamples an image through a matrix.

mod request;

use antsreg_console::{CliError, Refusal, output::print};
use antsreg_core::io::nifti::{GridRule, PlanesReader};
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_core::io::{fsl, nifti};
use antsreg_core::{AffineTransform, Grid, Transform, TransformChain};
use antsreg_register::linear::{self, Start};
use antsreg_register::{Description, Options, Side, Stage, Warning};
use antsreg_study::apply::{Carrying, Kind};
use antsreg_study::inputs;
use nalgebra::Matrix4;

use self::request::{Origin, Request, Task as Asked};

use crate::call::Call;
use crate::engine::{self, Task};
use crate::fsl::stored;

const USAGE: &str = "\
flirt -in MOVING -ref FIXED [-out IMAGE] [-omat MATRIX] [-init MATRIX] [-dof 6|7|9|12] [-cost COST] …
flirt -in MOVING -ref FIXED -applyxfm -init MATRIX -out IMAGE
flirt -in MOVING -ref FIXED -applyisoxfm MM -init MATRIX -out IMAGE

Served by antsreg-gpu: its affine stage replaces FLIRT's search. COST is corratio, mutualinfo, normmi, normcorr, leastsq or,
with -wmseg, bbr.
";

/// Runs `flirt`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written; a registration that fails.
pub fn run(call: &Call) -> Result<(), CliError> {
    if call.arguments.is_empty() || call.arguments.iter().any(|word| word == "-help" || word == "-h") {
        return print(USAGE);
    }
    if call.arguments.iter().any(|word| word == "-version") {
        return print(&format!("FLIRT version 6.0, emulated by antsreg-gpu {}\n", env!("CARGO_PKG_VERSION")));
    }
    let request = Request::read(&call.arguments)?;
    outputs::check_in_place(request.out.iter().chain(&request.omat))?;
    let [fixed, moving] = [&request.fixed, &request.moving].map(|path| Ok::<_, CliError>(nifti::inspect(path)?.grid));
    let (fixed, moving) = (fixed?, moving?);
    let start = match &request.origin {
        Origin::Centres => None,
        Origin::Headers => Some(AffineTransform::identity()),
        Origin::Matrix(path) => Some(fsl::read_matrix(path, &fixed, &moving)?),
    };
    let (affine, device) = match request.task {
        Asked::Register(ref options) => register(call, &request, start, options)?,
        // If no initial matrix is given, the identity in FSL's coordinates is applied.
        _ => (start.or_else(|| fsl::to_world(&Matrix4::identity(), &fixed, &moving)), Description::Cpu),
    };
    let singular = || Refusal::new("-init", "the initial matrix is singular: it has no inverse");
    let affine = affine.ok_or_else(singular)?;
    let mut outputs = Outputs::new();
    if let Some(omat) = &request.omat {
        outputs.write(omat, |path| fsl::write_matrix(path, &affine, &fixed, &moving))?;
    }
    if let Some(out) = &request.out {
        let onto = match request.task {
            Asked::ApplyIsotropic(size_mm) => fsl::isotropic(&fixed, size_mm),
            _ => fixed.clone(),
        };
        let chain = TransformChain::from(vec![Transform::Affine(affine)]);
        let carrying = carrying(&request, onto)?;
        outputs.write(out, |path| carrying.open()?.write(&chain, path).map_err(CliError::from))?;
    }
    outputs.commit()?;
    if request.omat.is_none()
        && matches!(request.task, Asked::Register(_))
        && let Some(matrix) = fsl::from_world(&affine, &fixed, &moving)
    {
        print(&format!("\nFinal result: \n{}\n", fsl::text(&matrix)))?;
    }
    call.tell(&device, &request.replaced);
    Ok(())
}

/// Parses the arguments of `flirt` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    Request::read(words).map(drop)
}

/// Registers the images; returns the affine map and the device that computed.
fn register(
    call: &Call,
    request: &Request,
    start: Option<AffineTransform>,
    options: &linear::Options,
) -> Result<(Option<AffineTransform>, Description), CliError> {
    let done = engine::register(call, &mut call.console(request.verbose)?, || {
        let sides = [(&request.fixed, &request.weights[0]), (&request.moving, &request.weights[1])];
        let mut notes = Vec::new();
        let [fixed, moving] = sides.map(|(path, weight)| {
            let image = inputs::first_volume(path)?;
            notes.extend(inputs::labels_as_image(&image, path));
            let weight = weight.as_deref().map(|weight| inputs::mask(weight, path, &image.grid)).transpose()?;
            Ok::<_, CliError>(match weight {
                Some(weight) => Side::from(image).with_mask(weight),
                None => Side::from(image),
            })
        });
        let (mut fixed, moving) = (fixed?, moving?);
        if let Some(path) = &request.white_matter {
            fixed = fixed.with_white_matter(inputs::image_by(GridRule::default(), path)?);
        }
        if request.planar && !(fixed.grid().is_slice() && moving.grid().is_slice()) {
            return Err(Refusal::not_served("-2D", "use -2D only for images of one slice").into());
        }
        let options = Options {
            start: start.map_or(Start::CentreOfMass, Start::Transform),
            stages: vec![Stage::Linear(options.clone())],
            inverse_warp: false,
            scores: false,
            pairs: Vec::new(),
            images: None,
        };
        Ok(Task { sides: [fixed, moving], options, notes })
    })?;
    let refused = |warning: &&Warning| matches!(warning, Warning::BoundaryRefused { .. });
    done.found.warnings.iter().filter(refused).for_each(|warning| call.note(&warning.to_string()));
    Ok((Some(done.found.affine), done.device))
}

/// Describes the resampling of the moving image on a grid. Voxels get the requested storage type, or the type of the
/// moving image's file.
fn carrying(request: &Request, onto: Grid) -> Result<Carrying, CliError> {
    let reader = PlanesReader::open(GridRule::Sform, &request.moving)?;
    let stored = request.stored.unwrap_or(stored::like(&reader, request.reading));
    // As in FLIRT, a matrix that is given moves all volumes of a series; a search moves the volume that it aligns.
    let kind = match (reader.counts()[0], &request.task) {
        (1, _) => Kind::Scalar,
        (_, Asked::Register(_)) => Kind::OneOfSeries(0),
        _ => Kind::Series,
    };
    Ok(Carrying {
        input: request.moving.clone(),
        kind,
        rule: GridRule::Sform,
        onto,
        reading: request.reading,
        outside: request.background,
        stored,
        rounded: stored.is_whole(),
    })
}
