//! `PREFIXrecord.json` of labels from several atlases: what was done, with what, and how it came out.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Args;
use super::atlas::Atlas;
use super::options::Fusion;
use super::propagate::{Propagated, Propagation, Target};
use crate::device::Description;
use crate::error::CliError;
use crate::interpolation::LabelInterpolation;
use crate::presets::Preset;
use crate::progress::Console;
use crate::register::{LinearParameters, SynParameters};

/// The whole record.
#[derive(Debug, Serialize)]
pub struct Record {
    program: &'static str,
    version: &'static str,
    command_line: Vec<String>,
    devices: Vec<Description>,
    threads: usize,
    parameters: Parameters,
    targets: Vec<TargetRecord>,
    seconds: Seconds,
}

/// What was asked for, all defaults filled in.
#[derive(Debug, Serialize)]
struct Parameters {
    transform: String,
    preset: Preset,
    /// The start as typed; absent where it is the default of the model.
    start: Option<String>,
    label_interpolation: LabelInterpolation,
    fusion: Fusion,
}

/// One labelled image.
#[derive(Debug, Serialize)]
pub struct TargetRecord {
    /// Its file.
    pub path: PathBuf,
    /// Parameters of the affine stage.
    pub linear: Option<LinearParameters>,
    /// Parameters of the diffeomorphic stage, which depend on the image's size.
    pub syn: Option<SynParameters>,
    /// What it got its labels from.
    pub atlases: Vec<AtlasRecord>,
    /// Voxels on which the atlases disagree.
    pub undecided_voxels: usize,
    /// Mean over the labels, where the truth is known.
    pub mean_jaccard: Option<f64>,
}

/// One atlas of a target.
#[derive(Debug, Serialize)]
pub struct AtlasRecord {
    /// What it is called.
    pub name: String,
    /// Its image.
    pub image: PathBuf,
    /// Its label map.
    pub labels: PathBuf,
    /// Whether it was used, and not left out.
    pub used: bool,
    /// Correlation of its image with the target's, after registration.
    pub correlation: Option<f64>,
    /// Affine, target → atlas, RAS mm, row by row.
    pub affine_ras: Option<[[f64; 4]; 3]>,
}

/// Wall time of each part.
#[derive(Debug, Default, Serialize)]
pub struct Seconds {
    /// Reading.
    pub read: f64,
    /// Registering, and bringing images and labels over.
    pub register: f64,
    /// Fusing.
    pub fuse: f64,
    /// Writing.
    pub outputs: f64,
    /// All of it.
    pub total: f64,
}

impl Record {
    /// Of what was done.
    pub fn new(
        args: &Args,
        fusion: Fusion,
        targets: Vec<TargetRecord>,
        seconds: Seconds,
        propagation: &Propagation,
        console: &Console,
    ) -> Record {
        let settings = &args.settings;
        Record {
            program: "antsreg-gpu",
            version: env!("CARGO_PKG_VERSION"),
            command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            devices: propagation.devices(),
            threads: console.threads,
            parameters: Parameters {
                transform: settings.model().to_string(),
                preset: settings.preset,
                start: settings.initial_transform.as_ref().map(ToString::to_string),
                label_interpolation: args.interpolation,
                fusion,
            },
            targets,
            seconds,
        }
    }

    /// As JSON.
    pub fn write(&self, path: &Path) -> Result<(), CliError> {
        let json =
            serde_json::to_string_pretty(self).map_err(|source| CliError::Json { path: path.into(), source })?;
        std::fs::write(path, json + "\n").map_err(|source| CliError::Write { path: path.into(), source })
    }
}

impl TargetRecord {
    /// Without any result.
    pub fn new(target: &Target, propagation: &Propagation) -> Result<TargetRecord, CliError> {
        let plan = propagation.parameters(target)?;
        Ok(TargetRecord {
            path: target.path.clone(),
            linear: plan.linear.as_ref().map(|options| LinearParameters::new(options, plan.slices)),
            syn: plan.syn.as_ref().map(Into::into),
            atlases: Vec::new(),
            undecided_voxels: 0,
            mean_jaccard: None,
        })
    }
}

impl AtlasRecord {
    /// Of an atlas, by what was brought over.
    pub fn new(atlas: &Atlas, brought: &[Propagated]) -> AtlasRecord {
        let found = brought.iter().find(|found| found.name == atlas.name);
        let rows = |found: &Propagated| {
            let matrix = found.affine.to_homogeneous();
            std::array::from_fn(|row| std::array::from_fn(|column| matrix[(row, column)]))
        };
        AtlasRecord {
            name: atlas.name.clone(),
            image: atlas.image.clone(),
            labels: atlas.labels.clone(),
            used: found.is_some(),
            correlation: found.and_then(|found| found.correlation),
            affine_ras: found.map(rows),
        }
    }
}
