//! What will be done: subjects with the digests of their files, options, and a fingerprint that tells whether a folder's
//! atlas is of the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use antsreg_core::Volume;
use antsreg_core::io::outputs;
use antsreg_study::template::{FileRecord, Layout, of_words, read_json, write_json};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Error;
use super::args::{Args, Average};
use crate::devices::Devices;
use crate::error::{CliError, UsageError};
use crate::register::{self, Model, Start};
use crate::{args, inputs};
use antsreg_study::subjects::{self, Listing};

/// The plan of an atlas.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is written of it.
    pub file: PlanFile,
    /// The options it was made with.
    pub args: Args,
}

/// `atlas.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanFile {
    /// Name of the program.
    pub program: String,
    /// Its version.
    pub version: String,
    /// As typed: the steps take their options from here.
    pub command_line: Vec<String>,
    /// Digest of the fingerprint.
    pub digest: String,
    /// What the results depend on, each under a name for people.
    pub fingerprint: BTreeMap<String, String>,
    /// Names of the channels.
    pub channels: Vec<String>,
    /// The first pass: 0 is an affine one, before which the template is the first subject.
    pub first_pass: usize,
    /// The last pass, unless the template stops moving before it.
    pub last_pass: usize,
    /// Where the template comes from.
    pub start: StartFrom,
    /// All subjects as given.
    pub subjects: Vec<Subject>,
}

/// Where the first template comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartFrom {
    /// The average of all, registered affinely to this subject.
    AverageOnto(String),
    /// This subject.
    Subject(String),
    /// These files, one a channel.
    Template(Vec<FileRecord>),
}

/// A subject of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// Its images, one a channel.
    pub images: Vec<FileRecord>,
    /// Its labels.
    pub labels: Option<FileRecord>,
    /// Why it takes no part.
    pub left_out: Option<String>,
}

/// Each subject's images, one a channel; none of those left out.
pub type SubjectImages = Vec<Option<Vec<Volume>>>;

impl Plan {
    /// Reads all subjects and plans their atlas. Gives the images too, in the subjects' order; none of those left out.
    pub fn make(args: &Args) -> Result<(Plan, SubjectImages), CliError> {
        check(args)?;
        let Listing { subjects: listed, channels } = listing(args)?;
        if !args.weights.is_empty() && args.weights.len() != channels.len() {
            let (expected, found) = (channels.len(), args.weights.len());
            return Err(Error::Count { what: "--weights, one a channel".into(), expected, found }.into());
        }
        let read: Vec<(Subject, Option<Vec<Volume>>)> = listed.into_par_iter().map(subject).collect();
        let (subjects, images): (Vec<_>, Vec<_>) = read.into_iter().unzip();
        let included: Vec<&Subject> = subjects.iter().filter(|subject| subject.left_out.is_none()).collect();
        if included.len() < 2 {
            let reasons: Vec<String> = subjects.iter().filter_map(Subject::complaint).collect();
            return Err(match reasons.is_empty() {
                true => Error::TooFew { found: included.len() },
                false => Error::TooFewRead { found: included.len(), reasons },
            }
            .into());
        }
        if args.average == Average::Trimmed && included.len() < 4 {
            return Err(Error::TooFewToTrim { found: included.len() }.into());
        }
        let start = start(args, &channels, &included)?;
        let fingerprint = fingerprint(args, &channels, &start, &included)?;
        let file = PlanFile {
            program: "antsreg-gpu".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            digest: of_words(fingerprint.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()])),
            fingerprint,
            channels,
            first_pass: usize::from(!matches!(start, StartFrom::AverageOnto(_))),
            last_pass: args.passes,
            start,
            subjects,
        };
        Ok((Plan { file, args: args.clone() }, images))
    }

    /// The plan in a folder.
    pub fn read(folder: &Path) -> Result<Plan, CliError> {
        let path = Layout::plan(folder);
        let file: PlanFile = read_json(&path)?;
        let args = args::atlas(&file.command_line).ok_or(Error::CommandLine { path })?;
        Ok(Plan { file, args })
    }

    /// Refuses a folder that holds another plan, unless it is to be restarted; then writes this one there.
    pub fn settle(&self, folder: &Path) -> Result<(), CliError> {
        let path = Layout::plan(folder);
        if path.exists() && !self.args.restart {
            let there: PlanFile = read_json(&path)?;
            let names = self.file.fingerprint.keys().chain(there.fingerprint.keys());
            let mut differing: Vec<String> = names
                .filter(|name| self.file.fingerprint.get(*name) != there.fingerprint.get(*name))
                .cloned()
                .collect();
            differing.sort();
            differing.dedup();
            if !differing.is_empty() {
                return Err(Error::Changed { folder: folder.into(), differing }.into());
            }
        }
        Ok(write_json(&path, &self.file)?)
    }
}

