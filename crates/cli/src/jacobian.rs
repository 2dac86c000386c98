//! The subcommand (verb) `jacobian`: computes where a warp expands, compresses and folds.

use std::path::PathBuf;

use antsreg_console::{CliError, Console};
use antsreg_core::io::{ImageFormat, itk, nifti};
use antsreg_core::jacobian::{JacobianSummary, Roughness};
use antsreg_kernels::{InverseConsistency, apply};
use serde::Serialize;

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
    let found = Summary::from(JacobianSummary::of(&determinants, &corners, mask.as_ref())?);
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
        let consistency = Consistency::from(apply::inverse_consistency(&warp, &inverse, mask.as_ref())?);
        text.push_str(&format!("Then its inverse     {consistency}\n"));
    }
    antsreg_console::output::print(&text)
}

/// Statistics of the Jacobian determinants of a warp.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Summary {
    /// Number of voxels whose Jacobian determinants are in the statistics.
    pub voxels: u64,
    /// Smallest Jacobian determinant.
    pub minimum: f64,
    /// Largest Jacobian determinant.
    pub maximum: f64,
    /// Mean Jacobian determinant.
    pub mean: f64,
    /// Number of voxels whose Jacobian determinant is not positive, so that the warp folds there.
    pub folded: u64,
    /// Share of the voxels whose Jacobian determinant is not positive, 0 to 1.
    pub folded_share: f64,
    /// Smallest Jacobian determinant by one-sided differences between voxels, that is, at the corners of the cells of
    /// trilinear interpolation.
    pub corner_minimum: f64,
    /// Number of voxels where any Jacobian determinant by one-sided differences between voxels is not positive: the
    /// strict count of folds.
    pub corner_folded: u64,
}

impl From<JacobianSummary> for Summary {
    fn from(summary: JacobianSummary) -> Summary {
        let JacobianSummary { voxels, minimum, maximum, mean, folded, corner_minimum, corner_folded } = summary;
        let folded_share = summary.folded_share();
        Summary { voxels, minimum, maximum, mean, folded, folded_share, corner_minimum, corner_folded }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Summary { voxels, minimum, maximum, mean, folded, corner_minimum, corner_folded, .. } = self;
        write!(
            f,
            "{minimum:.4} to {maximum:.4}, mean {mean:.4}, {folded} of {voxels} voxels folded; at the corners of cells \
             at least {corner_minimum:.4}, {corner_folded} voxels folded"
        )
    }
}

/// Inverse consistency of a warp and its inverse: distances between points and the positions to which warp and
/// inverse together take them.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Consistency {
    /// Mean distance between a point and the position to which the warp and then its inverse take this point, voxels.
    pub mean_voxels: f64,
    /// Largest distance between a point and the position to which the warp and then its inverse take this point,
    /// voxels.
    pub largest_voxels: f64,
}

impl From<InverseConsistency> for Consistency {
    fn from(found: InverseConsistency) -> Consistency {
        Consistency { mean_voxels: found.mean_voxels, largest_voxels: found.largest_voxels }
    }
}

impl std::fmt::Display for Consistency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "distance of points from their start: mean {:.4}, largest {:.4} voxels",
            self.mean_voxels, self.largest_voxels
        )
    }
}
