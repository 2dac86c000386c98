//! Runs the subcommand (verb) `apply`.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Console, UsageError, command_line::command_line};
use antsreg_core::io::itk::{self, Dimensions};
use antsreg_core::io::nifti::{GridRule, PlanesReader, SeriesReader, Stored};
use antsreg_core::io::{ErrorKind, ImageFormat, nifti};
use antsreg_core::{Grid, LabelVolume, TransformChain, Volume, memory};
use antsreg_kernels::apply;
use nalgebra::Point3;

use super::args::{Args, Interpolation};
use super::points::Geometry;
use super::series::{AHEAD, Series};
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_study::apply::{Carrying, Kind, Reading};
use antsreg_study::{self as study, inputs, transforms, words};

/// Smallest number of voxels that the output grid must keep along every axis with `--shrink`. An image with fewer
/// voxels could not be read again.
const LEAST_VOXELS: usize = 2;

/// Runs `apply`.
pub fn run(mut args: Args, console: &mut Console) -> Result<(), CliError> {
    args.motion = args.motion.map(study::motion::transforms_file);
    let geometry = Geometry::of(&args)?;
    if let Some(output) = &args.output {
        match &geometry {
            Some(geometry) => geometry.check_output(output)?,
            None => check_output(&args, output)?,
        }
        let read = [&args.input, &args.reference, &args.points, &args.motion].into_iter().flatten();
        outputs::check([output], read.chain(args.transform.iter().map(|file| &file.path)))?;
    }
    if args.interpolation == Interpolation::GenericLabel && args.outside != 0.0 {
        let with = "--interpolation generic-label, which gives voxels outside the input the label 0".into();
        return Err(UsageError::NoEffect { option: "--outside", with }.into());
    }
    let page = match &geometry {
        Some(geometry) => geometry.without_page(&args)?,
        None => page(&args)?,
    };
    let chain = transforms::read_chain(&args.transform)?;
    if args.explain {
        return match &geometry {
            Some(geometry) => geometry.explain(&chain),
            None => explain(&args, &chain),
        };
    }
    let Some(output) = &args.output else {
        return Err(UsageError::Missing { option: "--output", why: "the result is written to this file" }.into());
    };
    let mut outputs = Outputs::new();
    match (&args.input, &args.reference) {
        _ if geometry.is_some() => {
            geometry.iter().try_for_each(|geometry| geometry.carry(&args, output, &chain, &mut outputs, console))?
        }
        (None, None) if itk::is_composite(output) => {
            let dimensions = dimensions(&args, &chain)?;
            let write = |path: &Path| Ok(itk::write_composite(path, &chain, Point3::origin(), dimensions)?);
            outputs.write::<CliError>(output, write)?;
        }
        (Some(input), Some(reference)) => volume(&args, input, reference, output, &chain, &mut outputs, console)?,
        _ => {
            let why = "an image needs both options; points, surfaces and tracts need --input alone";
            return Err(UsageError::Missing { option: "--input with --reference", why }.into());
        }
    }
    if let Some(name) = &page {
        outputs.write::<CliError>(name, |path| report(&args, output, &chain, path))?;
    }
    for path in outputs.commit()? {
        console.note(format_args!("wrote {}", path.display()));
    }
    Ok(())
}

/// The path of the HTML page, if a page is wanted. Asking for a page is an error unless the command resamples a
/// single image.
fn page(args: &Args) -> Result<Option<PathBuf>, CliError> {
    let Some(output) = &args.output else { return Ok(None) };
    let Some(page) = args.report.path(|| output.with_file_name(format!("{}_report.html", words::stem(output))))
    else {
        return Ok(None);
    };
    let no_effect = |with: &str| Err(UsageError::NoEffect { option: "--report", with: with.into() }.into());
    let (Some(input), Some(reference)) = (&args.input, &args.reference) else {
        return no_effect("outputs other than a single resampled image, which the HTML page would show");
    };
    if input_grid(args, input)?.0 {
        return no_effect("a series of volumes");
    }
    let read = [input, reference].into_iter().chain(args.transform.iter().map(|file| &file.path));
    outputs::check([&page], read)?;
    Ok(Some(page))
}

