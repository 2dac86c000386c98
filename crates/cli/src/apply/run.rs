//! Applies the transforms.

use std::path::Path;

use antsreg_core::io::nifti::Series;
use antsreg_core::io::points::PointTable;
use antsreg_core::io::{ErrorKind, nifti};
use antsreg_core::{Grid, LabelVolume, TransformChain, Volume};
use antsreg_kernels::apply;
use nalgebra::{Point3, Vector3};

use super::args::{Args, Coordinates, Interpolation};
use crate::error::{CliError, UsageError};
use crate::progress::Console;
use crate::{inputs, transforms};
use antsreg_core::io::outputs::{self, Outputs};

/// Voxels that a coarser grid must keep along every axis: an image of fewer could not be read again.
const LEAST_VOXELS: usize = 2;

/// An input that keeps its kind.
enum Input {
    Image(Volume),
    /// Volumes on one grid.
    Series(Grid, Series),
    Labels(LabelVolume),
}

impl Input {
    fn grid(&self) -> &Grid {
        match self {
            Input::Image(image) => &image.grid,
            Input::Series(grid, _) => grid,
            Input::Labels(labels) => &labels.grid,
        }
    }
}

/// Runs `apply`.
pub fn run(args: Args, console: &mut Console) -> Result<(), CliError> {
    if let Some(output) = &args.output {
        check_output(&args, output)?;
        let read = [&args.input, &args.reference, &args.points].into_iter().flatten();
        outputs::check_not_input(output, read.chain(args.transform.iter().map(|file| &file.path)))?;
    }
    if args.interpolation == Interpolation::GenericLabel && args.outside != 0.0 {
        let with = "--interpolation generic-label, where the outside is background".into();
        return Err(UsageError::NoEffect { option: "--outside", with }.into());
    }
    let chain = transforms::read_chain(&args.transform)?;
    if args.explain {
        return explain(&args, &chain);
    }
    let Some(output) = &args.output else {
        return Err(UsageError::Missing { option: "--output", why: "to have something written" }.into());
    };
    let mut outputs = Outputs::new();
    match (&args.points, &args.input, &args.reference) {
        (Some(points), ..) => {
            let mut table = PointTable::read(points)?;
            let lps_to_typed = match args.coordinates {
                Coordinates::Lps => Vector3::repeat(1.0),
                // The table takes all coordinates for LPS.
                Coordinates::Ras => Vector3::new(-1.0, -1.0, 1.0),
            };
            let turned = |point: &Point3<f64>| Point3::from(point.coords.component_mul(&lps_to_typed));
            table.move_points(|point| turned(&chain.apply(&turned(point))));
            outputs.write(output, |path| table.write(path))?;
            console.note(format_args!("{} points", table.points().len()));
        }
        (None, Some(input), Some(reference)) => {
            volume(&args, input, reference, output, &chain, &mut outputs, console)?
        }
        _ => return Err(UsageError::Missing { option: "--input with --reference", why: "or --points" }.into()),
    }
    outputs.commit()?;
    console.note(format_args!("wrote {}", output.display()));
    Ok(())
}

