//! One label map, carried by a registration of its image or through transforms that exist.

use std::path::{Path, PathBuf};

use antsreg_core::io::nifti;
use antsreg_kernels::apply;

use super::Args;
use crate::error::{CliError, UsageError};
use crate::progress::Console;
use crate::register::{self, WritingArgs};
use crate::{inputs, overlap, transforms};
use antsreg_core::io::outputs::{self, Outputs};

/// Registers first.
pub fn registered(
    args: Args,
    labels: PathBuf,
    fixed: PathBuf,
    moving: PathBuf,
    console: &mut Console,
) -> Result<(), CliError> {
    let register = register::Args {
        fixed,
        moving,
        channels: Vec::new(),
        fixed_mask: None,
        moving_mask: None,
        fixed_labels: args.target,
        moving_labels: Some(labels),
        label_list: args.label_list,
        output: args.output,
        writing: WritingArgs { format: args.format, ..WritingArgs::default() },
        label_interpolation: args.interpolation,
        dry_run: args.dry_run,
        profile: false,
        settings: args.settings,
    };
    let overlap = register::run(&register, console)?;
    overlap.map_or(Ok(()), |overlap| crate::output::print(&format!("\n{}", overlap::show(&overlap))))
}

/// Carries the labels through transforms that exist.
pub fn carried(args: &Args, labels: &Path, console: &mut Console) -> Result<(), CliError> {
    let Some(onto) = args.reference.as_ref().or(args.target.as_ref()) else {
        return Err(
            UsageError::Missing { option: "--reference or --target", why: "to know the grid to write on" }.into()
        );
    };
    let name = PathBuf::from(format!("{}Labels.{}", args.output, args.format.extension()));
    let csv = PathBuf::from(format!("{}overlap.csv", args.output));
    outputs::check_writable(&name)?;
    outputs::check_name(&csv)?;
    let read = [Some(onto.as_path()), Some(labels), args.target.as_deref()];
    let read = read.into_iter().flatten().chain(args.apply.iter().map(|file| file.path.as_path()));
    let read: Vec<&Path> = read.collect();
    for output in [&name, &csv] {
        outputs::check_not_input(output, &read)?;
    }
    let labels = inputs::labels(labels)?;
    let grid = inputs::any_image(onto)?.grid;
    let target = args.target.as_deref().map(|target| inputs::labels_of(target, onto, &grid)).transpose()?;
    let list = match (&args.label_list, &args.target, &target) {
        (Some(list), Some(path), Some(target)) => Some(inputs::label_list_of(list, path, target)?),
        (list, ..) => list.as_deref().map(inputs::label_list).transpose()?,
    };
    let chain = transforms::read_chain(&args.apply)?;
    transforms::check_dimensions(&args.apply, &chain, (onto, &grid), &labels.grid)?;
    for warning in chain.check(&grid, Some(&labels.grid))? {
        console.warn(warning);
    }
    let carried = apply::resample_labels(&labels, &grid, &chain, args.interpolation.into());
    let mut outputs = Outputs::new();
    outputs.write(&name, |path| nifti::write_labels(path, &carried))?;
    let overlap = target.map(|target| overlap::score(&carried, &target, list.as_deref())).transpose()?;
    if let Some(overlap) = &overlap {
        outputs.write(&csv, |path| overlap::write_csv(path, overlap))?;
    }
    for path in outputs.commit()? {
        console.note(format_args!("wrote {}", path.display()));
    }
    overlap.map_or(Ok(()), |overlap| crate::output::print(&overlap::show(&overlap)))
}
