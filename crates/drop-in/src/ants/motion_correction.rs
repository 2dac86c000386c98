//! The command `antsMotionCorr`: motion correction of a time series, or its mean.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Refusal};
use antsreg_core::AffineTransform;
use antsreg_core::io::nifti::{Planes, Stored};
use antsreg_core::io::outputs::{self, write_file};
use antsreg_register::Description;
use antsreg_register::linear::Dof;
use antsreg_study::apply::Reading;
use antsreg_study::motion::{Cost, MotionFiles, Names, Options, ReferenceVolume, Task};
use nalgebra::{Matrix3, Point3};

use super::files::{self, Image};
use super::interpolation;
use super::words::{self, Flag, Given, Value, flag, last, long};
use crate::call::Call;
use crate::engine;

const USAGE: &str = "\
antsMotionCorr -d 3 -m METRIC[FIXED,SERIES,…] -t Rigid[…]|Affine[…] -o [PREFIX,SERIES,MEAN] [-p INTERPOLATION] [-v 0|1]
antsMotionCorr -d 3 -a SERIES -o MEAN

Served by antsreg-gpu: its motion correction replaces ANTs'. -n, -u, -e, -i, -s, -f, -l and -w belong to ANTs' search and have no effect.
";

const FLAGS: &[Flag] = &[
    flag('d', "dimensionality"),
    flag('n', "n-images"),
    flag('m', "metric"),
    flag('u', "useFixedReferenceImage"),
    flag('e', "useScalesEstimator"),
    flag('t', "transform"),
    flag('i', "iterations"),
    flag('s', "smoothingSigmas"),
    flag('f', "shrinkFactors"),
    flag('o', "output"),
    flag('a', "average-image"),
    flag('l', "use-estimate-learning-rate-once"),
    flag('w', "write-displacement"),
    flag('p', "interpolation"),
    long("use-histogram-matching"),
    long("random-seed"),
    flag('v', "verbose"),
];

/// What a command line asks for.
enum Request {
    /// The mean of a series.
    Mean { series: PathBuf, output: PathBuf },
    /// A motion correction.
    Correction(Box<Correction>),
}

struct Correction {
    series: PathBuf,
    reference: PathBuf,
    dof: Dof,
    cost: Cost,
    reading: Reading,
    names: Names,
    parameters: PathBuf,
    verbose: bool,
}

/// Runs `antsMotionCorr`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written; a volume that cannot be aligned.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(given) = words::read(&call.arguments, FLAGS, USAGE)? else { return Ok(()) };
    match request(&given)? {
        Request::Mean { series, output } => mean(call, &series, &output),
        Request::Correction(request) => correct(call, *request),
    }
}

/// Parses the arguments of `antsMotionCorr` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    request(&words::parse(words, FLAGS)?).map(drop)
}

fn request(given: &[Given]) -> Result<Request, Refusal> {
    match last(given, "dimensionality").map_or("3", |value| value.text.as_str()) {
        "3" => {}
        other => return Err(Refusal::not_served(format!("--dimensionality {other}"), "use 3")),
    }
    let output = last(given, "output").ok_or_else(|| Refusal::new("--output", "is missing; expected a prefix"))?;
    if let Some(series) = last(given, "average-image") {
        return Ok(Request::Mean { series: PathBuf::from(&series.text), output: output_image(output, 0)? });
    }
    if last(given, "write-displacement").is_some_and(|value| value.text != "0") {
        return Err(Refusal::not_served(
            "--write-displacement 1",
            "leave it out; the motion is in PREFIXMOCOparams.csv",
        ));
    }
    let metric = last(given, "metric").ok_or_else(|| Refusal::new("--metric", "is missing"))?;
    let image = |place: usize| {
        let missing = || Refusal::new(format!("--metric {}", metric.text), "expected a fixed image and a series");
        metric.parameter(place).map(PathBuf::from).ok_or_else(missing)
    };
    let cost = match metric.name.to_ascii_lowercase().as_str() {
        "cc" | "gc" => Cost::Ncc,
        "mi" | "mattes" => Cost::Nmi,
        "demons" | "meansquares" => Cost::Lsq,
        _ => return Err(Refusal::new(format!("--metric {}", metric.text), "expected CC, GC, MI, Mattes or Demons")),
    };
    let prefix = output.parameter(0).unwrap_or(&output.text);
    let optional = |place: usize| output.parameter(place).map(|_| output_image(output, place)).transpose();
    Ok(Request::Correction(Box::new(Correction {
        series: image(1)?,
        reference: image(0)?,
        dof: dof(given)?,
        cost,
        reading: last(given, "interpolation").map_or(Ok(Reading::Linear), interpolation::reading)?,
        names: Names { corrected: optional(1)?, mean: optional(2)?, ..Names::default() },
        parameters: PathBuf::from(format!("{prefix}MOCOparams.csv")),
        verbose: last(given, "verbose").map_or(Ok(false), |value| words::switch("--verbose", &value.text))?,
    })))
}

fn output_image(output: &Value, place: usize) -> Result<PathBuf, Refusal> {
    let path = PathBuf::from(output.parameter(place).unwrap_or(&output.text));
    super::check_image_name("--output", &path)?;
    Ok(path)
}

/// The degrees of freedom of the last stage.
fn dof(given: &[Given]) -> Result<Dof, Refusal> {
    let mut dof = None;
    for stage in words::all(given, "transform") {
        dof = Some(match stage.name.to_ascii_lowercase().as_str() {
            "rigid" => Dof::Rigid6,
            "affine" => Dof::Affine12,
            _ => return Err(Refusal::not_served(format!("--transform {}", stage.text), "use Rigid or Affine")),
        });
    }
    dof.ok_or_else(|| Refusal::new("--transform", "is missing; expected Rigid[…] or Affine[…]"))
}

