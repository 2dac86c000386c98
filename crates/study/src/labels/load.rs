//! Reads atlases, and leaves out those that cannot be used.

use std::path::PathBuf;
use std::sync::Arc;

use antsreg_core::LabelVolume;
use antsreg_register::{Mask, Side};
use rayon::prelude::*;

use super::atlas::Atlas;
use super::error::AtlasesError;
use super::progress::LabelsProgress;
use crate::skulls::Skull;
use crate::{Error, inputs};

/// An atlas whose files have been read.
#[derive(Debug)]
pub(super) struct LoadedAtlas {
    /// Name of the atlas.
    pub name: String,
    /// Path of the atlas's image.
    pub path: PathBuf,
    /// The image, with the mask if the atlas has a mask.
    pub side: Side,
    /// The whole head, if its extracted brain is registered instead.
    pub skull: Option<Skull>,
    /// Labels of the atlas, on the grid of the image.
    pub labels: LabelVolume,
}

impl LoadedAtlas {
    /// Reads image, labels and mask of an atlas.
    fn read(atlas: &Atlas) -> Result<LoadedAtlas, Error> {
        let read = || {
            let (image, labels) = inputs::image_and_labels(&atlas.image, &atlas.labels)?;
            let mask = atlas.mask.as_deref().map(|mask| inputs::mask(mask, &atlas.image, &image.grid)).transpose()?;
            let mask = mask.map_or(Mask::None, |mask| Mask::All(Arc::new(mask)));
            let side = Side { mask, ..Side::new(image) };
            Ok(LoadedAtlas { name: atlas.name.clone(), path: atlas.image.clone(), side, skull: None, labels })
        };
        read().map_err(|error: Error| error.of_atlas(&atlas.name))
    }
}

/// Reads all atlases. The result of an atlas that cannot be read is its error.
pub(super) fn load(atlases: &[Atlas]) -> Vec<Result<LoadedAtlas, Error>> {
    atlases.par_iter().map(LoadedAtlas::read).collect()
}

/// Returns the results of the atlases that succeeded; `of` is the number of atlases given. With `keep_going`, failed
/// atlases are left out.
///
/// # Errors
/// The first failure, without `keep_going`; no result at all.
pub(super) fn usable<T>(
    results: Vec<Result<T, Error>>,
    of: usize,
    keep_going: bool,
    progress: &dyn LabelsProgress,
) -> Result<Vec<T>, Error> {
    let mut good = Vec::with_capacity(results.len());
    for result in results {
        match result {
            Ok(value) => good.push(value),
            Err(error) if keep_going => progress.left_out(&error),
            Err(error) => return Err(error),
        }
    }
    if good.is_empty() { Err(AtlasesError::NoneLeft { of }.into()) } else { Ok(good) }
}
