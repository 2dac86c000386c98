//! A head beside a brain: the brain of the head is extracted, registered in its place, and the whole head is shown.

use std::path::Path;
use std::sync::Arc;

use antsreg_core::{Grid, TransformChain, Volume};
use antsreg_heads::brain::{Doubt, Kind, Template, kind, without_skull};
use antsreg_kernels::apply;
use antsreg_pool::Worker;
use antsreg_register::{Device, Grids, Options, Progress, Side};
use serde::{Deserialize, Serialize};

use super::files::PairFiles;
use super::head::BrainRecord;
use super::inputs::Inputs;
use crate::{Error, brain};

/// Of which sides the brain is extracted before they are registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum BrainChoice {
    /// Of a head beside a brain, unless a mask says what counts
    #[default]
    Auto,
    /// Of none: images are registered as they are
    None,
    /// Of the fixed image
    Fixed,
    /// Of the moving image
    Moving,
    /// Of both images
    Both,
}

/// The brain that was extracted of a side, for records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtractedRecord {
    /// Its volume, cm³.
    pub volume_cm3: f64,
    /// How it was found.
    #[serde(flatten)]
    pub found: BrainRecord,
    /// Doubts about the mask, in words.
    pub doubts: Vec<String>,
}

/// A side whose brain was extracted.
#[derive(Debug, Clone)]
pub struct Skull {
    /// The whole head, on the grid of the side.
    pub head: Arc<Volume>,
    /// Its brain.
    pub record: ExtractedRecord,
}

impl BrainChoice {
    /// Whether the brains of the fixed and of the moving side are extracted. A side whose image shows a brain alone is left as
    /// it is.
    ///
    /// # Errors
    /// An image on a device that fails.
    pub fn sides(self, sides: [&Side; 2]) -> Result<[bool; 2], Error> {
        let asked = match self {
            BrainChoice::None => return Ok([false; 2]),
            BrainChoice::Auto if sides.iter().any(|side| side.mask.is_some() || side.grid().is_slice()) => {
                return Ok([false; 2]);
            }
            BrainChoice::Auto => None,
            BrainChoice::Fixed => Some([true, false]),
            BrainChoice::Moving => Some([false, true]),
            BrainChoice::Both => Some([true; 2]),
        };
        let kinds = [kind(sides[0].image.volume()?), kind(sides[1].image.volume()?)];
        Ok(match (asked, kinds) {
            (Some(asked), _) => [0, 1].map(|n| asked[n] && kinds[n] != Kind::Brain),
            (None, [Kind::Head, Kind::Brain]) => [true, false],
            (None, [Kind::Brain, Kind::Head]) => [false, true],
            (None, _) => [false; 2],
        })
    }
}

impl Inputs {
    /// Extracts the brains of the sides that `files.brain` says, and leaves the heads to be shown.
    ///
    /// # Errors
    /// A head whose brain cannot be found; a registration that was stopped.
    pub fn extract_brains(
        &mut self,
        files: &PairFiles,
        device: &Device,
        progress: &mut dyn Progress,
    ) -> Result<(), Error> {
        let wanted = files.brain.sides(self.sides())?;
        if wanted == [false; 2] {
            return Ok(());
        }
        let template = brain::built_in_template(None)?;
        let sides = [&mut self.fixed.side, &mut self.moving];
        for (n, (side, path)) in sides.into_iter().zip([&files.fixed, &files.moving]).enumerate() {
            if wanted[n] {
                self.skulls[n] = Some(extract(path, side, &template, device, progress)?);
            }
        }
        Ok(())
    }

    /// Extracts the brain of the moving side, if `files.brain` says so, on the device of a worker; the fixed side stays as it was
    /// prepared for all registrations to it.
    ///
    /// # Errors
    /// Those of [`extract_brains`](Inputs::extract_brains); a GPU with too little memory.
    pub fn extract_moving_brain(
        &mut self,
        files: &PairFiles,
        worker: &mut Worker,
        options: &Options,
    ) -> Result<(), Error> {
        let [_, wanted] = files.brain.sides(self.sides())?;
        if wanted {
            let template = brain::built_in_template(None)?;
            let side = Side::new(template.head().clone());
            let bytes = options.device_bytes(&Grids::of([&side, &self.moving]));
            let extracted = worker
                .with_device(bytes, |device| extract(&files.moving, &mut self.moving, &template, device, &mut ()))?;
            self.skulls[1] = Some(extracted);
        }
        Ok(())
    }

    /// The image that is shown of a side, 0 for the fixed one: the whole head where its brain was registered.
    ///
    /// # Errors
    /// An image on a device that fails.
    pub fn shown(&self, side: usize) -> Result<&Arc<Volume>, Error> {
        match &self.skulls[side] {
            Some(skull) => Ok(&skull.head),
            None => Ok(self.sides()[side].image.volume()?),
        }
    }
}

/// Replaces the images of a side by its brain, and gives the whole head.
fn extract(
    path: &Path,
    side: &mut Side,
    template: &Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Skull, Error> {
    let head = side.image.volume()?.clone();
    let found = brain::find(path, &head, template, device, progress)?;
    let unmoved = TransformChain::new();
    side.image = without_skull(&head, &found.mask).into();
    for channel in &mut side.channels {
        let volume = channel.volume()?;
        let mask = apply::resample(&found.mask, &volume.grid, &unmoved, apply::Interpolation::Linear, 0.0);
        *channel = without_skull(volume, &mask).into();
    }
    let record = ExtractedRecord {
        volume_cm3: found.volume_cm3,
        found: BrainRecord::from(&found),
        doubts: found.doubts.iter().map(Doubt::to_string).collect(),
    };
    Ok(Skull { head, record })
}

/// A whole head through the chain of a result onto a grid, as the image of its brain was.
pub(super) fn resampled(
    skull: &Skull,
    onto: &Grid,
    chain: &TransformChain,
    interpolation: antsreg_register::Interpolation,
) -> Volume {
    apply::resample(&skull.head, onto, chain, interpolation.into(), 0.0)
}
