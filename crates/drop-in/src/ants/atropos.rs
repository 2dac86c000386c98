//! The command `Atropos`: segmentation into tissues.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Refusal, output::print};
use antsreg_core::io::nifti::Stored;
use antsreg_core::io::outputs;
use antsreg_images::atropos::{self, Formulation, Options, Start};
use antsreg_register::Description;

use super::files::Image;
use super::joint_fusion::Numbered;
use super::numbers::{self, general};
use super::words::{self, Flag, Given, Value, flag, last};
use crate::call::Call;

const USAGE: &str = "\
Atropos -d 2|3 -a IMAGE … -x MASK -i KMeans[N,MEANS] | Otsu[N] | PriorProbabilityImages[N,MAP%02d.nii.gz,WEIGHT,THRESHOLD]
  -o LABELS | [LABELS,POSTERIOR%02d.nii.gz]  -c [ITERATIONS=5,THRESHOLD=0.001]  -m [WEIGHT=0.3,RADIUS=1x1x1]  -g [0|1,PASSES=1]
  -p Socrates|Plato|Sigmoid[SHARES=1,TEMPERATURE,RATE,LEAST]  -k Gaussian  -r 0|1  -v 0|1

Served by antsreg-gpu. The seed is ANTS_RANDOM_SEED, else that of ANTs for -r 0. -b, -e, -h and -l have no effect.
";

const FLAGS: &[Flag] = &[
    flag('d', "image-dimensionality"),
    flag('a', "intensity-image"),
    flag('b', "bspline"),
    flag('i', "initialization"),
    flag('s', "partial-volume-label-set"),
    words::long("use-partial-volume-likelihoods"),
    flag('p', "posterior-formulation"),
    flag('x', "mask-image"),
    flag('c', "convergence"),
    flag('k', "likelihood-model"),
    flag('m', "mrf"),
    flag('g', "icm"),
    flag('r', "use-random-seed"),
    flag('o', "output"),
    flag('u', "minimize-memory-usage"),
    flag('w', "winsorize-outliers"),
    flag('e', "use-euclidean-distance"),
    flag('l', "label-propagation"),
    flag('v', "verbose"),
];

/// ANTs' seed of random numbers for `-r 0`.
const SEED: u32 = 19650218;

/// What a command line requests.
struct Request {
    dimension: u8,
    images: Vec<PathBuf>,
    mask: PathBuf,
    priors: Vec<PathBuf>,
    labels: PathBuf,
    posteriors: Option<Numbered>,
    options: Options,
    verbose: bool,
}

