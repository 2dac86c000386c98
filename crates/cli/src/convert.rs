//! The subcommand (verb) `convert`: converts transforms between the formats of several programs.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Console, UsageError};
use antsreg_core::io::exchange::{Spaces, TransformFormat};
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_core::{Grid, Transform, TransformChain};
use antsreg_study::{self as study, inputs};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Convert affine transforms and warps between the formats of several programs.
///
/// A transform maps points of the fixed image to the moving image. Affine maps: itk (.mat, .txt, .tfm, .h5), fsl
/// (FLIRT's matrix), lta (FreeSurfer), afni (.aff12.1D), mrtrix and niftyreg (matrix), x5. Warps: itk (an image, or
/// .h5), mrtrix, spm (y_), niftyreg (deformation), niftyreg-disp (displacements), x5.
///
/// The format of IN is recognised by its content, that of OUT by its name: .txt, .tfm, .h5 and images are ITK's, .lta,
/// .1D and .x5 those of FreeSurfer, AFNI and X5. An OUT that ends in .mat means FSL's format, or ITK's if IN has FSL's.
/// Matrices of MRtrix and NiftyReg, and SPM's warps, are not recognised: they need --from.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Transform to read
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Transform to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Format of IN [default: recognised by its content]
    #[arg(long, value_parser = format(), value_name = "FORMAT")]
    from: Option<TransformFormat>,
    /// Format of OUT [default: recognised by its name]
    #[arg(long, value_parser = format(), value_name = "FORMAT")]
    to: Option<TransformFormat>,
    /// Fixed image (FSL's reference). Needed if IN or OUT has FSL's format, or OUT is an LTA
    #[arg(short, long, value_name = "IMAGE")]
    fixed: Option<PathBuf>,
    /// Moving image (FSL's input). Needed if IN or OUT has FSL's format, or OUT is an LTA
    #[arg(short, long, value_name = "IMAGE")]
    moving: Option<PathBuf>,
}

/// Parser of the name of a format.
fn format() -> impl TypedValueParser<Value = TransformFormat> {
    let values = TransformFormat::ALL.map(|(name, _)| match name {
        "itk" => PossibleValue::new(name).alias("ants"),
        "lta" => PossibleValue::new(name).alias("freesurfer"),
        _ => PossibleValue::new(name),
    });
    PossibleValuesParser::new(values).map(|text| match text.as_str() {
        "ants" => TransformFormat::Itk,
        "freesurfer" => TransformFormat::Lta,
        // The parser accepts only names of the table.
        name => TransformFormat::ALL
            .iter()
            .find(|(of, _)| *of == name)
            .map_or(TransformFormat::Itk, |(_, format)| *format),
    })
}

/// Runs `convert`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let read = [Some(&args.input), args.fixed.as_ref(), args.moving.as_ref()];
    outputs::check([&args.output], read.into_iter().flatten())?;
    let from = args.from.map_or_else(|| TransformFormat::of_content(&args.input), Ok)?;
    let is_matrix = args.output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("mat"));
    let to = match (args.to, TransformFormat::of_name(&args.output)) {
        (Some(to), _) | (None, Some(to)) => to,
        (None, None) if is_matrix && from == TransformFormat::Fsl => TransformFormat::Itk,
        (None, None) if is_matrix => TransformFormat::Fsl,
        (None, None) => return Err(UsageError::UnclearFormat(args.output.display().to_string()).into()),
    };
    let needed = from.reads_with_images() || to.writes_with_images();
    let with = [from, to].iter().any(|format| matches!(format, TransformFormat::Afni | TransformFormat::X5));
    if !needed && !with && (args.fixed.is_some() || args.moving.is_some()) {
        // The file is read first, so that a file that is no transform is reported before options without effect.
        from.read(&args.input, Spaces::default())?;
        let with = format!("a conversion from {} to {}, which needs no images", name(from), name(to));
        return Err(UsageError::NoEffect { option: "--fixed or --moving", with }.into());
    }
    let fixed = grid(args.fixed.as_deref(), needed.then_some("--fixed"))?;
    let moving = grid(args.moving.as_deref(), needed.then_some("--moving"))?;
    let spaces = Spaces { fixed: fixed.as_ref(), moving: moving.as_ref() };
    let transform = single(from.read(&args.input, spaces)?, &args.input)?;
    let mut outputs = Outputs::new();
    outputs.write(&args.output, |path| to.write(path, &transform, spaces))?;
    outputs.commit()?;
    console.note(format_args!("wrote {} ({})", args.output.display(), name(to)));
    Ok(())
}

/// The only transform of a file, or the product of its affine maps.
fn single(mut transforms: Vec<Transform>, path: &Path) -> Result<Transform, CliError> {
    if transforms.len() == 1 {
        return Ok(transforms.remove(0));
    }
    let (count, chain) = (transforms.len(), TransformChain::from(transforms));
    chain.affine().map(Transform::Affine).ok_or_else(|| {
        let (path, found) = (path.to_owned(), format!("{count} transforms with a displacement field"));
        study::Error::NotATransform { path, found, expected: "affine maps, or one displacement field" }.into()
    })
}

/// Reads the grid of the fixed or moving image. The error names the option that is missing, if the image is needed.
fn grid(path: Option<&Path>, needed_as: Option<&'static str>) -> Result<Option<Grid>, CliError> {
    match (path, needed_as) {
        (Some(path), _) => Ok(Some(inputs::any_image(path)?.grid)),
        (None, Some(option)) => {
            Err(UsageError::Missing { option, why: "FSL's matrices and FreeSurfer's LTA need both images" }.into())
        }
        (None, None) => Ok(None),
    }
}

fn name(format: TransformFormat) -> &'static str {
    match format {
        TransformFormat::Itk => "ITK, fixed to moving points, LPS mm",
        TransformFormat::Fsl => "FSL, moving to fixed, scaled mm",
        TransformFormat::Lta => "FreeSurfer, moving to fixed, RAS mm",
        TransformFormat::Afni => "AFNI, fixed to moving points, LPS mm",
        TransformFormat::Mrtrix => "MRtrix, fixed to moving points, RAS mm",
        TransformFormat::NiftyReg => "NiftyReg, fixed to moving points, RAS mm",
        TransformFormat::NiftyRegDisplacements => "NiftyReg, displacements from fixed to moving points, RAS mm",
        TransformFormat::Spm => "SPM, fixed to moving points, RAS mm",
        TransformFormat::X5 => "X5, fixed to moving points, RAS mm",
    }
}
