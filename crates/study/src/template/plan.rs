//! The plan of a template, the file `atlas.json`: the subjects with the digests of their files, the options of the
//! registrations and of template building. This plain data suffices to run every step. The fingerprint in the plan
//! (digests of all data) shows whether a folder contains the same template.

mod fingerprint;
mod make;
mod subject;

use std::collections::BTreeMap;
use std::path::Path;

use antsreg_core::Volume;
use antsreg_register::Recipe;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use make::{check, make};
pub use subject::{PlannedSubject, read_channels};

use super::digest::FileRecord;
use super::layout::Layout;
use super::options::TemplateOptions;
use super::{Error as TemplateError, manifest};
use crate::Error;
use crate::pair::Format;

/// Name of the program, as written to the plan of a template.
const PROGRAM: &str = "antsreg-gpu";

/// Number of the format in which the plan of a template is written. A plan without a number has format 1, which
/// contained a command line instead of data.
const FORMAT: u64 = 2;

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
    /// Number of the first pass of template building. Pass 0 is the affine pass, which registers all subjects to the
    /// first subject.
    pub first_pass: usize,
    /// Number of the last pass of template building. Fewer passes are run if the template stops moving before.
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

/// The images of one subject or template, one image for each channel.
pub type Channels = Vec<std::sync::Arc<Volume>>;

/// For each subject in the plan of a template: its images, one for each channel. `None` for subjects that are left out.
pub type SubjectImages = Vec<Option<Channels>>;

impl Plan {
    /// Reads the plan (subjects and options) of the template in a folder.
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
        let found = fingerprint::of(&plan).map_err(wrap)?;
        let differing = fingerprint::differing(&found, &plan.fingerprint);
        if !differing.is_empty() || fingerprint::digest(&found) != plan.digest {
            return Err(TemplateError::PlanChanged { path, differing }.into());
        }
        Ok(plan)
    }

    /// Writes the plan (the template's subjects and options) to the folder of the template. A folder with the plan of
    /// another template is an error. With `restart`, the plan in the folder is replaced; then only a file that is no
    /// plan of this program is an error.
    ///
    /// # Errors
    /// [`TemplateError::Changed`]; the errors of [`Plan::read`]; a file that cannot be written.
    pub fn settle(&self, folder: &Path, restart: bool) -> Result<(), Error> {
        let path = Layout::plan(folder);
        if path.exists() && restart {
            read_value(&path)?;
        } else if path.exists() {
            let differing = fingerprint::differing(&self.fingerprint, &Plan::read(folder)?.fingerprint);
            if !differing.is_empty() {
                return Err(TemplateError::Changed { folder: folder.into(), differing }.into());
            }
        }
        manifest::write(&path, self)
    }

    /// Names of the subjects that are left out, each with the reason.
    pub fn left_out(&self) -> Vec<String> {
        self.subjects.iter().filter_map(PlannedSubject::complaint).collect()
    }
}

/// Reads the plan of a template (the file of subjects and options) as JSON, in any format.
fn read_value(path: &Path) -> Result<Value, Error> {
    let text = std::fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
    let value: Option<Value> = serde_json::from_slice(&text).ok();
    let is_plan = |value: &Value| value.get("program").and_then(Value::as_str) == Some(PROGRAM);
    value.filter(is_plan).ok_or_else(|| TemplateError::NotAPlan { path: path.into() }.into())
}

#[cfg(test)]
mod tests;