/// Writes the mean of a series.
fn mean(call: &Call, series: &Path, output: &Path) -> Result<(), CliError> {
    files::check_output(output)?;
    let series = Image::read(series, 4)?;
    let (each, count) = (series.grid.len(), series.count());
    let sum = |voxel: usize| (0..count).map(|n| f64::from(series.voxels[n * each + voxel])).sum::<f64>();
    let voxels = (0..each).map(|voxel| (sum(voxel) / count as f64) as f32).collect();
    Image { voxels, planes: Planes::One, grid: series.grid }.write(output, Stored::Float32)?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

fn correct(call: &Call, request: Correction) -> Result<(), CliError> {
    let Correction { series, reference, dof, cost, reading, names, parameters, verbose } = request;
    outputs::check_in_place([&parameters])?;
    let reference = ReferenceVolume::File(reference);
    let task = Task {
        files: MotionFiles { input: series, reference, names, in_place: true },
        options: Options { dof, cost, ..Options::default() },
        reading,
        keep_going: false,
        command_line: Vec::new(),
    };
    let mut found = engine::correct_motion(call, &mut call.console(verbose)?, &task)?;
    let text = table(&found.motion.transforms, &found.motion.centre, dof);
    found.outputs.write(&parameters, |path| Ok::<_, CliError>(write_file(path, text.as_bytes())?))?;
    let device = found.motion.device.clone();
    found.commit()?;
    let replaced =
        ["ANTs' search is replaced by this program's motion correction", "the metrics in MOCOparams.csv are 0"];
    call.tell(&device, &replaced.map(str::to_owned));
    Ok(())
}

/// The table of the parameters of each volume's transform from points of the reference, in LPS mm about `centre`: the
/// angles about x, y and z and the translation of a rigid transform, else the matrix and the translation. The first two
/// columns are for metrics of ANTs' search, of which there are none.
fn table(transforms: &[AffineTransform], centre: &Point3<f64>, dof: Dof) -> String {
    let rows: Vec<Vec<f64>> = transforms.iter().map(|transform| numbers(transform, centre, dof)).collect();
    let count = rows.first().map_or(0, Vec::len);
    let header: Vec<String> = ["MetricPre", "MetricPost"]
        .map(str::to_owned)
        .into_iter()
        .chain((0..count).map(|n| format!("MOCOparam{n}")))
        .collect();
    let row = |row: &Vec<f64>| row.iter().map(|number| format!(",{number}")).collect::<String>();
    let lines = rows.iter().map(|numbers| format!("0,0{}\n", row(numbers)));
    [header.join(",") + "\n"].into_iter().chain(lines).collect()
}

fn numbers(transform: &AffineTransform, centre: &Point3<f64>, dof: Dof) -> Vec<f64> {
    let turn = Matrix3::from_diagonal(&[-1.0, -1.0, 1.0].into());
    let matrix = turn * transform.matrix * turn;
    let shift = turn * (transform.apply(centre) - centre);
    match dof {
        // ITK's Euler transform is Rz·Rx·Ry.
        Dof::Rigid6 => {
            let x = matrix[(2, 1)].clamp(-1.0, 1.0).asin();
            let y = (-matrix[(2, 0)]).atan2(matrix[(2, 2)]);
            let z = (-matrix[(0, 1)]).atan2(matrix[(1, 1)]);
            [x, y, z].into_iter().chain(shift.iter().copied()).collect()
        }
        _ => matrix.transpose().iter().chain(&shift).copied().collect(),
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{Rotation3, Vector3};

    use super::*;

    #[test]
    fn rigid_parameters_are_those_of_itk() {
        let turn = |axis, angle: f64| Rotation3::from_axis_angle(&axis, angle).into_inner();
        let lps = turn(Vector3::z_axis(), 0.3) * turn(Vector3::x_axis(), -0.1) * turn(Vector3::y_axis(), 0.2);
        let flip = Matrix3::from_diagonal(&[-1.0, -1.0, 1.0].into());
        let centre = Point3::new(5.0, 6.0, 7.0);
        let matrix = flip * lps * flip;
        let translation = centre.coords + Vector3::new(1.0, 2.0, 3.0) - matrix * centre.coords;
        let found = numbers(&AffineTransform { matrix, translation }, &centre, Dof::Rigid6);
        for (found, expected) in found.iter().zip([-0.1, 0.2, 0.3, -1.0, -2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn a_line_of_ants_is_read() {
        let read = |line: &str| read(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let line = "-d 3 -o [ p_,s.nii.gz,m.nii.gz ] -m MI[ m.nii.gz, s.nii.gz, 1, 32, Regular, 0.05 ] -t Rigid[ 0.25 ] -i 50x50 \
                    -u 1 -e 1 -s 1x0 -f 2x1 -n 100 -l 1";
        assert_eq!(read(line), Ok(()));
        assert_eq!(read("-d 3 -a s.nii.gz -o m.nii.gz"), Ok(()));
        for (old, new) in [("Rigid", "SyN"), ("-d 3", "-d 2"), ("m.nii.gz ]", "m.dcm ]"), ("-l 1", "-w 1")] {
            assert!(read(&line.replacen(old, new, 1)).is_err(), "{new}");
        }
    }
}
