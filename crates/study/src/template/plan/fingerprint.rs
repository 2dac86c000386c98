//! The fingerprint of a plan: digests of all data that the results depend on. The number of passes of template building
//! is not included, because passes may be added.

use std::collections::BTreeMap;

use antsreg_register::Recipe;
use antsreg_register::syn::Channel;

use super::{Plan, PlannedSubject, StartFrom};
use crate::template::TemplateOptions;
use crate::template::digest::{of_data, of_words};

/// Digests of all data that a template depends on, such as the subjects' files and the options, each with a readable
/// name.
pub type Fingerprint = BTreeMap<String, String>;

/// Computes the fingerprint of a template's plan: digests of all data that the results depend on, such as the subjects'
/// files and the options.
///
/// # Errors
/// Data that JSON cannot hold.
pub fn of(plan: &Plan) -> Result<Fingerprint, serde_json::Error> {
    let included = plan.subjects.iter().filter(|subject| subject.left_out.is_none());
    let subjects: Vec<String> = included.map(of_subject).collect();
    let start = match &plan.start {
        StartFrom::Images(files) => of_words(files.iter().map(|file| file.sha256.as_str())),
        StartFrom::Subject(_) | StartFrom::AverageOnto(_) => of_data(&plan.start)?,
    };
    let channels = &plan.recipe.syn.channels;
    let weights: Vec<f64> = channels.iter().map(|channel| channel.weight).collect();
    // In the plan of a template, the digest "way to register" covers the options of registration, but only those of the
    // first channel, with weight 1. Another digest, "choice of channels", covers the number and the weights of the
    // channels.
    let metric = channels.iter().take(1).map(|first| Channel { weight: 1.0, ..*first }).collect();
    let syn = antsreg_register::syn::Options { channels: metric, ..plan.recipe.syn.clone() };
    Ok(BTreeMap::from([
        ("version".into(), plan.version.clone()),
        ("set of subjects".into(), of_words(subjects.iter().map(String::as_str))),
        ("choice of channels".into(), of_data(&(&plan.channels, weights))?),
        ("start".into(), start),
        ("way to update the template".into(), of_data(&TemplateOptions { passes: 0, ..plan.options.clone() })?),
        ("way to register".into(), of_data(&Recipe { syn, ..plan.recipe.clone() })?),
    ]))
}

/// One digest of a plan's fingerprint. A fingerprint holds digests of all data that the results depend on; the one
/// digest covers all of them and their names.
pub fn digest(fingerprint: &Fingerprint) -> String {
    of_words(fingerprint.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]))
}

/// The names of the digests that differ between the fingerprints of two plans. A fingerprint holds digests of all data
/// that the results depend on.
pub fn differing(one: &Fingerprint, other: &Fingerprint) -> Vec<String> {
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