impl Subject {
    /// Its name and why it takes no part, if it does not.
    pub fn complaint(&self) -> Option<String> {
        self.left_out.as_ref().map(|reason| format!("{} ({reason})", self.name))
    }

    /// The files it is read from.
    pub fn files(&self) -> Vec<FileRecord> {
        self.images.clone()
    }
}

/// Refuses options that would do nothing here.
fn check(args: &Args) -> Result<(), UsageError> {
    register::check(&args.settings, &[])?;
    let no_effect = |option, with: &str| Err(UsageError::NoEffect { option, with: with.into() });
    if args.settings.model() != Model::Syn {
        return no_effect("--transform", "atlas, which registers by affine and SyN");
    }
    if matches!(args.settings.initial_transform, Some(Start::File(_))) {
        return no_effect("--initial-transform FILE", "many subjects, each of which starts elsewhere");
    }
    Ok(())
}

/// The subjects as given, with names that can stand in file names and in a workflow's rules.
fn listing(args: &Args) -> Result<Listing, CliError> {
    let mut listing = subjects::list(&args.subjects, &args.channels)?;
    if listing.subjects.iter().any(|subject| subject.mask.is_some()) {
        return Err(UsageError::NoEffect { option: "the column `mask`", with: "atlas".into() }.into());
    }
    if !args.labels.is_empty() {
        if args.labels.len() != listing.subjects.len() {
            let (expected, found) = (listing.subjects.len(), args.labels.len());
            return Err(Error::Count { what: "--labels, one a subject".into(), expected, found }.into());
        }
        for (subject, labels) in listing.subjects.iter_mut().zip(&args.labels) {
            subject.labels = Some(labels.clone());
        }
    }
    listing
        .subjects
        .iter()
        .map(|subject| &subject.name)
        .chain(&listing.channels)
        .try_for_each(|name| check_name(name))?;
    let names: Vec<&str> = listing.subjects.iter().map(|subject| subject.name.as_str()).collect();
    match Layout::new(Path::new(""), &listing.channels).collision(&names, args.format.extension()) {
        Some(path) => Err(Error::Collision { path }.into()),
        None => Ok(listing),
    }
}

/// A name that is part of file names.
fn check_name(name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    match name.starts_with(char::is_alphanumeric) && name.chars().all(plain) {
        true => Ok(()),
        false => Err(Error::BadName { name: name.into() }),
    }
}

/// Reads a subject. What cannot be read leaves it out.
fn subject(listed: subjects::Subject) -> (Subject, Option<Vec<Volume>>) {
    let subjects::Subject { name, images, labels, .. } = listed;
    match read(&images, labels.as_deref()) {
        Ok((images, labels, volumes)) => (Subject { name, images, labels, left_out: None }, Some(volumes)),
        Err(error) => {
            let unread = |path: PathBuf| FileRecord { path, bytes: 0, sha256: String::new() };
            let (images, labels) = (images.into_iter().map(unread).collect(), labels.map(unread));
            (Subject { name, images, labels, left_out: Some(error.to_string()) }, None)
        }
    }
}

type Read = (Vec<FileRecord>, Option<FileRecord>, Vec<Volume>);

fn read(images: &[PathBuf], labels: Option<&Path>) -> Result<Read, CliError> {
    let volumes = channels(images)?;
    if let Some(labels) = labels {
        inputs::labels_of(labels, &images[0], &volumes[0].grid)?;
    }
    Ok((records(images)?, labels.map(record).transpose()?, volumes))
}

