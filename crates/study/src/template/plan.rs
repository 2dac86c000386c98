//! The plan of a template, the file `atlas.json`: plain data that suffices to run every step. The fingerprint in the plan
//! shows whether a folder contains the same template.

use std::collections::BTreeMap;
use std::path::Path;

use antsreg_register::Recipe;
use antsreg_register::syn::{self, Channel};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::digest::{FileRecord, of_data, of_words};
use super::layout::Layout;
use super::options::TemplateOptions;
use super::{Error as TemplateError, manifest};
use crate::Error;
use crate::pair::Format;

/// Name of the program, as written to the plan of a template.
pub(super) const PROGRAM: &str = "antsreg-gpu";

/// Number of the format in which the plan of a template is written. A plan without a number has format 1, which
/// contained a command line instead of data.
pub(super) const FORMAT: u64 = 2;

/// The plan of a template: subjects, options and passes, with digests of all data that the results depend on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name of the program.
    pub program: String,
    /// Version of the program that made the template's plan.
    pub version: String,
    /// Number of the format of the plan's file.
    pub plan_format: u64,
    /// One digest of all the digests in `fingerprint` and their names: templates with the same data have the same
    /// digest.
    pub digest: String,
    /// Digests of all data that the template depends on, such as the subjects' files and the options, each with a
    /// readable name.
    pub fingerprint: BTreeMap<String, String>,
    /// Names of the template's channels, such as `T1w` and `T2w`.
    pub channels: Vec<String>,
    /// Number of the first pass. Pass 0 is the affine pass, which registers all subjects to the first subject.
    pub first_pass: usize,
    /// Number of the last pass. Fewer passes are run if the template stops moving before.
    pub last_pass: usize,
    /// What the template starts from: the average of all subjects after affine registration, the images of one subject,
    /// or given images.
    pub start: StartFrom,
    /// Whether the extracted brains of the images that the template starts from are used instead of the whole heads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub start_brain: bool,
    /// Options of the registrations of subjects. The deformable stage has one channel for each channel of the template.
    pub recipe: Recipe,
    /// Options of building the template.
    pub options: TemplateOptions,
    /// Format of the final images and warps.
    pub image_format: Format,
    /// All subjects that were requested for the template, including subjects that are left out.
    pub subjects: Vec<PlannedSubject>,
}

/// What the template starts from: the average of all subjects after affine registration, the images of one subject, or
/// given images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartFrom {
    /// The template starts from the average of all subjects, registered affinely to the subject with this name.
    AverageOnto(String),
    /// The template starts from the images of the subject with this name.
    Subject(String),
    /// The template starts from the images in these files, one file for each channel.
    Images(Vec<FileRecord>),
}

/// A subject as the plan of a template lists it: name, files with their digests, and the reason if it is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedSubject {
    /// Name of the subject.
    pub name: String,
    /// Records of the subject's image files, one file for each channel.
    pub images: Vec<FileRecord>,
    /// Record of the subject's label map.
    pub labels: Option<FileRecord>,
    /// Whether the extracted brain is registered instead of the subject's whole head.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brain: bool,
    /// The reason if the subject is left out, else `None`.
    pub left_out: Option<String>,
}

impl PlannedSubject {
    /// Name of the subject and the reason, if the subject is left out.
    pub fn complaint(&self) -> Option<String> {
        self.left_out.as_ref().map(|reason| format!("{} ({reason})", self.name))
    }
}

impl Plan {
    /// Reads the plan of the template in a folder.
    ///
    /// # Errors
    /// A file that cannot be read; a plan of another format ([`TemplateError::PlanFormat`]); a plan that was changed
    /// after it was made ([`TemplateError::PlanChanged`]).
    pub fn read(folder: &Path) -> Result<Plan, Error> {
        let path = Layout::plan(folder);
        let value = read_value(&path)?;
        let format = value.get("plan_format").and_then(Value::as_u64).unwrap_or(1);
        if format != FORMAT {
            let version = value.get("version").and_then(Value::as_str).unwrap_or("unknown").into();
            return Err(TemplateError::PlanFormat { path, version, found: format, expected: FORMAT }.into());
        }
        let wrap = |source| Error::Json { path: path.clone(), source };
        let plan: Plan = serde_json::from_value(value).map_err(wrap)?;
        let found = plan.data_digests().map_err(wrap)?;
        let unlike = differing(&found, &plan.fingerprint);
        if !unlike.is_empty() || digest_of(&found) != plan.digest {
            return Err(TemplateError::PlanChanged { path, differing: unlike }.into());
        }
        Ok(plan)
    }