/// Runs `Atropos`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(given) = words::read(&call.arguments, FLAGS, USAGE)? else { return Ok(()) };
    let mut request = request(&given)?;
    let classes = request.options.classes;
    let posteriors: Vec<PathBuf> =
        request.posteriors.iter().flat_map(|name| (1..=classes as i32).map(|class| name.with(class))).collect();
    let written: Vec<&Path> =
        [request.labels.as_path()].into_iter().chain(posteriors.iter().map(PathBuf::as_path)).collect();
    written.iter().try_for_each(|path| super::files::check_output(path))?;
    // The outputs may replace the priors, since scripts of ANTs do that.
    outputs::check_in_place(&written)?;
    let read = |path: &PathBuf| Image::read(path, request.dimension)?.single("Atropos").map_err(CliError::from);
    let images = request.images.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let grid = images[0].grid.clone();
    let same = |path: &Path, found: &antsreg_core::Volume| match found.grid.shape == grid.shape {
        true => Ok(()),
        false => {
            let why = format!("has {:?} voxels; expected {:?}, as the first image", found.grid.shape, grid.shape);
            Err(Refusal::new(path.display(), why))
        }
    };
    images.iter().zip(&request.images).try_for_each(|(image, path)| same(path, image))?;
    let mask = read(&request.mask)?;
    same(&request.mask, &mask)?;
    let mask: Vec<bool> = mask.voxels.iter().map(|value| *value as i64 != 0).collect();
    if let Start::Priors { maps, .. } = &mut request.options.start {
        for path in &request.priors {
            let map = Image::read(path, request.dimension)?.single("Atropos")?;
            same(path, &map)?;
            maps.push(map.voxels);
        }
    }
    let voxels: Vec<&[f32]> = images.iter().map(|image| image.voxels.as_slice()).collect();
    let (iterations, [start, rate, _]) = (request.options.iterations, request.options.annealing);
    let mut lines = Vec::new();
    let found = atropos::segment(&grid, &voxels, &mask, &request.options, |iteration, posterior| {
        lines.push(format!(
            "  Iteration {iteration} (of {iterations}): posterior probability = {} (annealing temperature = {})\n",
            general(posterior),
            general(start * rate.powi(iteration as i32))
        ));
    });
    let found = found.map_err(|error| Refusal::new("Atropos", error))?;
    if request.verbose {
        print(&lines.concat())?;
    }
    let image = |voxels: Vec<f32>| Image::from(antsreg_core::Volume { grid: grid.clone(), voxels });
    image(found.labels.iter().map(|label| f32::from(*label)).collect()).write(&request.labels, Stored::Int32)?;
    for (path, voxels) in posteriors.iter().zip(found.posteriors) {
        image(voxels).write(path, Stored::Float32)?;
    }
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

/// Parses the arguments of `Atropos` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    request(&words::parse(words, FLAGS)?).map(drop)
}

fn refusal(flag: &str, value: &Value, why: &str) -> Refusal {
    Refusal::new(format!("--{flag} {}", value.text), why)
}

/// The number at a position in the brackets of a flag's value, or a default.
fn number(flag: &str, value: Option<&Value>, place: usize, default: f64) -> Result<f64, Refusal> {
    let Some(value) = value else { return Ok(default) };
    match value.parameter(place) {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| refusal(flag, value, "expected a number")),
    }
}

