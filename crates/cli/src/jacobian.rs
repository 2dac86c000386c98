//! The subcommand (verb) `jacobian`: computes where a warp expands, compresses and folds.

use std::path::PathBuf;

use antsreg_console::{CliError, Console};
use antsreg_core::io::{ImageFormat, itk, nifti};
use antsreg_core::jacobian::{JacobianSummary, Roughness};
use antsreg_kernels::apply;

use antsreg_core::io::outputs::{self, Outputs};
use antsreg_study::{inputs, transforms};

/// Jacobian determinants of a warp: where it expands, compresses and folds.
///
/// Where the determinant is above 1, the moving image is larger than the fixed image, and below 1 smaller. At 0 and
/// below, the warp folds.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Displacement field
    #[arg(value_name = "WARP")]
    warp: PathBuf,
    /// Image of the determinants to write
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the natural logarithms of the determinants; a folded voxel is an error
    #[arg(long, requires = "output")]
    logarithm: bool,
    /// Mask on the grid of WARP: the summary is of voxels above 0.5
    #[arg(long, value_name = "IMAGE")]
    mask: Option<PathBuf>,
    /// Inverse warp: also print the distances between points and their positions after both warps
    #[arg(long, value_name = "WARP")]
    inverse: Option<PathBuf>,
}

/// Runs `jacobian`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    if let Some(output) = &args.output {
        if !transforms::is_image_output(output) {
            return Err(CliError::OutputExtension { path: output.clone(), expected: ImageFormat::NAMES });
        }
        let read = [Some(&args.warp), args.mask.as_ref(), args.inverse.as_ref()];
        outputs::check([output], read.into_iter().flatten())?;
    }
    let warp = itk::read_warp(&args.warp)?;
    let mask = args.mask.as_deref().map(|mask| inputs::mask(mask, &args.warp, &warp.grid)).transpose()?;
    let inverse = args.inverse.as_deref().map(itk::read_warp).transpose()?;
    let mut determinants = apply::jacobian(&warp);
    let corners = apply::smallest_at_corners(&warp);
    let found = JacobianSummary::of(&determinants, &corners, mask.as_ref())?;
    let roughness = Roughness::of(&determinants, mask.as_ref())?;
    if let Some(output) = &args.output {
        if args.logarithm {
            let folded = determinants.voxels.iter().filter(|value| **value <= 0.0).count();
            if folded > 0 {
                return Err(CliError::Folded { path: args.warp.clone(), folded });
            }
            determinants.voxels.iter_mut().for_each(|value| *value = value.ln());
        }
        let mut outputs = Outputs::new();
        outputs.write(output, |path| nifti::write_volume(path, &determinants))?;
        outputs.commit()?;
        console.note(format_args!("wrote {}", output.display()));
    }
    let mut text = format!(
        "Jacobian             {found}\n\
         Logarithm            standard deviation {:.4}; {:.2} % of voxels below 0.5 or above 2\n",
        roughness.sd_log,
        100.0 * roughness.outside
    );
    if let Some(inverse) = inverse {
        let consistency = apply::inverse_consistency(&warp, &inverse, mask.as_ref())?;
        text.push_str(&format!("Then its inverse     {consistency}\n"));
    }
    antsreg_console::output::print(&text)
}
