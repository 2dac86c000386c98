//! The subcommand (verb) `motion`: motion correction of a series.

use std::ops::ControlFlow;
use std::path::PathBuf;

use antsreg_console::{CliError, Console, UsageError, command_line::command_line, device_notes, ending};
use antsreg_kernels::apply::SplineOrder;
use antsreg_pool::{Devices, GpuUse};
use antsreg_register::DeviceChoice;
use antsreg_register::linear::Dof;
use antsreg_study::apply::Reading;
use antsreg_study::motion::{Corrected, Cost, MotionFiles, Names, Opened, Options, ReferenceVolume, Task};

use crate::options::ReportArgs;

/// Motion correction: align every volume of a series to a reference volume.
///
/// Writes PREFIXmotion.txt (a transform for each volume, ITK, from points of the reference to points of the volume),
/// PREFIXmotion.tsv (translations in mm and rotations in radians, RAS; framewise displacement, root mean squared
/// deviation, DVARS), PREFIXmean.nii.gz, PREFIXrecord.json and the corrected series, PREFIXcorrected.nii.gz. To
/// resample a series only once through several transforms, use --no-corrected and give PREFIXmotion.txt to `apply
/// --motion`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Series (4-D)
    #[arg(short, long, value_name = "SERIES")]
    input: PathBuf,
    /// Start of all output names, folder included
    #[arg(short, long, value_name = "PREFIX")]
    output: String,
    /// Reference volume: middle, mean (the mean volume after a first pass), a number counted from 0, or an image
    #[arg(short, long, value_name = "VOLUME", default_value = "middle")]
    reference: ReferenceVolume,
    /// Degrees of freedom of the transform of each volume: 3, 6, 7, 9 or 12
    #[arg(long, value_name = "N", default_value = "6", value_parser = dof)]
    dof: Dof,
    /// Cost that is minimised
    #[arg(long, value_enum, default_value_t, value_name = "COST")]
    cost: Cost,
    /// Standard deviations of the Gaussian smoothing, mm, one for each level, coarse to fine
    #[arg(long, value_name = "MMxMM", default_value = "4x2", value_parser = sigmas)]
    smoothing_sigmas_mm: Sigmas,
    /// Do not write the corrected series
    #[arg(long)]
    no_corrected: bool,
    /// Also write FSL's matrices, PREFIXmotion.mat/MAT_0000 and so on
    #[arg(long)]
    fsl: bool,
    /// Continue if a volume cannot be aligned: the volume gets the transform of the volume before, and the exit code
    /// is 3
    #[arg(long)]
    keep_going: bool,
    #[command(flatten)]
    report: ReportArgs,
    /// Device that computes: cpu, cuda (the first NVIDIA GPU), cuda:N, or auto: cuda where it can be used, else cpu
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
}

impl Args {
    /// The GPUs that the command may use; `None` if this is not known before the CUDA driver starts.
    pub fn gpu_use(&self) -> Option<GpuUse> {
        Devices::One(self.device).gpu_use(true)
    }
}

/// The list of standard deviations, one for each level. The type is not `Vec`, because for clap a `Vec` means an option
/// that may be repeated.
type Sigmas = std::sync::Arc<[f64]>;

fn dof(text: &str) -> Result<Dof, String> {
    let known = || Dof::ALL.into_iter().find(|dof| text == dof.number(false).to_string());
    known().ok_or_else(|| "expected 3, 6, 7, 9 or 12".into())
}

fn sigmas(text: &str) -> Result<Sigmas, String> {
    let numbers =
        text.split('x').map(|word| word.parse::<f64>().ok().filter(|sigma| Options::SIGMAS_MM.contains(sigma)));
    numbers
        .collect::<Option<Sigmas>>()
        .ok_or_else(|| "expected numbers from 0 to 20 with x between them, one per level, such as 4x2".into())
}

/// Runs `motion`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    UsageError::check_prefix(&args.output)?;
    let names = Names {
        page: args.report.path(|| format!("{}report.html", args.output).into()),
        ..Names::of(&args.output, !args.no_corrected, args.fsl)
    };
    let task = Task {
        files: MotionFiles { input: args.input.clone(), reference: args.reference.clone(), names, in_place: false },
        options: Options {
            dof: args.dof,
            cost: args.cost,
            smoothing_sigmas_mm: args.smoothing_sigmas_mm.to_vec(),
            ..Options::default()
        },
        reading: Reading::Spline(SplineOrder::CUBIC),
        keep_going: args.keep_going,
        command_line: command_line(),
    };
    let (read, opened) = args.device.open_during(|| Opened::new(&task));
    let (read, opened) = (read?, opened?);
    opened.note().iter().for_each(|note| device_notes::show(note, console));
    ending::keep_open(&opened.device);
    let found = read.find(opened.device, &mut |progress| {
        console.note(format_args!("aligned {} of {} volumes", progress.aligned, progress.of));
        ControlFlow::Continue(())
    })?;
    let corrected = found.commit()?;
    let Corrected { paths, rows, failed, unlike } = &corrected;
    let displacements: Vec<f64> =
        rows.iter().filter_map(|row| row.since_before).map(|[displacement, _]| displacement).collect();
    let mean = displacements.iter().sum::<f64>() / displacements.len().max(1) as f64;
    let most = displacements.iter().copied().fold(0.0, f64::max);
    console.note(format_args!("framewise displacement: {mean:.3} mm on average, {most:.3} mm at most"));
    let folder = task.files.names.matrices.as_deref();
    let (matrices, files): (Vec<_>, Vec<_>) =
        paths.iter().partition(|path| folder.is_some_and(|folder| path.starts_with(folder)));
    files.iter().for_each(|path| console.note(format_args!("wrote {}", path.display())));
    if let Some(folder) = folder {
        console.note(format_args!("wrote {} matrices of FSL to {}", matrices.len(), folder.display()));
    }
    for (index, why) in failed {
        console.warn(format_args!(
            "volume {index}, counted from 0: {why}; this volume gets the transform of the volume before it"
        ));
    }
    for (index, why) in unlike {
        console.warn(format_args!("volume {index}, counted from 0: {why}"));
    }
    match failed.len() {
        0 => Ok(()),
        count => Err(CliError::VolumesLeftOut { count, of: rows.len() }),
    }
}
