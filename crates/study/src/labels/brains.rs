//! Brains in the place of heads, where a target or an atlas has its skull and another one has none.

use std::path::Path;

use antsreg_register::Side;

use super::load::{LoadedAtlas, usable};
use super::progress::LabelsProgress;
use super::propagate::{Propagation, Target};
use crate::Error;
use crate::skulls::{BrainChoice, Candidate, Role, Skull};

/// An image of a labelling, whose brain may be extracted.
pub(super) struct Head<'a> {
    /// Name of the target or the atlas.
    pub name: &'a str,
    /// Path of the image.
    pub path: &'a Path,
    /// The role of the image in the registrations.
    role: Role,
    /// The side, whose image is replaced.
    pub side: &'a mut Side,
    /// Gets the whole head.
    pub skull: &'a mut Option<Skull>,
}

/// Extracts the brains of a target and of its atlases where the choice of the options says so. An atlas whose brain cannot be
/// found is left out or an error, as one of the `of` atlases that cannot be read.
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

/// Extracts the brains of atlases that are registered to each other; otherwise as [`of_target`].
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

/// Each atlas, or the error of its brain.
fn with_errors(
    atlases: Vec<LoadedAtlas>,
    extracted: impl IntoIterator<Item = Result<(), Error>>,
) -> Vec<Result<LoadedAtlas, Error>> {
    let pairs = atlases.into_iter().zip(extracted);
    pairs.map(|(atlas, found)| found.map_err(|error| error.of_atlas(&atlas.name)).map(|()| atlas)).collect()
}

/// Extracts the brains that are wanted. Gives whether it worked for each head.
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
