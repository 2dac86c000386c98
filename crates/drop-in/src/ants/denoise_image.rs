//! The command `DenoiseImage`: removes noise by adaptive non-local means.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::Stored;
use antsreg_core::io::outputs;
use antsreg_core::{TransformChain, Volume};
use antsreg_images::denoise::{self, Options};
use antsreg_kernels::apply::{self, Interpolation};
use antsreg_register::Description;

use super::files::{self, Image};
use super::numbers;
use super::words::{self, Flag, Given, flag, last};
use crate::call::Call;

const USAGE: &str = "\
DenoiseImage -d 2|3 -i IMAGE -o OUTPUT | [OUTPUT,NOISE]  -n Gaussian|Rician  -x MASK  -s FACTOR  -p RADIUS  -r RADIUS  -v 0|1

Served by antsreg-gpu. -p: radius of the patches, -r: of the search, in voxels: one number, or one for each axis (1x1x2).
";

const FLAGS: &[Flag] = &[
    flag('d', "image-dimensionality"),
    flag('i', "input-image"),
    flag('n', "noise-model"),
    flag('x', "mask-image"),
    flag('s', "shrink-factor"),
    flag('p', "patch-radius"),
    flag('r', "search-radius"),
    flag('o', "output"),
    flag('v', "verbose"),
];

/// Largest radius of patches and of the search, voxels.
const LARGEST_RADIUS: f64 = 20.0;

/// What a command line requests.
struct Request {
    dimension: u8,
    image: PathBuf,
    mask: Option<PathBuf>,
    output: PathBuf,
    noise: Option<PathBuf>,
    shrink: usize,
    options: Options,
}

/// Runs `DenoiseImage`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(given) = words::read(&call.arguments, FLAGS, USAGE)? else { return Ok(()) };
    let request = request(&given)?;
    let written: Vec<&Path> = [request.output.as_path()].into_iter().chain(request.noise.as_deref()).collect();
    written.iter().try_for_each(|path| files::check_output(path))?;
    outputs::check_in_place(&written)?;
    let image = Image::read(&request.image, request.dimension)?.single("DenoiseImage")?;
    let mask = match &request.mask {
        None => None,
        Some(path) => Some(Image::read(path, request.dimension)?.single("DenoiseImage")?),
    };
    let coarse = shrunk(&image, request.shrink);
    if let Some((mask, path)) = mask.as_ref().zip(request.mask.as_ref())
        && mask.grid.shape != coarse.grid.shape
    {
        let why = format!("has {:?} voxels; expected {:?}, as the image", mask.grid.shape, coarse.grid.shape);
        return Err(Refusal::new(path.display(), why).into());
    }
    let inside: Option<Vec<bool>> = mask.map(|mask| mask.voxels.iter().map(|value| *value as i64 != 0).collect());
    let mut noise = denoise::denoise(&coarse, inside.as_deref(), &request.options);
    noise.voxels.iter_mut().zip(&coarse.voxels).for_each(|(value, voxel)| *value = voxel - *value);
    if request.shrink > 1 {
        noise = apply::resample(&noise, &image.grid, &TransformChain::new(), Interpolation::BSpline, 0.0);
    }
    let mut denoised = image;
    denoised.voxels.iter_mut().zip(&noise.voxels).for_each(|(voxel, noise)| *voxel -= noise);
    Image::from(denoised).write(&request.output, Stored::Float32)?;
    if let Some(path) = &request.noise {
        Image::from(noise).write(path, Stored::Float32)?;
    }
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

/// Every `factor`-th voxel of an image, on the grid of ITK's shrink filter: without a mean over voxels.
fn shrunk(image: &Volume, factor: usize) -> Volume {
    if factor == 1 {
        return image.clone();
    }
    let grid = image.grid.shrink([factor; 3]);
    apply::resample(image, &grid, &TransformChain::new(), Interpolation::Nearest, 0.0)
}

/// Parses the arguments of `DenoiseImage` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    request(&words::parse(words, FLAGS)?).map(drop)
}

fn request(given: &[Given]) -> Result<Request, Refusal> {
    let needed =
        |flag: &'static str| last(given, flag).ok_or_else(|| Refusal::new(format!("--{flag}"), "is missing"));
    let dimension = match last(given, "image-dimensionality") {
        None => 3,
        Some(value) => super::dimension(&value.text)?,
    };
    let rician = match last(given, "noise-model").map(|value| value.text.to_lowercase()).as_deref() {
        None | Some("gaussian") => false,
        Some("rician") => true,
        Some(other) => {
            return Err(Refusal::new(format!("--noise-model {other}"), "expected Gaussian or Rician"));
        }
    };
    let radius = |flag: &'static str, default: usize| {
        let Some(value) = last(given, flag) else { return Ok([default; 3]) };
        let radii = numbers::of_axes(&value.text, dimension.into())?;
        match radii.iter().all(|radius| (0.0..=LARGEST_RADIUS).contains(radius)) {
            true => Ok(radii.map(|radius| radius as usize)),
            false => Err(Refusal::new(format!("--{flag} {}", value.text), "expected radii from 0 to 20 voxels")),
        }
    };
    let shrink = last(given, "shrink-factor").map_or(Some(1), |value| value.text.parse().ok());
    let shrink = shrink.filter(|factor| (1..=100).contains(factor));
    let output = needed("output")?;
    Ok(Request {
        dimension,
        image: PathBuf::from(&needed("input-image")?.text),
        mask: last(given, "mask-image").map(|value| PathBuf::from(&value.text)),
        output: PathBuf::from(output.parameter(0).unwrap_or(&output.text)),
        noise: output.parameter(1).map(PathBuf::from),
        shrink: shrink.ok_or_else(|| Refusal::new("--shrink-factor", "expected a whole number from 1"))?,
        options: Options {
            rician,
            patch_radius: radius("patch-radius", 1)?,
            search_radius: radius("search-radius", 2)?,
        },
    })
}
