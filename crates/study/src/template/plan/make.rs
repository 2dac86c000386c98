//! Makes the plan of a template (the file of subjects and options) from a request: checks options and names, and reads
//! all subjects.

use std::path::PathBuf;

use antsreg_cohort::template::Averaging;
use antsreg_register::syn::{self, Channel, Metric};
use antsreg_register::{Model, Recipe};
use rayon::prelude::*;

use super::subject::{read_channels, records};
use super::{Channels, FORMAT, PROGRAM, Plan, PlannedSubject, StartFrom, SubjectImages, fingerprint};
use crate::Error;
use crate::subjects::Listing;
use crate::template::layout::Layout;
use crate::template::options::check_range;
use crate::template::request::{Request, StartImage};
use crate::template::{Error as TemplateError, TemplateOptions, brains, folder};

/// Checks the request and reads all subjects. Returns the template's plan (its subjects and options), and the images of
/// the subjects in the order of the plan.
///
/// # Errors
/// Options out of range; names of subjects or channels that cannot be used in file names; a folder that cannot be used;
/// too few subjects that can be read; an initial template that does not exist.
pub fn make(request: &Request) -> Result<(Plan, SubjectImages), Error> {
    let Request { listing: Listing { subjects, channels }, options, .. } = request;
    check(request)?;
    folder::check(&request.folder, request.inputs())?;
    let read: Vec<_> =
        subjects.clone().into_par_iter().map(|subject| PlannedSubject::read(subject, options.bias)).collect();
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
    let start_brain = brains::choose(options.brain, &mut subjects, &images, start_images.as_ref());
    let mut plan = Plan {
        program: PROGRAM.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        plan_format: FORMAT,
        digest: String::new(),
        fingerprint: fingerprint::Fingerprint::new(),
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
    plan.fingerprint = fingerprint::of(&plan).map_err(wrap)?;
    plan.digest = fingerprint::digest(&plan.fingerprint);
    Ok((plan, images))
}

/// Checks options and names before any file is read.
///
/// # Errors
/// Options out of range; names of subjects or channels that cannot be used in file names.
pub fn check(request: &Request) -> Result<(), Error> {
    let Request { listing: Listing { subjects, channels }, recipe, options, weights, .. } = request;
    options.check()?;
    if recipe.model != Model::Syn {
        return Err(TemplateError::Model { found: recipe.model }.into());
    }
    if !weights.is_empty() && weights.len() != channels.len() {
        let (expected, found) = (channels.len(), weights.len());
        return Err(TemplateError::Count { what: "weights, one for each channel", expected, found }.into());
    }
    for weight in weights {
        check_range("the weight of a channel", &TemplateOptions::WEIGHT, *weight)?;
    }
    let names = || subjects.iter().map(|subject| subject.name.as_str());
    names().chain(channels.iter().map(String::as_str)).try_for_each(check_name)?;
    Layout::new(&request.folder, channels).check_names(names(), request.format.extension())?;
    Ok(())
}

/// Checks that a name is allowed in file names and in rules of workflow engines.
fn check_name(name: &str) -> Result<(), TemplateError> {
    let plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    match name.starts_with(char::is_alphanumeric) && name.chars().all(plain) {
        true => Ok(()),
        false => Err(TemplateError::BadName { name: name.into() }),
    }
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