/// Writes the HTML page about the resampled image.
fn report(args: &Args, output: &Path, chain: &TransformChain, path: &Path) -> Result<(), CliError> {
    let (Some(input), Some(reference)) = (&args.input, &args.reference) else { return Ok(()) };
    let spacing = input_grid(args, input)?.1.spacing;
    let carried = study::Carried {
        input,
        reference,
        output,
        transforms: &args.transform,
        chain,
        interpolation: args.interpolation.of_images(spacing.into()),
        command_line: &command_line(),
    };
    Ok(outputs::write_file(path, study::carried_page(&carried)?.as_bytes())?)
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
    // The first checks read only the headers of the files. So files that do not fit together, or not into memory, are
    // refused before any voxels are read.
    let (series, input_grid) = input_grid(args, input)?;
    let reference_grid = inputs::grid(reference)?;
    let axes = if reference_grid.is_slice() { 2 } else { 3 };
    let extent = reference_grid.shape.into_iter().take(axes).min().unwrap_or(0);
    if args.shrink > 1 && extent / args.shrink < LEAST_VOXELS {
        return Err(UsageError::Shrink { factor: args.shrink, extent, least: LEAST_VOXELS }.into());
    }
    let onto = reference_grid.shrink([args.shrink; 3]);
    if input_grid.is_slice() && !onto.is_slice() {
        return Err(study::Error::SliceAndVolume { slice: input.into(), volume: reference.into() }.into());
    }
    transforms::check_dimensions(&args.transform, chain, (reference, &onto), &input_grid)?;
    for warning in chain.check(&onto, Some(&input_grid))? {
        console.warn(warning);
    }
    for warning in [input, reference].into_iter().filter_map(inputs::odd_header) {
        console.warn(warning);
    }
    check_memory(args, input, &input_grid, &onto, if series { AHEAD + 2 } else { 1 })?;
    let how = args.interpolation.of_images(input_grid.spacing.into());
    let carry = |image: &Volume| apply::resample(image, &onto, chain, how, args.outside);
    let motion = args.motion.as_deref().map(itk::read_affines).transpose()?;
    if motion.is_some() && !series {
        let with = format!("{}, which is not a series of images", input.display());
        return Err(UsageError::NoEffect { option: "--motion", with }.into());
    }
    if series {
        let reader = SeriesReader::open(input)?;
        let count = reader.count();
        let motion = match (motion, &args.motion) {
            (Some(motion), Some(path)) if motion.len() != count => {
                let found = motion.len();
                return Err(
                    study::Error::MotionCount { path: path.clone(), found, series: input.into(), count }.into()
                );
            }
            (motion, _) => motion,
        };
        let interpolation = how;
        let motion = motion.as_deref();
        let series = Series { input, onto: &onto, chain, interpolation, outside: args.outside, motion };
        return outputs.write(output, |path| series.write(reader, path));
    }
    if let Some(labels) = read_labels(args, input)? {
        let labels = apply::resample_labels(&labels, &onto, chain, args.interpolation.of_labels());
        return outputs.write(output, |path| Ok(nifti::write_labels(path, &labels)?));
    }
    if let Some(stored) = wide_type(args, input)? {
        let reading = match args.interpolation {
            Interpolation::Nearest => Reading::Nearest,
            _ => Reading::GenericLabel,
        };
        let (rule, kind, outside) = (GridRule::default(), Kind::Scalar, args.outside);
        let carrying = Carrying { input: input.into(), kind, rule, onto, reading, outside, stored, rounded: false };
        return outputs.write(output, |path| carrying.open()?.write(chain, path).map_err(CliError::from));
    }
    let image = carry(&inputs::any_image(input)?);
    outputs.write(output, |path| match args.integer {
        true => Ok(nifti::write_labels(path, &rounded(image, input)?)?),
        false => Ok(nifti::write_volume(path, &image)?),
    })
}

/// Returns whether the input of `apply` is resampled as a series of images (several volumes in one file), and the grid
/// of the input or of each of its volumes.
fn input_grid(args: &Args, input: &Path) -> Result<(bool, Grid), CliError> {
    let header = nifti::inspect(input)?;
    let series = header.dim[0] == 4 && header.dim[4] > 1 && args.interpolation != Interpolation::GenericLabel;
    if series && args.integer {
        return Err(UsageError::NoEffect { option: "--integer", with: "a series of volumes".into() }.into());
    }
    Ok((series, if series { header.grid } else { inputs::grid(input)? }))
}

