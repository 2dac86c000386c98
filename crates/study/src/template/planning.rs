//! Plans a template from a request: checks options and names, reads all subjects, and chooses the heads whose brains
//! are extracted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use antsreg_cohort::template::Averaging;
use antsreg_register::Recipe;
use antsreg_register::syn::{self, Channel, Metric};
use rayon::prelude::*;

use super::channels::{Channels, read_channels};
use super::digest::FileRecord;
use super::layout::Layout;
use super::plan::{FORMAT, PROGRAM, Plan, PlannedSubject, StartFrom, digest_of};
use super::request::{Request, StartImage};
use super::{Error as TemplateError, folder};
use crate::skulls::{BrainChoice, Candidate, Role};
use crate::subjects::{Listing, Subject};
use crate::{Error, inputs};

/// For each subject in a plan: its images, one for each channel. `None` for subjects that are left out.
pub type SubjectImages = Vec<Option<Channels>>;

/// Checks the request and reads all subjects. Returns the template's plan, and the images of the subjects in the
/// order of the plan.
///
/// # Errors
/// Options out of range; names of subjects or channels that cannot be used in file names; a folder that cannot be used;
/// too few subjects that can be read; an initial template that does not exist.
pub fn plan(request: &Request) -> Result<(Plan, SubjectImages), Error> {
    let Request { listing: Listing { subjects, channels }, options, .. } = request;
    request.check()?;
    folder::check(&request.folder, request.inputs())?;
    let read: Vec<_> = subjects.clone().into_par_iter().map(|subject| read_subject(subject, options.bias)).collect();
    let (mut subjects, images): (Vec<PlannedSubject>, SubjectImages) = read.into_iter().unzip();
    let included: Vec<&PlannedSubject> = subjects.iter().filter(|subject| subject.left_out.is_none()).collect();
    let found = included.len();
    if found < 2 {
        let reasons: Vec<String> = subjects.iter().filter_map(PlannedSubject::complaint).collect();
        return Err(match reasons.is_empty() {
            true => TemplateError::TooFew { found },
            false => TemplateError::TooFewRead { found, reasons },
        }
        .into());
    }
    if options.average == Averaging::Trimmed && found < 4 {
        return Err(TemplateError::TooFewToTrim { found }.into());
    }
    let (start, start_images) = start(&request.start, channels, &included)?;
    let start_brain = choose_brains(options.brain, &mut subjects, &images, start_images.as_ref());
    let mut plan = Plan {
        program: PROGRAM.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        plan_format: FORMAT,
        digest: String::new(),
        fingerprint: BTreeMap::new(),
        channels: channels.clone(),
        first_pass: usize::from(!matches!(start, StartFrom::AverageOnto(_))),
        last_pass: options.passes,
        start,
        start_brain,
        recipe: recipe(request),
        options: options.clone(),
        image_format: request.format,
        subjects,
    };
    let wrap = |source| Error::Json { path: Layout::plan(&request.folder), source };
    plan.fingerprint = plan.data_digests().map_err(wrap)?;
    plan.digest = digest_of(&plan.fingerprint);
    Ok((plan, images))
}

/// The options of all registrations: every channel has the metric of the first channel, and only transforms are
/// computed.
fn recipe(request: &Request) -> Recipe {
    let Request { recipe, weights, listing, .. } = request;
    let metric = recipe.syn.channels.first().map_or_else(Metric::default, |channel| channel.metric);
    let weight = |channel: usize| weights.get(channel).copied().unwrap_or(1.0);
    let channels = (0..listing.channels.len()).map(|channel| Channel { metric, weight: weight(channel) }).collect();
    let syn = syn::Options { channels, ..recipe.syn.clone() };
    Recipe { syn, inverse_warp: false, scores: false, images: None, ..recipe.clone() }
}

