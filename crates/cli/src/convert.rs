//! The subcommand (verb) `convert`: converts affine transforms between the formats of ITK (ANTs) and FSL.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Console, UsageError};
use antsreg_core::io::{fsl, itk};
use antsreg_core::{Grid, Transform, TransformChain};
use clap::ValueEnum;
use nalgebra::Point3;

use antsreg_core::io::outputs::{self, Outputs};
use antsreg_study::inputs;
use antsreg_study::transforms::{self, TransformFile};

/// Convert affine transforms between ITK (ANTs) and FSL.
///
/// ITK's transforms map points of the fixed image to the moving image, in LPS mm. FSL's matrices map the moving image
/// to the fixed image (the reference) in scaled mm, and need both images to have a meaning. FSL to ITK and back gives
/// the same numbers.
///
/// The format of IN is recognised by its content, that of OUT by its name: .txt, .tfm and the composite .h5 are
/// ITK's. A name that ends in .mat means the format that IN does not have, unless --to is given.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Transform to read
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Transform to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Format of IN [default: recognised by its content]
    #[arg(long, value_enum)]
    from: Option<Format>,
    /// Format of OUT [default: recognised by its name]
    #[arg(long, value_enum)]
    to: Option<Format>,
    /// Fixed image (FSL's reference). Needed if IN or OUT has FSL's format
    #[arg(short, long, value_name = "IMAGE")]
    fixed: Option<PathBuf>,
    /// Moving image (FSL's input). Needed if IN or OUT has FSL's format
    #[arg(short, long, value_name = "IMAGE")]
    moving: Option<PathBuf>,
}

/// File format of an affine transform: that of ITK (ANTs) or that of FSL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// ITK and ANTs: .mat (MATLAB 4), .txt, .tfm, .h5
    #[value(alias = "ants")]
    Itk,
    /// FSL's FLIRT: 4 × 4 numbers as text
    Fsl,
}

/// Runs `convert`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let from = args.from.unwrap_or(match transforms::looks_like_fsl(&args.input) {
        true => Format::Fsl,
        false => Format::Itk,
    });
    let to = match (args.to, extension(&args.output).as_str()) {
        (Some(to), _) => to,
        (None, "txt" | "tfm" | "h5" | "hdf5") => Format::Itk,
        (None, "mat") if from == Format::Itk => Format::Fsl,
        (None, "mat") => Format::Itk,
        (None, _) => return Err(UsageError::UnclearFormat(args.output.display().to_string()).into()),
    };
    let read = [Some(&args.input), args.fixed.as_ref(), args.moving.as_ref()];
    outputs::check([&args.output], read.into_iter().flatten())?;
    let grids = match (from, to) {
        (Format::Itk, Format::Itk) => {
            if args.fixed.is_some() || args.moving.is_some() {
                // Every file that is not an FSL matrix is assumed to be an ITK transform. The file is read here so
                // that a file that is no transform is reported before the options without effect.
                itk::read_affine(&args.input)?;
                let with =
                    "a conversion from ITK's format to ITK's format (only FSL's format needs the images)".into();
                return Err(UsageError::NoEffect { option: "--fixed or --moving", with }.into());
            }
            None
        }
        _ => Some((grid(args.fixed.as_deref(), "--fixed")?, grid(args.moving.as_deref(), "--moving")?)),
    };
    let mut outputs = Outputs::new();
    let affine = match (&grids, from) {
        (Some((fixed, moving)), Format::Fsl) => fsl::read_matrix(&args.input, fixed, moving)?,
        _ if itk::is_composite(&args.input) => {
            transforms::read_affine(&TransformFile { path: args.input.clone(), inverted: false })?
        }
        _ => itk::read_affine(&args.input)?,
    };
    let centre = grids.as_ref().map_or_else(Point3::origin, |(fixed, _)| fixed.centre());
    outputs.write(&args.output, |path| match (&grids, to) {
        (Some((fixed, moving)), Format::Fsl) => fsl::write_matrix(path, &affine, fixed, moving),
        _ if itk::is_composite(path) => {
            let chain = TransformChain::from(vec![Transform::Affine(affine)]);
            itk::write_composite(path, &chain, centre, itk::Dimensions::Three)
        }
        _ => itk::write_affine(path, &affine, centre),
    })?;
    outputs.commit()?;
    console.note(format_args!("wrote {} ({})", args.output.display(), name(to)));
    Ok(())
}

/// Reads the grid of the fixed or moving image, which FSL's format needs. The error names the missing option.
fn grid(path: Option<&Path>, option: &'static str) -> Result<Grid, CliError> {
    let missing = UsageError::Missing { option, why: "FSL's format needs both images" };
    Ok(inputs::any_image(path.ok_or(missing)?)?.grid)
}

fn extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

fn name(format: Format) -> &'static str {
    match format {
        Format::Itk => "ITK, fixed to moving points, LPS mm",
        Format::Fsl => "FSL, moving to fixed, scaled mm",
    }
}