/// Reads the input as a label map if its labels are to be resampled: with `generic-label`, and with `nearest` if the
/// file holds whole numbers. `None` if the input is an image.
fn read_labels(args: &Args, input: &Path) -> Result<Option<LabelVolume>, CliError> {
    let is_label = args.interpolation == Interpolation::GenericLabel;
    if !is_label && (args.interpolation != Interpolation::Nearest || args.outside != 0.0) {
        return Ok(None);
    }
    match nifti::read_labels(input) {
        Ok(labels) => Ok(Some(labels)),
        Err(error) if !matches!(error.kind, ErrorKind::NotLabels { .. }) => Err(error.into()),
        Err(error) if is_label && wide_type(args, input)?.is_none() => Err(error.into()),
        Err(_) => Ok(None),
    }
}

/// The type of the input's voxels if it is an integer type that single precision cannot represent, and the
/// interpolation keeps values. Such labels are moved and stored in their own type.
fn wide_type(args: &Args, input: &Path) -> Result<Option<Stored>, CliError> {
    if args.integer || !matches!(args.interpolation, Interpolation::Nearest | Interpolation::GenericLabel) {
        return Ok(None);
    }
    let whole = PlanesReader::open(GridRule::default(), input)?.whole();
    Ok(whole.filter(|whole| !Stored::Float32.holds(*whole)))
}

/// Checks that memory is available: for one volume of the input with the coefficients of its interpolation, for `outputs` volumes
/// of the output, and for the buffers of the compression.
fn check_memory(args: &Args, input: &Path, from: &Grid, onto: &Grid, outputs: usize) -> Result<(), CliError> {
    /// Buffers of the compression, bytes: a block of the output, and its compressed copy.
    const PACKING: u64 = 64 << 20;
    let bytes = |grid: &Grid| (grid.len() * size_of::<f32>()) as u64;
    // For spline interpolation, memory must also hold the coefficients of the splines and a temporary copy of these
    // coefficients.
    let read = if args.interpolation == Interpolation::Bspline { 3 } else { 1 } * bytes(from);
    let carried = (if args.integer { 2 } else { 1 } + outputs as u64 - 1) * bytes(onto);
    memory::check(read + carried + PACKING.min(2 * bytes(onto)))
        .map_err(|shortage| CliError::Memory { what: format!("{}: carrying it", input.display()), shortage })
}

fn rounded(image: Volume, input: &Path) -> Result<LabelVolume, CliError> {
    /// 2³¹: the smallest positive number that does not fit into a signed integer of 32 bits.
    const BEYOND: f32 = 2_147_483_648.0;
    match image.voxels.iter().find(|value| !(-BEYOND..BEYOND).contains(&value.round())) {
        Some(value) => Err(CliError::NoInteger { path: input.into(), value: *value }),
        None => Ok(LabelVolume {
            voxels: image.voxels.iter().map(|value| value.round() as i32).collect(),
            grid: image.grid,
        }),
    }
}

/// Prints the chain of transforms as text. With a reference grid, also prints a warning if points of this grid are
/// not mapped into the displacement fields and the input.
fn explain(args: &Args, chain: &TransformChain) -> Result<(), CliError> {
    antsreg_console::output::print(&chain.explain().to_string())?;
    if let Some(reference) = &args.reference {
        let onto = inputs::grid(reference)?;
        let input = args.input.as_deref().map(inputs::grid).transpose()?;
        for warning in chain.check(&onto, input.as_ref())? {
            antsreg_console::output::print(&format!("Warning: {warning}.\n"))?;
        }
    }
    Ok(())
}

/// Number of dimensions in which a composite transform is written: two for transforms of slices, three for transforms
/// of volumes.
fn dimensions(args: &Args, chain: &TransformChain) -> Result<Dimensions, CliError> {
    let of_slices = match chain.displacement() {
        Some(field) => field.grid.is_slice_across_z(),
        None => {
            let files = args.transform.iter().filter(|file| file.path.exists());
            let kinds = files.map(|file| itk::is_affine_of_slices(&file.path)).collect::<Result<Vec<_>, _>>()?;
            !kinds.is_empty() && kinds.into_iter().all(|of_slices| of_slices)
        }
    };
    Ok(if of_slices { Dimensions::Two } else { Dimensions::Three })
}

/// Checks that the extension of the output fits the kind of output: transform or image.
fn check_output(args: &Args, output: &Path) -> Result<(), CliError> {
    let (fits, expected) = match (&args.input, &args.reference) {
        (None, None) => {
            (itk::is_composite(output) || transforms::is_image_output(output), ".nii.gz, .nii, .nrrd, .mha or .h5")
        }
        _ => (transforms::is_image_output(output), ImageFormat::NAMES),
    };
    if !fits {
        return Err(CliError::OutputExtension { path: output.into(), expected });
    }
    Ok(())
}
