//! The JSON record of labelling images by several atlases, `PREFIXrecord.json`: inputs, parameters, devices, results.

use std::path::{Path, PathBuf};

use antsreg_core::io::outputs::write_file;
use antsreg_register::{self as register, Description};
use serde::{Deserialize, Serialize};

use super::atlas::Atlas;
use super::options::LabelOptions;
use super::propagate::{Propagated, Propagation, Target};
use super::study::AtlasStudy;
use crate::Error;
use crate::skulls::ExtractedRecord;

/// The JSON record of labelling images by several atlases.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// Name of the program.
    pub program: String,
    /// Version of the program.
    pub version: String,
    /// The command line of the program, for the reader of this JSON record.
    pub command_line: Vec<String>,
    /// The devices on which atlases were registered.
    pub devices: Vec<Description>,
    /// Number of threads that computed.
    pub threads: usize,
    /// The options.
    pub parameters: LabelOptions,
    /// Labels for which the overlap with the true labels is computed; `None` for all labels except 0.
    pub label_list: Option<Vec<i32>>,
    /// Inputs and results of each image that got labels.
    pub targets: Vec<TargetRecord>,
    /// Wall time of each part of the labelling.
    pub seconds: Seconds,
}

/// The part of the JSON record about one image that got labels.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TargetRecord {
    /// Path of the image.
    pub path: PathBuf,
    /// The options of the registration of each atlas to the image that gets labels, with all defaults filled in.
    pub options: register::Options,
    /// The atlases.
    pub atlases: Vec<AtlasRecord>,
    /// The brain of the image, if it was registered in the place of the whole head.
    #[serde(default)]
    pub brain: Option<ExtractedRecord>,
    /// Voxels on which the atlases disagree.
    pub undecided_voxels: usize,
    /// Mean Jaccard index over the labels; `None` if the true labels are not known.
    pub mean_jaccard: Option<f64>,
}

/// The part of the JSON record about one atlas of the image that got labels.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AtlasRecord {
    /// Name of the atlas.
    pub name: String,
    /// Path of the atlas's image.
    pub image: PathBuf,
    /// Path of the atlas's label map.
    pub labels: PathBuf,
    /// Whether the atlas was used in the fusion; false for an atlas that was left out.
    pub used: bool,
    /// Correlation of the atlas's image with the target's image after registration.
    pub correlation: Option<f64>,
    /// The brain of the atlas's image, if it was registered in the place of the whole head.
    #[serde(default)]
    pub brain: Option<ExtractedRecord>,
    /// Matrix of the affine transform from points of the target to points of the atlas, RAS mm, row by row.
    pub affine_ras: Option<[[f64; 4]; 3]>,
}

/// Wall times of the parts of a labelling, seconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// Time of reading the inputs.
    pub read: f64,
    /// Time of registering the atlases, and of resampling images and labels.
    pub register: f64,
    /// Time of fusing the labels.
    pub fuse: f64,
    /// Time of computing the overlap with the true labels, and of writing the outputs.
    pub outputs: f64,
    /// Total time of the run until this record is written.
    pub total: f64,
}

impl Record {
    /// Makes the JSON record of a finished labelling.
    pub(super) fn new(
        of: &AtlasStudy,
        parameters: LabelOptions,
        label_list: Option<Vec<i32>>,
        targets: Vec<TargetRecord>,
        seconds: Seconds,
        propagation: &Propagation,
    ) -> Record {
        Record {
            program: "antsreg-gpu".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            command_line: of.command_line.to_vec(),
            devices: propagation.devices(),
            threads: of.threads,
            parameters,
            label_list,
            targets,
            seconds,
        }
    }

    /// Writes the record of the labelling to a JSON file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let json = serde_json::to_string_pretty(self).map_err(|source| Error::Json { path: path.into(), source })?;
        Ok(write_file(path, (json + "\n").as_bytes())?)
    }
}

impl TargetRecord {
    /// Makes the entry of a target in the JSON record, before the target has results.
    pub(super) fn new(target: &Target, propagation: &Propagation) -> Result<TargetRecord, Error> {
        Ok(TargetRecord {
            path: target.path.clone(),
            options: propagation.registration(target.side.grid())?,
            atlases: Vec::new(),
            brain: target.skull.as_ref().map(|skull| skull.record.clone()),
            undecided_voxels: 0,
            mean_jaccard: None,
        })
    }
}

impl AtlasRecord {
    /// Makes the entry of an atlas in the JSON record. `brought` holds the atlases that were registered and fused. The
    /// entry of any other atlas says that this atlas was left out.
    pub(super) fn new(atlas: &Atlas, brought: &[Propagated]) -> AtlasRecord {
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
            brain: found.and_then(|found| found.brain.clone()),
            affine_ras: found.map(rows),
        }
    }
}
