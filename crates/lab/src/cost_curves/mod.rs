//! Measures how smoothly a cost of the linear stage changes along each parameter of a rigid transform.

mod choice;
mod curves;
mod plot;

use std::path::PathBuf;

use antsreg_core::io::nifti;
use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::{Backend, Cpu, JointSampling};
use antsreg_linear as linear;

use crate::device::DeviceChoice;
use crate::error::Error;
use crate::transform::TransformFile;
use crate::{output, values};
use choice::CostChoice;
use curves::{Curve, Line};

/// Draw the costs of the affine stage along each parameter of a rigid transform.
///
/// The parameters are three shifts along the world's axes and three rotations about the middle of the fixed image,
/// relative to the given transform. A cost that uses a joint histogram has two curves: the histogram is filled by
/// trilinear or by partial-volume interpolation. Prints for each curve how many minima it has and how rough it is;
/// writes PREFIX.csv and PREFIX.svg.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Fixed image (NIfTI)
    #[arg(short, long, value_name = "IMAGE")]
    fixed: PathBuf,
    /// Moving image (NIfTI)
    #[arg(short, long, value_name = "IMAGE")]
    moving: PathBuf,
    // The help text of the option `--transform` is no doc comment, because rustdoc would take its brackets for links.
    #[arg(
        short,
        long,
        value_name = "FILE",
        help = "The transform in the middle of the curves, fixed to moving: an ITK \
        affine, FILE or [FILE,1] for its inverse [default: the identity, in the headers' world coordinates]"
    )]
    transform: Option<TransformFile>,
    /// Start of the names of both output files, with their folder
    #[arg(short, long, value_name = "PREFIX")]
    output: String,
    /// Costs, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "mi", value_name = "COSTS")]
    cost: Vec<CostChoice>,
    /// Level, mm
    #[arg(long, value_parser = values::positive, default_value_t = 1.0, value_name = "MM")]
    mm: f64,
    /// Largest shift in either direction, mm
    #[arg(long, value_parser = values::positive, default_value_t = 3.0, value_name = "MM")]
    shift_mm: f64,
    /// Largest turn in either direction, degrees
    #[arg(long, value_parser = values::positive, default_value_t = 3.0, value_name = "DEGREES")]
    turn_degrees: f64,
    /// Number of points on either side of the transform in the middle
    #[arg(long, value_parser = values::at_least_one, default_value_t = 60, value_name = "N")]
    points: usize,
    /// Device that computes: cpu, cuda, cuda:N or auto
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
}

/// Evaluates the cost functions along each transform parameter, prints statistics of the costs, and writes PREFIX.csv
/// and PREFIX.svg.
pub fn run(args: &Args) -> Result<(), Error> {
    let [csv, svg] = ["csv", "svg"].map(|extension| PathBuf::from(format!("{}.{extension}", args.output)));
    output::check_folder(&csv)?;
    let (fixed, moving) = (nifti::read_volume(&args.fixed)?, nifti::read_volume(&args.moving)?);
    let middle = args.transform.as_ref().map_or(Ok(AffineTransform::identity()), TransformFile::read)?;
    let lines = Line::all(args.shift_mm, args.turn_degrees, args.points);
    let curves = match args.device.open()? {
        None => measure(&Cpu, args, [&fixed, &moving], &middle, &lines)?,
        Some(cuda) => measure(&cuda, args, [&fixed, &moving], &middle, &lines)?,
    };
    output::print(&output::table(&curves::summary(&lines, &curves)))?;
    let plot = plot::svg(&lines, &curves)
        .map_err(|source| Error::Plot { name: svg.display().to_string(), source: Box::new(source) })?;
    let mut files = output::Files::default();
    files.add(csv, curves::csv(&lines, &curves));
    files.add(svg, plot);
    files.write()
}

/// Evaluates each cost function at rigid transforms along lines, on each of which one parameter varies. All lines go
/// through the transform `middle`, fixed → moving world.
fn measure<B: Backend>(
    backend: &B,
    args: &Args,
    [fixed, moving]: [&Volume; 2],
    middle: &AffineTransform,
    lines: &[Line],
) -> Result<Vec<Curve>, Error> {
    let centre = fixed.grid.centre();
    let maps: Vec<AffineTransform> =
        lines.iter().flat_map(|line| line.transforms(&centre).map(|motion| middle.after(&motion))).collect();
    let mut curves = Vec::new();
    for choice in &args.cost {
        let cost = choice.cost();
        for histogram in [JointSampling::Trilinear, JointSampling::PartialVolume] {
            if histogram == JointSampling::PartialVolume && !cost.has_joint_histogram() {
                continue;
            }
            let options = linear::Options { histogram, ..linear::Options::of(cost) };
            let side = linear::Fixed::new(backend, fixed, None, &options)?;
            let costs = side.costs(backend, moving, None, args.mm, &maps)?;
            let name = choice.curve_name(cost.has_joint_histogram().then_some(histogram));
            let count = costs.len() / lines.len();
            curves.push(Curve { name, costs: costs.chunks(count).map(<[f64]>::to_vec).collect() });
        }
    }
    Ok(curves)
}
