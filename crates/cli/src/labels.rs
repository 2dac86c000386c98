//! `labels`: carry labels to another image and score them against its own.

use std::path::PathBuf;

use antsreg_core::io::nifti;
use antsreg_kernels::apply;

use crate::error::{CliError, UsageError};
use crate::interpolation::{ImageInterpolation, LabelInterpolation};
use crate::progress::Console;
use crate::register::{self, Format, Settings};
use crate::staging::{self, Outputs};
use crate::values::TransformFile;
use crate::{inputs, overlap, transforms};

/// Carry labels to another image and score them against its own.
///
/// Either registers the two images first (-f, -m and the options of `register`, whose files are written too), or takes
/// transforms that exist already (--apply).
///
/// Writes PREFIXLabels.nii.gz; with --target also PREFIXoverlap.csv, and prints the table.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER)]
pub struct Args {
    /// Label map to carry (NIfTI), of the moving image
    #[arg(short, long, value_name = "IMAGE", help_heading = "Labels")]
    labels: PathBuf,
    /// Label map taken for the truth (NIfTI), of the fixed image
    #[arg(short = 'g', long, value_name = "IMAGE", help_heading = "Labels")]
    target: Option<PathBuf>,
    /// Labels that count in the overlap: a file of numbers, or 1,2,5 [default: all but 0]
    #[arg(long, value_name = "LIST", help_heading = "Labels", requires = "target")]
    label_list: Option<String>,
    /// Start of all output names, folder included
    #[arg(short, long, value_name = "PREFIX", help_heading = "Labels")]
    output: String,
    /// How the labels are read between voxels
    #[arg(short = 'n', long, value_enum, default_value_t, value_name = "HOW", help_heading = "Labels")]
    interpolation: LabelInterpolation,
    /// Format of images and warps
    #[arg(long, value_enum, default_value_t, help_heading = "Labels")]
    format: Format,

    /// Transform that exists already, as for `apply -t`; may be repeated
    #[arg(long, value_name = "TRANSFORM", help_heading = "With given transforms", required_unless_present = "moving",
        conflicts_with_all = ["moving", "dry_run", "Settings"])]
    apply: Vec<TransformFile>,
    /// Image whose grid the labels get [default: that of --target]
    #[arg(short, long, value_name = "IMAGE", help_heading = "With given transforms", requires = "apply")]
    reference: Option<PathBuf>,

    /// Image that stays where it is (NIfTI)
    #[arg(short, long, value_name = "IMAGE", help_heading = "With a registration", requires = "moving")]
    fixed: Option<PathBuf>,
    /// Image that is brought to it (NIfTI)
    #[arg(short, long, value_name = "IMAGE", help_heading = "With a registration", requires = "fixed")]
    moving: Option<PathBuf>,
    /// Print what would be done and the memory it would take, then stop
    #[arg(long, help_heading = "With a registration", requires = "moving")]
    dry_run: bool,
    #[command(flatten)]
    settings: Settings,
}

const AFTER: &str = "\
Examples:
  antsreg-gpu labels -f target.nii.gz -m atlas.nii.gz -l atlas_labels.nii.gz -g target_labels.nii.gz -o out/atlas_
  antsreg-gpu labels --apply p1Warp.nii.gz --apply p0GenericAffine.mat -l atlas_labels.nii.gz \\
      -r target.nii.gz -o out/atlas_";

/// Runs `labels`.
pub fn run(args: Args, console: &mut Console) -> Result<(), CliError> {
    match (&args.fixed, &args.moving) {
        (Some(fixed), Some(moving)) => {
            let register = register::Args {
                fixed: fixed.clone(),
                moving: moving.clone(),
                channels: Vec::new(),
                fixed_mask: None,
                moving_mask: None,
                fixed_labels: args.target,
                moving_labels: Some(args.labels),
                label_list: args.label_list,
                output: args.output,
                format: args.format,
                no_warped: false,
                no_inverse: false,
                interpolation: ImageInterpolation::default(),
                label_interpolation: args.interpolation,
                dry_run: args.dry_run,
                profile: false,
                settings: args.settings,
            };
            let overlap = register::run(&register, console)?;
            overlap.map_or(Ok(()), |overlap| crate::output::print(&format!("\n{}", overlap::show(&overlap))))
        }
        _ => given(&args, console),
    }
}

/// Carries the labels through transforms that exist.
fn given(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let Some(onto) = args.reference.as_ref().or(args.target.as_ref()) else {
        return Err(
            UsageError::Missing { option: "--reference or --target", why: "to know the grid to write on" }.into()
        );
    };
    let name = PathBuf::from(format!("{}Labels.{}", args.output, args.format.extension()));
    let csv = PathBuf::from(format!("{}overlap.csv", args.output));
    staging::check_writable(&name)?;
    let labels = inputs::labels(&args.labels)?;
    let grid = inputs::any_image(onto)?.grid;
    let target = args.target.as_deref().map(|target| inputs::labels_of(target, onto, &grid)).transpose()?;
    let list = args.label_list.as_deref().map(inputs::label_list).transpose()?;
    let chain = transforms::read_chain(&args.apply)?;
    for warning in chain.check(&grid, Some(&labels.grid))? {
        console.warn(warning);
    }
    let carried = apply::resample_labels(&labels, &grid, &chain, args.interpolation.into());
    let mut outputs = Outputs::new();
    outputs.write(&name, |path| Ok(nifti::write_labels(path, &carried)?))?;
    let overlap = target.map(|target| overlap::score(&carried, &target, list.as_deref())).transpose()?;
    if let Some(overlap) = &overlap {
        outputs.write(&csv, |path| overlap::write_csv(path, overlap))?;
    }
    for path in outputs.commit()? {
        console.note(format_args!("wrote {}", path.display()));
    }
    overlap.map_or(Ok(()), |overlap| crate::output::print(&overlap::show(&overlap)))
}
