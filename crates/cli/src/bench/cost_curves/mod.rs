//! `bench cost-curves`: how smoothly a cost of the affine stage changes along each parameter of a rigid transform.

mod curves;
mod plot;

use std::path::{Path, PathBuf};

use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::{Backend, Cpu, JointSampling};
use antsreg_linear::{self as linear, Cost};

use crate::device::{Device, DeviceChoice};
use crate::error::CliError;
use crate::progress::Console;
use crate::register::{Filling, Measure};
use crate::values::{self, TransformFile};
use crate::{inputs, table, transforms};
use antsreg_core::io::outputs::{self, Outputs};
use curves::{Curve, Line};

/// Draw the costs of the affine stage along each parameter of a rigid transform.
///
/// Three shifts along the world's axes and three turns about the middle of the fixed image, away from the transform given.
/// Costs made of a joint histogram are drawn for both ways of filling it. Prints for each curve how many minima it has and
/// how rough it is; writes PREFIX.csv and PREFIX.svg.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Image that stays where it is (NIfTI)
    #[arg(short, long, value_name = "IMAGE")]
    fixed: PathBuf,
    /// Image that is brought to it (NIfTI)
    #[arg(short, long, value_name = "IMAGE")]
    moving: PathBuf,
    // Not a doc comment: rustdoc would take the brackets for links.
    #[arg(
        short,
        long,
        value_name = "FILE",
        help = "The transform in the middle of the curves, fixed to moving: an ITK \
        affine, FILE or [FILE,1] for its inverse [default: as the headers say]"
    )]
    transform: Option<TransformFile>,
    /// Start of both output names, folder included
    #[arg(short, long, value_name = "PREFIX")]
    output: String,
    /// Costs, with commas between them
    #[arg(long, value_enum, value_delimiter = ',', default_value = "mi", value_name = "COSTS")]
    cost: Vec<Measure>,
    /// Level, mm
    #[arg(long, value_parser = values::positive, default_value_t = 1.0, value_name = "MM")]
    mm: f64,
    /// Shifts go this far to both sides, mm
    #[arg(long, value_parser = values::positive, default_value_t = 3.0, value_name = "MM")]
    shift_mm: f64,
    /// Turns go this far to both sides, degrees
    #[arg(long, value_parser = values::positive, default_value_t = 3.0, value_name = "DEGREES")]
    turn_degrees: f64,
    /// Points to each side of the middle
    #[arg(long, value_parser = values::at_least_one, default_value_t = 60, value_name = "N")]
    points: usize,
    /// Device that computes: cpu, cuda, cuda:N or auto
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
}

/// Runs `bench cost-curves`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let names = ["csv", "svg"].map(|extension| PathBuf::from(format!("{}.{extension}", args.output)));
    for name in &names {
        outputs::check_writable(name)?;
    }
    let (fixed, moving) = (inputs::image(&args.fixed)?, inputs::image(&args.moving)?);
    let middle = match &args.transform {
        Some(file) => transforms::read_affine(file)?,
        None => AffineTransform::identity(),
    };
    let lines = Line::all(args.shift_mm, args.turn_degrees, args.points);
    let opened = args.device.open_alone()?;
    if let Some(note) = opened.note() {
        console.note(note);
    }
    let curves = match &opened.device {
        Device::Cpu => measure(&Cpu, args, [&fixed, &moving], &middle, &lines)?,
        Device::Cuda(cuda) => measure(cuda.as_ref(), args, [&fixed, &moving], &middle, &lines)?,
    };
    crate::output::print(&table::render(&curves::summary(&lines, &curves)))?;
    let svg = plot::svg(&lines, &curves).map_err(|source| CliError::Plot { path: names[1].clone(), source })?;
    let mut outputs = Outputs::new();
    for (name, text) in names.iter().zip([curves::csv(&lines, &curves), svg]) {
        outputs.write(name, |path| write(path, &text))?;
    }
    outputs.commit()?;
    for name in names {
        console.note(format_args!("wrote {}", name.display()));
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|source| CliError::Write { path: path.into(), source })
}

/// Each cost along all lines.
fn measure<B: Backend>(
    backend: &B,
    args: &Args,
    [fixed, moving]: [&Volume; 2],
    middle: &AffineTransform,
    lines: &[Line],
) -> Result<Vec<Curve>, CliError> {
    let centre = fixed.grid.centre();
    let maps: Vec<AffineTransform> =
        lines.iter().flat_map(|line| line.transforms(&centre).map(|motion| middle.after(&motion))).collect();
    let mut curves = Vec::new();
    for cost in args.cost.iter().copied().map(Cost::from) {
        for histogram in [JointSampling::Trilinear, JointSampling::PartialVolume] {
            if histogram == JointSampling::PartialVolume && !cost.has_joint_histogram() {
                continue;
            }
            let options = linear::Options { histogram, ..linear::Options::of(cost) };
            let side = linear::Fixed::new(backend, fixed, None, &options)?;
            let costs = side.costs(backend, moving, None, args.mm, &maps)?;
            let name = match cost.has_joint_histogram() {
                true => format!("{} {}", Measure::from(cost), Filling::from(histogram)),
                false => Measure::from(cost).to_string(),
            };
            let count = costs.len() / lines.len();
            curves.push(Curve { name, costs: costs.chunks(count).map(<[f64]>::to_vec).collect() });
        }
    }
    Ok(curves)
}