    /// Writes the plan to the folder of the template. A folder with the plan of another template is an error. With
    /// `restart`, the plan in the folder is replaced; then only a file that is no plan of this program is an error.
    ///
    /// # Errors
    /// [`TemplateError::Changed`]; the errors of [`Plan::read`]; a file that cannot be written.
    pub fn settle(&self, folder: &Path, restart: bool) -> Result<(), Error> {
        let path = Layout::plan(folder);
        if path.exists() && restart {
            read_value(&path)?;
        } else if path.exists() {
            let unlike = differing(&self.fingerprint, &Plan::read(folder)?.fingerprint);
            if !unlike.is_empty() {
                return Err(TemplateError::Changed { folder: folder.into(), differing: unlike }.into());
            }
        }
        manifest::write(&path, self)
    }

    /// Computes the fingerprint of the plan. The number of passes is not included, because passes may be added.
    ///
    /// # Errors
    /// Data that JSON cannot hold.
    pub(super) fn data_digests(&self) -> Result<BTreeMap<String, String>, serde_json::Error> {
        let included = self.subjects.iter().filter(|subject| subject.left_out.is_none());
        let subjects: Vec<String> = included.map(of_subject).collect();
        let start = match &self.start {
            StartFrom::Images(files) => of_words(files.iter().map(|file| file.sha256.as_str())),
            StartFrom::Subject(_) | StartFrom::AverageOnto(_) => of_data(&self.start)?,
        };
        let channels = &self.recipe.syn.channels;
        let weights: Vec<f64> = channels.iter().map(|channel| channel.weight).collect();
        // The digest "way to register" covers the options of the first channel only, with weight 1. The digest "choice of
        // channels" covers the number and the weights of the channels.
        let metric = channels.iter().take(1).map(|first| Channel { weight: 1.0, ..*first }).collect();
        let syn = syn::Options { channels: metric, ..self.recipe.syn.clone() };
        Ok(BTreeMap::from([
            ("version".into(), self.version.clone()),
            ("set of subjects".into(), of_words(subjects.iter().map(String::as_str))),
            ("choice of channels".into(), of_data(&(&self.channels, weights))?),
            ("start".into(), start),
            ("way to update the template".into(), of_data(&TemplateOptions { passes: 0, ..self.options.clone() })?),
            ("way to register".into(), of_data(&Recipe { syn, ..self.recipe.clone() })?),
        ]))
    }

    /// Names of the subjects that are left out, each with the reason.
    pub fn left_out(&self) -> Vec<String> {
        self.subjects.iter().filter_map(PlannedSubject::complaint).collect()
    }
}

/// One digest of a fingerprint: of all its digests and their names.
pub(super) fn digest_of(fingerprint: &BTreeMap<String, String>) -> String {
    of_words(fingerprint.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]))
}

/// The names of the digests that differ between two fingerprints.
fn differing(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Vec<String> {
    let names = one.keys().chain(other.keys());
    let mut differing: Vec<String> = names.filter(|name| one.get(*name) != other.get(*name)).cloned().collect();
    differing.sort();
    differing.dedup();
    differing
}

fn of_subject(subject: &PlannedSubject) -> String {
    let files = subject.images.iter().chain(&subject.labels).map(|file| file.sha256.as_str());
    let brain = subject.brain.then_some("brain");
    of_words([subject.name.as_str()].into_iter().chain(files).chain(brain))
}

/// Reads the plan of a template as JSON, in any format.
fn read_value(path: &Path) -> Result<Value, Error> {
    let text = std::fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
    let value: Option<Value> = serde_json::from_slice(&text).ok();
    let is_plan = |value: &Value| value.get("program").and_then(Value::as_str) == Some(PROGRAM);
    value.filter(is_plan).ok_or_else(|| TemplateError::NotAPlan { path: path.into() }.into())
}

#[cfg(test)]
mod tests;
