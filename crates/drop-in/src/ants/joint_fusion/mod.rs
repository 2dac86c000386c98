//! `antsJointFusion`: labels of several atlases, which lie on the target's grid, fused.

use std::path::{Path, PathBuf};

use antsreg_cohort::fusion::{Atlas, JointOptions, joint};
use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::{self, GridRule};
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_core::{LabelVolume, Volume};
use antsreg_register::Description;
use antsreg_study as study;

use super::words::{self, Flag, Given, Value, flag};
use crate::call::Call;

const USAGE: &str = "\
antsJointFusion -d 3 -t TARGET -g ATLAS … -l LABELS … -o OUTPUT | [OUTPUT] [-p RADIUS] [-s RADIUS] [-a ALPHA] [-b BETA] [-x MASK]

Served by antsreg-gpu: one image a side, and the fused labels. Atlases must lie on the target's grid.
";

/// All flags, those that are refused too.
const FLAGS: &[Flag] = &[
    flag('d', "image-dimensionality"),
    flag('t', "target-image"),
    flag('g', "atlas-image"),
    flag('l', "atlas-segmentation"),
    flag('a', "alpha"),
    flag('b', "beta"),
    flag('c', "constrain-nonnegative"),
    flag('p', "patch-radius"),
    flag('m', "patch-metric"),
    flag('s', "search-radius"),
    flag('x', "mask-image"),
    flag('r', "retain-label-posterior-images"),
    flag('f', "retain-atlas-voting-images"),
    flag('e', "exclusion-image"),
    flag('o', "output"),
    flag('v', "verbose"),
];

/// Everything that was asked for.
struct Request {
    target: PathBuf,
    images: Vec<PathBuf>,
    labels: Vec<PathBuf>,
    mask: Option<PathBuf>,
    options: JointOptions,
    output: PathBuf,
    replaced: Vec<String>,
}

/// Reads the arguments alone.
///
/// # Errors
/// A refusal.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    Request::read(&words::parse(words, FLAGS)?).map(drop)
}

/// Runs `antsJointFusion`.
///
/// # Errors
/// A refusal; files that cannot be read or written; atlases on another grid.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(given) = words::read(&call.arguments, FLAGS, USAGE)? else { return Ok(()) };
    let request = Request::read(&given)?;
    let Request { target, images, labels, mask, options, output, replaced } = &request;
    let read = images.iter().chain(labels).chain(mask).chain([target]);
    outputs::check([output], read)?;
    let volumes = images.iter().map(|path| GridRule::Itk.read_volume(path)).collect::<Result<Vec<Volume>, _>>()?;
    let maps = labels.iter().map(|path| GridRule::Itk.read_labels(path)).collect::<Result<Vec<LabelVolume>, _>>()?;
    let atlases: Vec<Atlas> = volumes.iter().zip(&maps).map(|(image, labels)| Atlas { image, labels }).collect();
    let target = GridRule::Itk.read_volume(target)?;
    let mut fused = joint(&target, &atlases, options).map_err(study::Error::from)?.labels;
    if let Some(path) = mask {
        let mask = GridRule::Itk.read_volume(path)?;
        antsreg_core::same_grid::same_grid("the target and the mask", &target.grid, &mask.grid)?;
        let outside = fused.voxels.iter_mut().zip(&mask.voxels).filter(|(_, mask)| **mask <= 0.5);
        outside.for_each(|(label, _)| *label = 0);
    }
    let mut files = Outputs::new();
    files.write::<CliError>(output, |path| Ok(nifti::write_labels(path, &fused)?))?;
    files.commit()?;
    call.tell(&Description::Cpu, replaced);
    Ok(())
}

impl Request {
    fn read(given: &[Given]) -> Result<Request, Refusal> {
        let all = |flag: &'static str| words::all(given, flag);
        let last = |flag: &'static str| words::last(given, flag);
        if let Some(value) = last("image-dimensionality") {
            super::dimension(&value.text)?;
        }
        let on = |flag: &'static str| last(flag).is_some_and(|value| value.text != "0");
        for (flag, instead) in [
            ("retain-label-posterior-images", "leave it out"),
            ("retain-atlas-voting-images", "leave it out"),
            ("exclusion-image", "leave it out"),
        ] {
            if on(flag) {
                return Err(Refusal::not_served(format!("--{flag}"), instead));
            }
        }
        let mut replaced = Vec::new();
        if on("constrain-nonnegative") {
            replaced.push("--constrain-nonnegative by weights without a constraint".into());
        }
        if last("patch-metric").is_some_and(|value| !value.is("PC")) {
            replaced.push("--patch-metric by PC, which compares normalised patches".into());
        }
        let images: Vec<PathBuf> = all("atlas-image").map(alone).collect::<Result<_, _>>()?;
        let labels: Vec<PathBuf> = all("atlas-segmentation").map(alone).collect::<Result<_, _>>()?;
        if images.is_empty() || images.len() != labels.len() {
            let why = format!("expected as many label maps as atlases, found {} and {}", labels.len(), images.len());
            return Err(Refusal::new("--atlas-segmentation", why));
        }
        let missing = |option: &str| Refusal::new(option, "is missing");
        let defaults = JointOptions::default();
        let number = |flag: &'static str, default: f64| match last(flag) {
            None => Ok(default),
            Some(value) => {
                value.text.parse().map_err(|_| Refusal::new(format!("--{flag} {}", value.text), "expected a number"))
            }
        };
        let output = last("output").ok_or_else(|| missing("--output"))?;
        if output.parameter(1).is_some() {
            return Err(Refusal::not_served(format!("--output {}", output.text), "use the fused labels alone"));
        }
        let output = PathBuf::from(output.parameter(0).unwrap_or(&output.name));
        if !study::transforms::is_nifti(&output) {
            return Err(Refusal::not_served(output.display(), "use a name that ends in .nii.gz or .nii"));
        }
        Ok(Request {
            target: alone(last("target-image").ok_or_else(|| missing("--target-image"))?)?,
            images,
            labels,
            mask: last("mask-image").map(|value| PathBuf::from(&value.text)),
            options: JointOptions {
                patch_radius: radius("patch-radius", last("patch-radius"), defaults.patch_radius)?,
                search_radius: radius("search-radius", last("search-radius"), defaults.search_radius)?,
                alpha: number("alpha", defaults.alpha)?,
                beta: number("beta", defaults.beta)?,
            },
            output,
            replaced,
        })
    }
}

/// The one image of a side.
fn alone(value: &Value) -> Result<PathBuf, Refusal> {
    match &value.parameters {
        Some(parameters) if parameters.len() > 1 => {
            Err(Refusal::not_served(&value.text, "use one image a side: several modalities are not fused"))
        }
        Some(_) => Ok(value.parameter(0).map_or_else(PathBuf::new, PathBuf::from)),
        None => Ok(PathBuf::from(&value.text)),
    }
}

/// A radius, the same along all axes.
fn radius(flag: &str, value: Option<&Value>, default: usize) -> Result<usize, Refusal> {
    let Some(value) = value else { return Ok(default) };
    let shown = format!("--{flag} {}", value.text);
    let radii = value.text.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>();
    match radii.as_deref() {
        Ok([first, rest @ ..]) if rest.iter().all(|radius| radius == first) => Ok(*first),
        Ok(_) => Err(Refusal::not_served(shown, "use one radius for all axes")),
        Err(_) if Path::new(&value.text).exists() => Err(Refusal::not_served(shown, "use one radius for all voxels")),
        Err(_) => Err(Refusal::new(shown, "expected a radius such as 3 or 3x3x3")),
    }
}