/// Reads the channels of one subject, which lie on one grid.
pub fn channels(paths: &[PathBuf]) -> Result<Vec<Volume>, CliError> {
    let mut volumes: Vec<Volume> = Vec::with_capacity(paths.len());
    for path in paths {
        let mut volume = inputs::image(path)?;
        if let Some(first) = volumes.first() {
            inputs::check_grid(path, &volume.grid, &paths[0], &first.grid, "linear")?;
            volume.grid = first.grid.clone();
        }
        volumes.push(volume);
    }
    Ok(volumes)
}

fn records(paths: &[PathBuf]) -> Result<Vec<FileRecord>, CliError> {
    paths.iter().map(|path| record(path)).collect()
}

fn record(path: &Path) -> Result<FileRecord, CliError> {
    let absolute = std::path::absolute(path).map_err(|source| CliError::Read { path: path.into(), source })?;
    Ok(FileRecord::of(path, absolute)?)
}

fn start(args: &Args, channels: &[String], included: &[&Subject]) -> Result<StartFrom, CliError> {
    if let Some(template) = &args.template {
        let files = subjects::channels_of(template);
        if files.len() != channels.len() {
            let (expected, found) = (channels.len(), files.len());
            return Err(Error::Count { what: "images of --template, one a channel".into(), expected, found }.into());
        }
        // One that an earlier run made in this folder would be gone when it is needed again.
        if let Some(layout) = args.output.as_deref().map(|folder| Layout::new(folder, channels)) {
            let of_passes = (0..=args.passes).map(Some).chain([None]);
            let made = of_passes.flat_map(|pass| layout.template(pass).images);
            for output in made.chain(layout.result(args.format.extension())) {
                outputs::check_not_input(&output, &files)?;
            }
        }
        self::channels(&files)?;
        return Ok(StartFrom::Template(records(&files)?));
    }
    let Some(name) = &args.start_from else { return Ok(StartFrom::AverageOnto(included[0].name.clone())) };
    match included.iter().any(|subject| subject.name == *name) {
        true => Ok(StartFrom::Subject(name.clone())),
        false => {
            let there = included.iter().map(|subject| subject.name.clone()).collect();
            Err(Error::NoSubject { name: name.clone(), there }.into())
        }
    }
}

/// All that the results depend on, but the number of passes: more of them may be added.
fn fingerprint(
    args: &Args,
    channels: &[String],
    start: &StartFrom,
    included: &[&Subject],
) -> Result<BTreeMap<String, String>, CliError> {
    let of_subject = |subject: &&Subject| {
        let files = subject.images.iter().chain(&subject.labels).map(|file| file.sha256.as_str());
        of_words([subject.name.as_str()].into_iter().chain(files))
    };
    let subjects: Vec<String> = included.iter().map(of_subject).collect();
    let mut settings = args.settings.clone();
    settings.device = Devices::default();
    let start = match start {
        StartFrom::Template(files) => of_words(files.iter().map(|file| file.sha256.as_str())),
        StartFrom::Subject(name) => format!("subject {name}"),
        StartFrom::AverageOnto(name) => format!("average onto {name}"),
    };
    let Args { shape_step, average, sharpen, stop_below, margin, interpolation, weights, .. } = args;
    let template = format!(
        "shape step {shape_step}, {average:?}, sharpen {sharpen}, stop below {stop_below}, margin {margin}, {interpolation:?}"
    );
    Ok(BTreeMap::from([
        ("version".into(), env!("CARGO_PKG_VERSION").into()),
        // Where the files lie: in folders of before, those of subjects lay beside the templates'.
        ("arrangement of files".into(), "2".into()),
        ("set of subjects".into(), of_words(subjects.iter().map(String::as_str))),
        ("choice of channels".into(), format!("{channels:?} {weights:?}")),
        ("start".into(), start),
        ("way to update the template".into(), template),
        ("way to register".into(), format!("{settings:?}")),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_must_do_for_files_and_rules() {
        assert!(check_name("sub-01_ses-1").is_ok());
        for name in ["", "-a", "../a", "a b", ".a"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
