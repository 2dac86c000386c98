//! Extracts brains before a labelling, if some of its images (target and atlases) show the skull and others do not.

use std::path::Path;

use antsreg_register::Side;

use super::load::{LoadedAtlas, usable};
use super::progress::LabelsProgress;
use super::propagate::{Propagation, Target};
use crate::Error;
use crate::skulls::{BrainChoice, Candidate, Role, Skull};

/// The image of a target or an atlas, from which the brain may be extracted.
pub(super) struct Head<'a> {
    /// Name of the target or the atlas.
    pub name: &'a str,
    /// Path of the image.
    pub path: &'a Path,
    /// Role of the image in the registrations: always fixed, always moving, or fixed in some and moving in others.
    role: Role,
    /// The image with its mask; brain extraction replaces the image.
    pub side: &'a mut Side,
    /// Receives the image of the whole head when the brain has been extracted.
    pub skull: &'a mut Option<Skull>,
}

/// Extracts the brains of a target and of its atlases, as the brain choice of the options says. An atlas whose brain
/// cannot be found is an error, or is left out with `keep_going`. `of` is the number of atlases given.
///
/// # Errors
/// A target whose brain cannot be found; an atlas that cannot be used; no usable atlas.
pub(super) fn of_target(
    propagation: &mut Propagation,
    target: &mut Target,
    mut atlases: Vec<LoadedAtlas>,
    (of, keep_going): (usize, bool),
    progress: &dyn LabelsProgress,
) -> Result<Vec<LoadedAtlas>, Error> {
    let Target { name, path, side, skull } = target;
    let mut heads = vec![Head { name, path, role: Role::Fixed, side, skull }];
    heads.extend(atlases.iter_mut().map(|atlas| head(atlas, Role::Moving)));
    let mut extracted = extract(propagation, heads, progress)?.into_iter();
    extracted.next().unwrap_or(Ok(()))?;
    usable(with_errors(atlases, extracted), of, keep_going, progress)
}

/// Extracts the brains of atlases that are registered to each other. In all else it does what [`of_target`] does.
///
/// # Errors
/// An atlas that cannot be used; no usable atlas.
pub(super) fn of_atlases(
    propagation: &mut Propagation,
    mut atlases: Vec<LoadedAtlas>,
    (of, keep_going): (usize, bool),
    progress: &dyn LabelsProgress,
) -> Result<Vec<LoadedAtlas>, Error> {
    let heads = atlases.iter_mut().map(|atlas| head(atlas, Role::Either)).collect();
    let extracted = extract(propagation, heads, progress)?;
    usable(with_errors(atlases, extracted), of, keep_going, progress)
}

fn head(atlas: &mut LoadedAtlas, role: Role) -> Head<'_> {
    Head { name: &atlas.name, path: &atlas.path, role, side: &mut atlas.side, skull: &mut atlas.skull }
}

/// Pairs each atlas with the result of its brain extraction: the atlas, or the error.
fn with_errors(
    atlases: Vec<LoadedAtlas>,
    extracted: impl IntoIterator<Item = Result<(), Error>>,
) -> Vec<Result<LoadedAtlas, Error>> {
    let pairs = atlases.into_iter().zip(extracted);
    pairs.map(|(atlas, found)| found.map_err(|error| error.of_atlas(&atlas.name)).map(|()| atlas)).collect()
}

/// Extracts the brains of the images that the brain choice selects. Returns success or the error of each image.
fn extract(
    propagation: &mut Propagation,
    heads: Vec<Head>,
    progress: &dyn LabelsProgress,
) -> Result<Vec<Result<(), Error>>, Error> {
    let choice: BrainChoice = propagation.options().brain;
    let candidates =
        heads.iter().map(|head| Candidate::of(head.role, head.side)).collect::<Result<Vec<_>, Error>>()?;
    let wanted = choice.of_group(&candidates);
    let mut results: Vec<Result<(), Error>> = heads.iter().map(|_| Ok(())).collect();
    let jobs =
        heads.into_iter().enumerate().zip(wanted).filter_map(|(head, wanted)| wanted.then_some(head)).collect();
    propagation.extract_brains(jobs, |number, name, found| {
        results[number] = found.map(|brain| progress.brain(name, &brain));
    })?;
    Ok(results)
}