/// What the template starts from: the average of all subjects after affine registration, the images of one subject, or
/// given images. Given images are read from their files, and returned too.
fn start(
    start: &StartImage,
    channels: &[String],
    included: &[&PlannedSubject],
) -> Result<(StartFrom, Option<Channels>), Error> {
    match start {
        StartImage::Average => Ok((StartFrom::AverageOnto(included[0].name.clone()), None)),
        StartImage::Subject(name) => match included.iter().any(|subject| subject.name == *name) {
            true => Ok((StartFrom::Subject(name.clone()), None)),
            false => {
                let there = included.iter().map(|subject| subject.name.clone()).collect();
                Err(TemplateError::NoSubject { name: name.clone(), there }.into())
            }
        },
        StartImage::Images(files) => {
            let (start, images) = start_images(files, channels)?;
            Ok((start, Some(images)))
        }
    }
}

fn start_images(files: &[PathBuf], channels: &[String]) -> Result<(StartFrom, Channels), Error> {
    if files.len() != channels.len() {
        let (expected, found) = (channels.len(), files.len());
        return Err(
            TemplateError::Count { what: "images of the template, one for each channel", expected, found }.into()
        );
    }
    let images = read_channels(files, false)?;
    Ok((StartFrom::Images(records(files)?), images))
}

/// Reads a subject for the plan of a template; removes the shading of its images if `corrected` is true. A subject
/// that cannot be read is left out of the template.
fn read_subject(subject: Subject, corrected: bool) -> (PlannedSubject, Option<Channels>) {
    let Subject { name, images, labels, .. } = subject;
    match read(&images, labels.as_deref(), corrected) {
        Ok((images, labels, volumes)) => {
            (PlannedSubject { name, images, labels, brain: false, left_out: None }, Some(volumes))
        }
        Err(error) => {
            let unread = |path: PathBuf| FileRecord { path, bytes: 0, sha256: String::new() };
            let (images, labels) = (images.into_iter().map(unread).collect(), labels.map(unread));
            (PlannedSubject { name, images, labels, brain: false, left_out: Some(error.to_string()) }, None)
        }
    }
}

type Read = (Vec<FileRecord>, Option<FileRecord>, Channels);

fn read(images: &[PathBuf], labels: Option<&Path>, corrected: bool) -> Result<Read, Error> {
    let volumes = read_channels(images, corrected)?;
    if let Some(labels) = labels {
        inputs::labels_of(labels, &images[0], &volumes[0].grid)?;
    }
    Ok((records(images)?, labels.map(record).transpose()?, volumes))
}

/// Makes the records of files: absolute path, length and digest.
fn records(paths: &[PathBuf]) -> Result<Vec<FileRecord>, Error> {
    paths.iter().map(|path| record(path)).collect()
}

fn record(path: &Path) -> Result<FileRecord, Error> {
    let absolute = std::path::absolute(path).map_err(|source| Error::Read { path: path.into(), source })?;
    FileRecord::of(path, absolute)
}

/// Chooses the images whose brains are extracted. Sets for each subject whether its brain is extracted, and returns
/// whether the brain of the initial template is extracted.
fn choose_brains(
    choice: BrainChoice,
    subjects: &mut [PlannedSubject],
    images: &SubjectImages,
    start: Option<&Channels>,
) -> bool {
    let there = || subjects.iter().zip(images).filter_map(|(subject, images)| Some((subject, images.as_ref()?)));
    let mut group: Vec<Candidate> = there().map(|(_, images)| candidate(Role::Moving, images)).collect();
    group.extend(start.map(|images| candidate(Role::Fixed, images)));
    let mut chosen = choice.of_group(&group).into_iter();
    for (subject, _) in subjects.iter_mut().zip(images).filter(|(_, images)| images.is_some()) {
        subject.brain = chosen.next().unwrap_or(false);
    }
    chosen.next().unwrap_or(false)
}

fn candidate(role: Role, images: &Channels) -> Candidate<'_> {
    Candidate { role, image: &images[0], masked: false }
}