fn volume(
    args: &Args,
    input: &Path,
    reference: &Path,
    output: &Path,
    chain: &TransformChain,
    outputs: &mut Outputs,
    console: &mut Console,
) -> Result<(), CliError> {
    let data = read_input(args, input)?;
    let reference_grid = inputs::any_image(reference)?.grid;
    let axes = if reference_grid.is_slice() { 2 } else { 3 };
    let extent = reference_grid.shape.into_iter().take(axes).min().unwrap_or(0);
    if args.shrink > 1 && extent / args.shrink < LEAST_VOXELS {
        return Err(UsageError::Shrink { factor: args.shrink, extent, least: LEAST_VOXELS }.into());
    }
    let onto = reference_grid.shrink([args.shrink; 3]);
    if data.grid().is_slice() && !onto.is_slice() {
        return Err(CliError::SliceAndVolume { slice: input.into(), volume: reference.into() });
    }
    transforms::check_dimensions(&args.transform, chain, (reference, &onto), data.grid())?;
    for warning in chain.check(&onto, Some(data.grid()))? {
        console.warn(warning);
    }
    for warning in [input, reference].into_iter().filter_map(inputs::odd_header) {
        console.warn(warning);
    }
    let data = match &data {
        Input::Image(image) => {
            let how = args.interpolation.of_images(image.grid.spacing.into());
            Input::Image(apply::resample(image, &onto, chain, how, args.outside))
        }
        Input::Series(grid, series) => {
            let how = args.interpolation.of_images(grid.spacing.into());
            let each = |volume: &Volume| apply::resample(volume, &onto, chain, how, args.outside);
            let volumes = series.volumes.iter().map(each).collect();
            Input::Series(onto, Series { volumes, timing: series.timing })
        }
        Input::Labels(labels) => {
            Input::Labels(apply::resample_labels(labels, &onto, chain, args.interpolation.of_labels()))
        }
    };
    outputs.write(output, |path| match data {
        Input::Image(image) if args.integer => Ok(nifti::write_labels(path, &rounded(image, input)?)?),
        Input::Image(image) => Ok(nifti::write_volume(path, &image)?),
        Input::Series(_, series) => Ok(nifti::write_series(path, &series)?),
        Input::Labels(labels) => Ok(nifti::write_labels(path, &labels)?),
    })
}

/// Label maps for label interpolation, and for the nearest voxel where the file holds whole numbers; series as images.
fn read_input(args: &Args, input: &Path) -> Result<Input, CliError> {
    let header = nifti::inspect(input)?;
    if header.dim[0] == 4 && header.dim[4] > 1 && args.interpolation != Interpolation::GenericLabel {
        if args.integer {
            return Err(UsageError::NoEffect { option: "--integer", with: "a series of volumes".into() }.into());
        }
        return Ok(Input::Series(header.grid, nifti::read_series(input)?));
    }
    match args.interpolation {
        Interpolation::GenericLabel => Ok(Input::Labels(nifti::read_labels(input)?)),
        Interpolation::Nearest => match nifti::read_labels(input) {
            Ok(labels) if args.outside == 0.0 => Ok(Input::Labels(labels)),
            Err(error) if !matches!(error.kind, ErrorKind::NotLabels { .. }) => Err(error.into()),
            _ => Ok(Input::Image(inputs::any_image(input)?)),
        },
        _ => Ok(Input::Image(inputs::any_image(input)?)),
    }
}

fn rounded(image: Volume, input: &Path) -> Result<LabelVolume, CliError> {
    /// 2³¹, the first number beyond.
    const BEYOND: f32 = 2_147_483_648.0;
    match image.voxels.iter().find(|value| !(-BEYOND..BEYOND).contains(&value.round())) {
        Some(value) => Err(CliError::NoInteger { path: input.into(), value: *value }),
        None => Ok(LabelVolume {
            voxels: image.voxels.iter().map(|value| value.round() as i32).collect(),
            grid: image.grid,
        }),
    }
}

/// The chain in words; with a reference and an input also whether their spaces meet.
fn explain(args: &Args, chain: &TransformChain) -> Result<(), CliError> {
    crate::output::print(&chain.explain().to_string())?;
    if let Some(reference) = &args.reference {
        let onto = inputs::any_image(reference)?.grid;
        let input = args.input.as_deref().map(inputs::any_image).transpose()?;
        for warning in chain.check(&onto, input.as_ref().map(|image| &image.grid))? {
            crate::output::print(&format!("Warning: {warning}.\n"))?;
        }
    }
    Ok(())
}

/// The name fits what is to be written, and its folder takes it.
fn check_output(args: &Args, output: &Path) -> Result<(), CliError> {
    let name = output.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let (fits, expected) = match args.points {
        Some(_) => (name.ends_with(".csv"), ".csv"),
        None => (transforms::is_nifti(output), ".nii.gz or .nii"),
    };
    if !fits {
        return Err(CliError::OutputExtension { path: output.into(), expected });
    }
    Ok(outputs::check_writable(output)?)
}