fn request(given: &[Given]) -> Result<Request, Refusal> {
    let needed =
        |flag: &'static str| last(given, flag).ok_or_else(|| Refusal::new(format!("--{flag}"), "is missing"));
    for flag in ["partial-volume-label-set", "winsorize-outliers"] {
        if last(given, flag).is_some() {
            return Err(Refusal::not_served(format!("--{flag}"), "leave this option out"));
        }
    }
    if let Some(value) = last(given, "likelihood-model").filter(|value| !value.is("Gaussian")) {
        return Err(Refusal::not_served(format!("--likelihood-model {}", value.text), "use Gaussian"));
    }
    let dimension = super::dimension(&needed("image-dimensionality")?.text)?;
    let image = |value: &Value| match value.parameter(1).and_then(|text| text.parse::<f64>().ok()) {
        Some(weight) if weight > 0.0 => {
            Err(Refusal::not_served(format!("--intensity-image {}", value.text), "use no smoothing weight"))
        }
        _ => Ok(PathBuf::from(value.parameter(0).unwrap_or(&value.text))),
    };
    let images = words::all(given, "intensity-image").map(image).collect::<Result<Vec<_>, _>>()?;
    if images.is_empty() {
        return Err(Refusal::new("--intensity-image", "is missing"));
    }
    let (classes, start, priors) = start(needed("initialization")?)?;
    let output = needed("output")?;
    let posteriors = match output.parameter(1) {
        None => None,
        Some(text) => Some(Numbered::parse(text)?.ok_or_else(|| {
            refusal("output", output, "expected a name of posteriors with a placeholder such as %02d")
        })?),
    };
    let (convergence, field, icm) = (last(given, "convergence"), last(given, "mrf"), last(given, "icm"));
    let iterations = match convergence {
        Some(value) if value.parameters.is_none() => {
            value.text.parse().map_err(|_| refusal("convergence", value, "expected a number of iterations"))?
        }
        value => number("convergence", value, 0, 5.0)?,
    };
    let radius = field
        .and_then(|value| value.parameter(1))
        .map_or(Ok([1.0; 3]), |text| numbers::of_axes(text, dimension.into()))?;
    if field.and_then(|value| value.parameter(0)).is_some_and(|text| Path::new(text).exists()) {
        return Err(Refusal::not_served("--mrf with an image of weights", "use a number"));
    }
    let asynchronous = match icm {
        Some(value) if value.parameters.is_none() => value.text != "0",
        value => number("icm", value, 0, 1.0)? != 0.0,
    };
    let passes = if asynchronous { number("icm", icm, 1, 1.0)? as usize } else { 0 };
    let posterior = last(given, "posterior-formulation");
    let formulation = match posterior.map(|value| value.name.to_lowercase()).as_deref() {
        None | Some("socrates") => Formulation::Socrates,
        Some("plato") => Formulation::Plato,
        Some("sigmoid") => Formulation::Sigmoid,
        Some(other) => {
            return Err(Refusal::not_served(
                format!("--posterior-formulation {other}"),
                "use Socrates, Plato or Sigmoid",
            ));
        }
    };
    let of_posterior = |place: usize, default: f64| number("posterior-formulation", posterior, place, default);
    Ok(Request {
        dimension,
        images,
        mask: PathBuf::from(&needed("mask-image")?.text),
        priors,
        labels: PathBuf::from(output.parameter(0).unwrap_or(&output.text)),
        posteriors,
        options: Options {
            classes,
            start,
            formulation,
            uses_shares: of_posterior(0, 1.0)? != 0.0,
            iterations: iterations as usize,
            threshold: number("convergence", convergence, 1, 0.001)?,
            field_weight: number("mrf", field, 0, 0.3)?,
            field_radius: radius.map(|radius| radius as usize),
            icm_passes: passes,
            annealing: [of_posterior(1, 1.0)?, of_posterior(2, 1.0)?, of_posterior(3, 0.1)?],
            seed: std::env::var("ANTS_RANDOM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED),
        },
        verbose: last(given, "verbose").is_some_and(|value| value.text != "0"),
    })
}

/// The number of classes, the first labels, and the files of priors.
fn start(value: &Value) -> Result<(usize, Start, Vec<PathBuf>), Refusal> {
    let refuse = |why: &str| refusal("initialization", value, why);
    let classes = value.parameter(0).and_then(|text| text.parse().ok()).filter(|count| (2..=250).contains(count));
    let classes = classes.ok_or_else(|| refuse("expected 2 to 250 classes"))?;
    match value.name.to_lowercase().as_str() {
        "kmeans" => {
            let means = value.parameter(1).map(numbers::vector).transpose()?;
            match means.as_ref().is_some_and(|means| means.len() != classes) {
                true => Err(refuse("expected one mean for each class")),
                false => Ok((classes, Start::KMeans(means), Vec::new())),
            }
        }
        "otsu" => Ok((classes, Start::Otsu, Vec::new())),
        "priorprobabilityimages" => {
            let weight = number("initialization", Some(value), 2, 0.0)?;
            let threshold = number("initialization", Some(value), 3, 0.0)? as f32;
            let name = value.parameter(1).ok_or_else(|| refuse("expected a name of maps"))?;
            let Some(name) = Numbered::parse(name)? else {
                return Err(Refusal::not_served(
                    format!("--initialization {}", value.text),
                    "use one file for each class, with a placeholder such as %02d",
                ));
            };
            let maps = (1..=classes as i32).map(|class| name.with(class)).collect();
            Ok((classes, Start::Priors { maps: Vec::new(), weight, threshold }, maps))
        }
        _ => Err(Refusal::not_served(
            format!("--initialization {}", value.text),
            "use KMeans, Otsu or PriorProbabilityImages",
        )),
    }
}
