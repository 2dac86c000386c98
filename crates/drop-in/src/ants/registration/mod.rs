//! The command `antsRegistration`: converts the requested stages to stages of this program and runs them. The output
//! files have the names and numbers that ANTs gives.

mod flags;
mod inputs;
mod outputs;
mod plan;
mod read;
mod request;
mod stages;
mod syn;

use std::borrow::Cow;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::{GridRule, Stored};
use antsreg_core::{DisplacementField, Grid, Transform, TransformChain, Volume};
use antsreg_kernels::apply;
use antsreg_register::{Description, Registration, StageOutcome};

use super::words;
use crate::call::Call;
use crate::engine;
use inputs::Inputs;
use outputs::{Files, Found};
use plan::Plan;
use request::Request;

const HELP: &str = "\
antsRegistration, served by antsreg-gpu. The options are those of ANTs:
  -d 2|3  -o PREFIX | [PREFIX,WARPED] | [PREFIX,WARPED,INVERSEWARPED]  -a 0|1  -z 0|1  -i 0|1  --float 0|1  -n INTERPOLATION
  -r FILE | [FILE,0|1] | [FIXED,MOVING,0|1|2]  -q FIXED_START  -x MASK | [FIXED,MOVING]  -w [LOW,HIGH]  -u 0|1  -g AxBxC  -v 0|1
  and for each stage  -t Translation|Rigid|Similarity|Affine|SyN|BSplineSyN[...]  -m CC|Mattes|MI|GC|MeanSquares|Demons[...]
                      -c [ITERATIONS,THRESHOLD,WINDOW]  -f FACTORS  -s SIGMAS(vox|mm)
Options that cannot be honoured are refused. One line on standard error lists the options that other methods replace.
Environment variables: ANTSREG_DEVICE=cpu|cuda|cuda:N,
ANTSREG_FALLBACK=1, ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS.
";

/// Runs `antsRegistration`.
///
/// # Errors
/// An argument that is wrong or not supported; a registration that fails.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(given) = words::read(&call.arguments, flags::FLAGS, HELP)? else { return Ok(()) };
    let request = read::request(&given)?;
    let grid = GridRule::Itk.read_grid(&request.stages[0].metrics[0].images[0])?;
    let mut plan = plan::plan(&request, &grid)?;
    let mut replaced = std::mem::take(&mut plan.replaced);
    if words::last(&given, "write-interval-volumes").is_some_and(|value| value.text != "0") {
        replaced.push("--write-interval-volumes has no effect: no volumes of iterations are written".into());
    }
    let device = register(call, &request, &plan)?;
    call.tell(&device, &replaced);
    Ok(())
}

/// Parses the arguments of `antsRegistration` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(arguments: &[String]) -> Result<(), Refusal> {
    let request = read::request(&words::parse(arguments, flags::FLAGS)?)?;
    // The conversion of the command line to stages of this program needs the shape of the fixed image, which limits the
    // resolution levels. No image is read here, so a typical shape is used.
    plan::plan(&request, &Grid::axis_aligned([182, 218, 182], [1.0; 3])).map(drop)
}

/// Reads the inputs, registers the images and writes the outputs. Returns the device that ran the registration.
fn register(call: &Call, request: &Request, plan: &Plan) -> Result<Description, CliError> {
    let read = || {
        let mut inputs = Inputs::read(request, plan)?;
        inputs::check_inverse(request, &inputs.starts)?;
        let files = Files::of(request, plan, &inputs.starts);
        files.check()?;
        if inputs.starts.rest().is_some() || !request.fixed_starts.is_empty() {
            // The stages register images that were resampled through initial transforms. So the warped images are not
            // computed together with the stages, but after the registration, from the original images.
            inputs.task.options.images = None;
        }
        Ok::<_, CliError>((inputs, files))
    };
    if plan.options.stages.is_empty() {
        let (inputs, files) = read()?;
        write(request, plan, &inputs, &files, None)?;
        return Ok(Description::Cpu);
    }
    let mut beside = None;
    let done = engine::register(call, &mut call.console(request.verbose)?, || {
        let (inputs, files) = read()?;
        let task = inputs.task.clone();
        beside = Some((inputs, files));
        Ok(task)
    })?;
    if let Some((inputs, files)) = &beside {
        write(request, plan, inputs, files, Some(&done.found))?;
    }
    Ok(done.device)
}

/// Writes the output files of `antsRegistration`. If `registration` is `None`, no stage has run, and the files contain
/// only the initial transforms.
fn write(
    request: &Request,
    plan: &Plan,
    inputs: &Inputs,
    files: &Files,
    registration: Option<&Registration>,
) -> Result<(), CliError> {
    let [fixed, _] = &inputs.task.sides;
    let [original_fixed, original_moving] = &inputs.originals;
    let mut affines = Vec::new();
    for linear in &plan.linear {
        let before = affines.last().copied().unwrap_or_else(|| inputs.starts.affine());
        let outcome = linear.stage.and_then(|stage| registration?.outcomes.get(stage));
        affines.push(match outcome {
            Some(StageOutcome::Linear(outcome)) => outcome.transform,
            _ => before,
        });
    }
    // As in ANTs, warps lie on the grid of the last level.
    let onto = plan.last_shrink().map(|shrink| fixed.grid().shrink([shrink; 3]));
    let on_grid = |warp: &DisplacementField| {
        let onto = onto.as_ref()?;
        Some(apply::compose(onto, &TransformChain::from(vec![Transform::Displacement(warp.clone())])))
    };
    let warps = registration.map(|found| [found.warp(), found.inverse_warp()]).unwrap_or_default();
    let coarse = warps.map(|warp| warp.and_then(on_grid));
    let [warp, inverse_warp] = [0, 1].map(|n| coarse[n].as_ref().or(warps[n]));
    let mut found = Found {
        starts: &inputs.starts,
        affines,
        warp,
        inverse_warp,
        warped: None,
        inverse_warped: None,
        centre: fixed.image.centre()?,
        slices: request.slices,
        stored: if request.single { Stored::Float32 } else { Stored::Float64 },
    };
    let resampled = |image: &Volume, onto, chain: &_| apply::resample(image, onto, chain, request.interpolation, 0.0);
    let warped = match (&request.output.warped, registration.and_then(|found| found.warped.as_ref())) {
        (None, _) => None,
        (Some(_), Some(made)) => Some(Cow::Borrowed(made)),
        (Some(_), None) => Some(Cow::Owned(resampled(original_moving, fixed.grid(), &found.forward()?))),
    };
    let inverse_warped =
        match (&request.output.inverse_warped, registration.and_then(|found| found.inverse_warped.as_ref())) {
            (None, _) => None,
            (Some(_), Some(made)) => Some(Cow::Borrowed(made)),
            (Some(_), None) => Some(Cow::Owned(resampled(original_fixed, &original_moving.grid, &found.backward()?))),
        };
    (found.warped, found.inverse_warped) = (warped.as_deref(), inverse_warped.as_deref());
    files.write(&found)
}
