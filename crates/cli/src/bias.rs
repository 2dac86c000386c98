//! The subcommand (verb) `bias`: removes shading (slowly varying intensity inhomogeneity, as of the receive coil) from
//! an image.

use std::path::PathBuf;

use antsreg_console::{CliError, Console};
use antsreg_heads::bias::{Mesh, Options};
use antsreg_pool::{Devices, GpuUse};
use antsreg_register::DeviceChoice;
use antsreg_study::bias::{self, BiasRequest};

use crate::shown::shown;
use crate::values::{self, Counts};

/// Remove the shading of an image (N4).
///
/// The field of the shading is estimated from the voxels of the mask, or from all voxels above zero. The image is
/// divided by the field.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Image to correct
    #[arg(short, long, value_name = "IMAGE")]
    input: PathBuf,
    /// Corrected image to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Mask on the grid of the image: voxels above 0.5 are used and corrected [default: all voxels above zero are
    /// used]
    #[arg(long, value_name = "IMAGE")]
    mask: Option<PathBuf>,
    /// Weights of the voxels: an image on the grid of the input, with values from 0
    #[arg(long, value_name = "IMAGE")]
    weights: Option<PathBuf>,
    /// Also write the field of the shading, by which the image is divided
    #[arg(long, value_name = "FILE")]
    field: Option<PathBuf>,
    /// Estimate the field from every Nth voxel along each axis [default: 4]
    #[arg(long, value_name = "N", value_parser = values::at_least_one)]
    shrink_factor: Option<usize>,
    /// Largest number of iterations on each level; each level has a mesh of splines twice as fine as the level before
    /// [default: 50x50x50x50]
    #[arg(long, value_name = "NxN…", value_parser = values::counts)]
    iterations: Option<Counts>,
    /// End a level when the coefficient of variation of the field's change is below X [default: 1e-7]
    #[arg(long, value_name = "X", value_parser = values::share)]
    threshold: Option<f64>,
    /// Distance of the splines on the coarsest level, mm [default: 200]
    #[arg(long, value_name = "MM", value_parser = values::positive)]
    spline_distance: Option<f64>,
    /// Number of bins of the intensity histogram [default: 200]
    #[arg(long, value_name = "N", value_parser = values::at_least_one)]
    bins: Option<usize>,
    /// Width at half maximum of the Gaussian that is deconvolved from the histogram of log intensities [default:
    /// 0.15]
    #[arg(long, value_name = "X", value_parser = values::positive)]
    fwhm: Option<f64>,
    /// Noise of the Wiener filter that does the deconvolution [default: 0.01]
    #[arg(long, value_name = "X", value_parser = values::positive)]
    noise: Option<f64>,
    /// Device that computes: cpu, cuda (the first NVIDIA GPU), cuda:N, or auto: cuda where it can be used, else cpu
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
}

impl Args {
    /// The GPUs that the command may use; `None` if this is not known before the CUDA driver starts.
    pub fn gpu_use(&self) -> Option<GpuUse> {
        Devices::One(self.device).gpu_use(true)
    }

    fn options(&self) -> Options {
        let defaults = Options::default();
        Options {
            shrink: self.shrink_factor.unwrap_or(defaults.shrink),
            iterations: self.iterations.as_ref().map_or(defaults.iterations, |levels| levels.0.clone()),
            threshold: self.threshold.unwrap_or(defaults.threshold),
            mesh: self.spline_distance.map_or(defaults.mesh, Mesh::DistanceMm),
            bins: self.bins.unwrap_or(defaults.bins),
            fwhm: self.fwhm.unwrap_or(defaults.fwhm),
            noise: self.noise.unwrap_or(defaults.noise),
        }
    }
}

/// Runs `bias`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let request = BiasRequest {
        input: &args.input,
        mask: args.mask.as_deref(),
        weights: args.weights.as_deref(),
        output: &args.output,
        field: args.field.as_deref(),
        options: &args.options(),
        device: args.device,
    };
    Ok(shown(console, |_, observer| bias::run(&request, observer))?)
}
