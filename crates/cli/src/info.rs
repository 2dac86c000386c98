//! The subcommand (verb) `info`: describes files. Without files, it describes the program and its devices.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Console, threads};
use antsreg_core::io::nifti::Inspection;
use antsreg_core::io::{Error, ErrorKind, itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, Transform, Volume};

use antsreg_register::{DeviceChoice, gpus};
use antsreg_study::geometry::{describe, obliquity_degrees, position, rounded};
use antsreg_study::{inputs, transforms};

/// NIfTI's intent code of an image of vectors.
const VECTOR_INTENT: i16 = 1007;

/// Describe images and transforms; without files, this program and its devices.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Images, label maps, warps or affine transforms (.mat, .txt, .tfm)
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Runs `info`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    if args.files.is_empty() {
        return antsreg_console::output::print(&program(console.threads)?);
    }
    for (n, path) in args.files.iter().enumerate() {
        let gap = if n == 0 { "" } else { "\n" };
        let text = describe_file(path)?;
        antsreg_console::output::print(&format!("{gap}{}\n{text}", path.display()))?;
    }
    Ok(())
}

/// Describes this program and its devices. Opens the device that `auto` would use, to report whether it works.
fn program(threads: usize) -> Result<String, CliError> {
    let auto = DeviceChoice::Auto.open()?;
    let ready = auto.seconds.map_or(String::new(), |seconds| format!(", ready in {seconds:.2} s"));
    let (gpus, note) = match (gpus(), &auto.instead_of_gpu) {
        (Err(reason), _) => (format!("         no GPU: {reason}\n"), ready),
        (Ok(gpus), unusable) => (
            gpus.iter().map(|gpu| format!("         {gpu}\n")).collect(),
            unusable.as_ref().map_or(ready, |reason| format!(", because {reason}")),
        ),
    };
    Ok(format!(
        "antsreg-gpu {}\nThreads  {threads} of {} cores\nDevices  cpu\n{gpus}         --device auto takes {}{note}\n",
        env!("CARGO_PKG_VERSION"),
        threads::available(),
        auto.device.description().choice(),
    ))
}

fn describe_file(path: &Path) -> Result<String, CliError> {
    if transforms::looks_like_fsl(path) {
        return Ok(
            "  FSL matrix, moving to fixed in scaled mm: has a meaning only together with both images\n".into()
        );
    }
    let header = match nifti::inspect(path) {
        Ok(header) => header,
        // A file that is not an image is read as a transform. If that fails too, only the error of reading a transform
        // is reported.
        Err(Error { kind: ErrorKind::Format { .. } | ErrorKind::Truncated { .. }, .. })
            if !transforms::is_image(path) =>
        {
            return Ok(itk::read_transforms(path)?.iter().map(transform).collect());
        }
        Err(error) => return Err(error.into()),
    };
    if header.intent_code == VECTOR_INTENT {
        return Ok(warp(&itk::read_warp(path)?));
    }
    match nifti::read_volume(path) {
        Ok(volume) => Ok(stored(&header) + &values(&volume)),
        Err(Error { kind: ErrorKind::SeveralVolumes { count, .. }, .. }) => Ok(format!(
            "  Volumes    {count}: `apply` resamples all of them; `register` needs a file with one volume\n{}",
            stored(&header)
        )),
        Err(error) => Err(error.into()),
    }
}

fn transform(transform: &Transform) -> String {
    match transform {
        Transform::Affine(map) => affine(map),
        Transform::Displacement(field) => warp(field),
    }
}

fn stored(header: &Inspection) -> String {
    let mut text = format!("  Grid       {}\n", describe(&header.grid));
    let oblique = obliquity_degrees(&header.grid);
    // Writing to a `String` cannot fail.
    if oblique > 0.05 {
        let _ = writeln!(text, "  Oblique    by {oblique:.1} degrees");
    }
    let scaling = header.scaling.map_or(String::new(), |(slope, inter)| format!(", scaled by {slope} plus {inter}"));
    let order = if header.big_endian { ", big-endian" } else { "" };
    let kind = header.datatype.to_lowercase();
    let codes = format!("sform code {}, qform code {}", header.sform_code, header.qform_code);
    let _ = writeln!(text, "  Stored as  {kind}{order}{scaling}; {codes}");
    for warning in &header.warnings {
        let _ = writeln!(text, "  Warning    {}", inputs::header_warning(warning));
    }
    if !header.description.is_empty() {
        let _ = writeln!(text, "  Note       {}", header.description);
    }
    text
}

fn values(volume: &Volume) -> String {
    let (mut least, mut most, mut sum) = (f32::INFINITY, f32::NEG_INFINITY, 0.0);
    for value in &volume.voxels {
        (least, most) = (least.min(*value), most.max(*value));
        sum += f64::from(*value);
    }
    let zeros = volume.voxels.iter().filter(|value| **value == 0.0).count();
    let count = volume.voxels.len() as f64;
    let mass = volume.centre_of_mass().map_or("none, because all voxels are equal".into(), |point| position(&point));
    format!(
        "  Values     {least} to {most}, mean {}, {:.1} % zero\n  Centre     of mass {mass}, of the grid {}; mm RAS\n",
        rounded(sum / count),
        100.0 * zeros as f64 / count,
        position(&volume.grid.centre())
    )
}

fn warp(field: &DisplacementField) -> String {
    format!("  Displacement field, at most {:.2} mm\n  Grid       {}\n", field.longest_mm(), describe(&field.grid))
}

fn affine(affine: &AffineTransform) -> String {
    let mut text = String::from("  Affine, fixed to moving points, mm RAS\n");
    for row in 0..3 {
        let m = affine.matrix.row(row);
        let _ = writeln!(text, "    {:11.6} {:11.6} {:11.6} {:11.4}", m[0], m[1], m[2], affine.translation[row]);
    }
    let scales =
        affine.matrix.column_iter().map(|column| format!("{:.4}", column.norm())).collect::<Vec<_>>().join(", ");
    let _ = writeln!(text, "  Volume     × {:.6}; x, y and z stretched by {scales}", affine.matrix.determinant());
    text
}
