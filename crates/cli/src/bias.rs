//! The subcommand (verb) `bias`: removes shading (slowly varying intensity inhomogeneity, as of the receive coil) from
//! an image.

use std::path::PathBuf;

use antsreg_console::{CliError, Console, ending, opening};
use antsreg_core::Volume;
use antsreg_core::io::nifti;
use antsreg_core::io::outputs;
use antsreg_heads::bias::{Mesh, Options};
use antsreg_pool::{Devices, GpuUse};
use antsreg_register::DeviceChoice;
use antsreg_study::bias::{Background, Correction};
use antsreg_study::{inputs, transforms};

use crate::values::{self, PerLevel};

/// Remove the shading of an image (N4).
///
/// The field of the shading is estimated from the voxels of the mask, or from all voxels above zero. The image is
/// divided by the field.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Image to correct (.nii.gz, .nii)
    #[arg(short, long, value_name = "IMAGE")]
    input: PathBuf,
    /// Corrected image to write (.nii.gz, .nii)
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
    iterations: Option<PerLevel<usize>>,
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

    /// Reads the inputs of N4 bias correction: the image, the mask and the weights of the voxels.
    fn read(&self) -> Result<(Volume, Option<Volume>, Option<Volume>), CliError> {
        let image = inputs::image(&self.input)?;
        let mask = self.mask.as_deref().map(|path| inputs::mask(path, &self.input, &image.grid)).transpose()?;
        let weights = match self.weights.as_deref() {
            None => None,
            Some(path) => {
                let weights = nifti::read_volume(path)?;
                inputs::check_grid(path, &weights.grid, &self.input, &image.grid, "linear")?;
                Some(weights)
            }
        };
        Ok((image, mask, weights))
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
    let read = [Some(&args.input), args.mask.as_ref(), args.weights.as_ref()];
    let written = [Some(&args.output), args.field.as_ref()];
    for output in written.into_iter().flatten() {
        if !transforms::is_nifti(output) {
            return Err(CliError::OutputExtension { path: output.clone(), expected: ".nii.gz or .nii" });
        }
    }
    outputs::check(written.into_iter().flatten(), read.into_iter().flatten())?;
    let (read, opened) = opening::while_reading(args.device, || args.read());
    let (image, mask, weights) = read?;
    let opened = opened?;
    opening::tell(&opened, console);
    ending::keep_open(&opened.device);
    let correction = Correction {
        name: &args.input,
        image: &image,
        mask: mask.as_ref(),
        background: Background::LeftOut,
        weights: weights.as_ref(),
        geometries: None,
        options: &args.options(),
        rescale: false,
        device: &opened.device,
    };
    let levels = correction.write(&args.output, args.field.as_deref())?;
    for (n, reached) in levels.iter().enumerate() {
        let (level, count) = (n + 1, levels.len());
        console.note(format_args!(
            "bias {level}/{count}: {} iterations, last change {:.1e}",
            reached.iterations, reached.change
        ));
    }
    console.note(format_args!("wrote {}", args.output.display()));
    Ok(())
}
