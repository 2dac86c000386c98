//! Prepares images (target and atlases) on devices before a labelling: removes their shading, and extracts brains if
//! some of the images show the skull and others do not.

use super::load::{LoadedAtlas, usable};
use super::progress::LabelsProgress;
use super::propagate::{Head, Propagation, Target};
use crate::Error;
use crate::skulls::{BrainChoice, Candidate, Role};

/// Prepares a target and its atlases: removes the shading of the images and extracts the brains, each if the options
/// ask for it. An atlas that cannot be prepared is an error; with `keep_going` it is left out. `of` is the number of
/// atlases given.
///
/// # Errors
/// A target whose bias field or brain cannot be found; an atlas that cannot be used; no usable atlas.
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
    let mut extracted = prepare(propagation, heads, progress)?.into_iter();
    extracted.next().unwrap_or(Ok(()))?;
    usable(with_errors(atlases, extracted), of, keep_going, progress)
}

/// Prepares atlases that are registered to each other: removes the shading of the images and extracts the brains, each
/// if the options ask for it. [`of_target`] does the same for a target and its atlases.
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
    let extracted = prepare(propagation, heads, progress)?;
    usable(with_errors(atlases, extracted), of, keep_going, progress)
}

fn head(atlas: &mut LoadedAtlas, role: Role) -> Head<'_> {
    Head { name: &atlas.name, path: &atlas.path, role, side: &mut atlas.side, skull: &mut atlas.skull }
}

/// Returns for each atlas the atlas itself, or the error of preparing the atlas.
fn with_errors(
    atlases: Vec<LoadedAtlas>,
    extracted: impl IntoIterator<Item = Result<(), Error>>,
) -> Vec<Result<LoadedAtlas, Error>> {
    let pairs = atlases.into_iter().zip(extracted);
    pairs.map(|(atlas, found)| found.map_err(|error| error.of_atlas(&atlas.name)).map(|()| atlas)).collect()
}

/// Removes the shading of the images if the options say so, and extracts the brains of the images that the option for
/// brain extraction selects. Returns success or the error for each image.
fn prepare(
    propagation: &mut Propagation,
    mut heads: Vec<Head>,
    progress: &dyn LabelsProgress,
) -> Result<Vec<Result<(), Error>>, Error> {
    let choice: BrainChoice = propagation.options().brain;
    let mut results: Vec<Result<(), Error>> = heads.iter().map(|_| Ok(())).collect();
    if propagation.options().bias {
        propagation.remove_shading(&mut heads, |number, done| results[number] = done)?;
    }
    let candidates =
        heads.iter().map(|head| Candidate::of(head.role, head.side)).collect::<Result<Vec<_>, Error>>()?;
    let wanted = choice.of_group(&candidates);
    let good = |number: usize| results[number].is_ok();
    let heads = heads.into_iter().enumerate().zip(wanted);
    let jobs = heads.filter(|((number, _), wanted)| *wanted && good(*number)).map(|(head, _)| head).collect();
    propagation.extract_brains(jobs, |number, name, found| {
        results[number] = found.map(|brain| progress.brain(name, &brain));
    })?;
    Ok(results)
}
