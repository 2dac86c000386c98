//! The parsed command line of `antsJointFusion`.

use std::path::{Path, PathBuf};

use antsreg_cohort::fusion::JointOptions;
use antsreg_console::Refusal;

use super::files::{FusedFiles, Numbered, image_name};
use crate::ants::words::{self, Flag, Given, Value, flag};

/// All flags of `antsJointFusion`, including the flags that are refused.
pub const FLAGS: &[Flag] = &[
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

/// Parsed options and file names of a command line of `antsJointFusion`.
pub struct Request {
    /// Path of the target, the image that gets labels.
    pub target: PathBuf,
    /// Path of the image of each atlas.
    pub images: Vec<PathBuf>,
    /// Path of the label map of each atlas; empty if only intensities are fused.
    pub labels: Vec<PathBuf>,
    /// Path of the mask of the voxels where labels are fused.
    pub mask: Option<PathBuf>,
    /// The parameters of joint label fusion.
    pub options: JointOptions,
    /// Names of the output files of joint label fusion.
    pub output: FusedFiles,
    /// Descriptions of the options of ANTs that this program replaces by its own methods.
    pub replaced: Vec<String>,
}

impl Request {
    /// Parses the flags of a command line of `antsJointFusion`.
    ///
    /// # Errors
    /// An argument that is wrong or not supported.
    pub fn read(given: &[Given]) -> Result<Request, Refusal> {
        let all = |flag: &'static str| words::all(given, flag);
        let last = |flag: &'static str| words::last(given, flag);
        if let Some(value) = last("image-dimensionality") {
            crate::ants::dimension(&value.text)?;
        }
        let on = |flag: &'static str| last(flag).is_some_and(|value| value.text != "0");
        for flag in ["retain-atlas-voting-images", "exclusion-image"] {
            if on(flag) {
                return Err(Refusal::not_served(format!("--{flag}"), "leave it out"));
            }
        }
        let mut replaced = Vec::new();
        if on("constrain-nonnegative") {
            replaced.push("--constrain-nonnegative is replaced: weights below 0 are set to 0".into());
        }
        if last("patch-metric").is_some_and(|value| !value.is("PC")) {
            replaced.push("--patch-metric is replaced by PC, which compares normalised patches".into());
        }
        let images: Vec<PathBuf> = all("atlas-image").map(alone).collect::<Result<_, _>>()?;
        let labels: Vec<PathBuf> = all("atlas-segmentation").map(alone).collect::<Result<_, _>>()?;
        let missing = |option: &str| Refusal::new(option, "is missing");
        if images.is_empty() {
            return Err(missing("--atlas-image"));
        }
        if !labels.is_empty() && images.len() != labels.len() {
            let why = format!(
                "expected as many label maps as atlases, found {} label maps and {} atlases",
                labels.len(),
                images.len()
            );
            return Err(Refusal::new("--atlas-segmentation", why));
        }
        let defaults = JointOptions::default();
        let number = |flag: &'static str, default: f64| match last(flag) {
            None => Ok(default),
            Some(value) => {
                value.text.parse().map_err(|_| Refusal::new(format!("--{flag} {}", value.text), "expected a number"))
            }
        };
        let output = output(last("output").ok_or_else(|| missing("--output"))?, !labels.is_empty())?;
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

/// Returns the output files that the option `-o FILE` or `-o [LABELS,INTENSITIES,POSTERIORS]` of `antsJointFusion`
/// names. If the atlases have no label maps, FILE is the file of the fused intensities.
fn output(value: &Value, has_labels: bool) -> Result<FusedFiles, Refusal> {
    if value.parameter(3).is_some() {
        let option = format!("--output {}", value.text);
        return Err(Refusal::not_served(
            option,
            "use [LABELS,INTENSITIES,POSTERIORS]: votes of atlases are not written",
        ));
    }
    let mut files = FusedFiles::default();
    if value.parameters.is_none() {
        let name = Some(image_name(&value.name)?);
        *(if has_labels { &mut files.labels } else { &mut files.intensities }) = name;
        return Ok(files);
    }
    let named = |place: usize| value.parameter(place);
    // The name of the fused image may contain a placeholder for the number of the image. Only one image of each atlas
    // is supported, so this number is 1.
    let intensities =
        named(1).map(|text| Ok(Numbered::parse(text)?.map_or_else(|| text.into(), |name| name.with(1))));
    files.intensities = intensities.transpose()?.map(|path: PathBuf| image_name(path)).transpose()?;
    if has_labels {
        files.labels = named(0).map(image_name).transpose()?;
        if let Some(text) = named(2) {
            image_name(text)?;
            let why = "expected a placeholder for the label, such as posterior%04d.nii.gz";
            files.posteriors = Some(Numbered::parse(text)?.ok_or_else(|| Refusal::new(text, why))?);
        }
    }
    Ok(files)
}

/// Returns the path that a flag gives. Several images are refused, because only one image of each atlas is supported.
fn alone(value: &Value) -> Result<PathBuf, Refusal> {
    match &value.parameters {
        Some(parameters) if parameters.len() > 1 => Err(Refusal::not_served(
            &value.text,
            "use one image for the target and for each atlas: several modalities are not fused",
        )),
        Some(_) => Ok(value.parameter(0).map_or_else(PathBuf::new, PathBuf::from)),
        None => Ok(PathBuf::from(&value.text)),
    }
}

/// Reads the radius of a patch or of a search region, in voxels, which must be the same along all axes.
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
