//! Chooses the images whose brain is extracted and registered instead of the whole head, in a pair or a group of
//! images. HTML pages and written images show the whole head.

use std::path::Path;
use std::sync::Arc;

use antsreg_core::{Grid, TransformChain, Volume};
use antsreg_heads::brain::{BrainWarning, Kind, Template, kind, without_skull};
use antsreg_kernels::apply;
use antsreg_pool::Worker;
use antsreg_register::verdict::Verdict;
use antsreg_register::{Device, Grids, Options, Progress, Side};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::brain::BrainRecord;
use crate::{Error, brain, inputs};

/// Images whose brain is extracted before they are registered. Images with a mask, and images that show a brain
/// alone, stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum BrainChoice {
    /// Extract the brain of each head without a mask, if another image has no skull
    #[default]
    Auto,
    /// Extract no brain: images are registered as they are
    None,
    /// Extract the brain of the fixed image
    Fixed,
    /// Extract the brain of the moving image
    Moving,
    /// Extract the brains of both images
    Both,
}

/// The role of an image in the registrations among a group of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An image to which other images of the group are registered.
    Fixed,
    /// An image that is registered to other images of the group.
    Moving,
    /// An image that is the fixed image of some registrations, and the moving image of others.
    Either,
}

/// An image of a group of images that are registered to each other, and whose brain may be extracted.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Role of the image in the registrations: always fixed, always moving, or fixed in some and moving in others.
    pub role: Role,
    /// The image.
    pub image: &'a Volume,
    /// Whether the image has a mask, so that its brain is not extracted.
    pub masked: bool,
}

/// Volume and quality measures of a brain that was extracted from an image, as in JSON records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtractedRecord {
    /// Volume of the brain, cm³.
    pub volume_cm3: f64,
    /// Contrast and quality measures of the brain extraction.
    #[serde(flatten)]
    pub found: BrainRecord,
    /// Warnings about the brain mask, as sentences.
    #[serde(alias = "doubts")]
    pub warnings: Vec<String>,
    /// The verdict on the brain mask; `None` in records of earlier versions.
    #[serde(default)]
    pub verdict: Option<Verdict>,
}

/// A head whose extracted brain is registered instead of the whole head: the image of the whole head and the brain
/// mask.
#[derive(Debug, Clone)]
pub struct Skull {
    /// The image of the whole head, from which the brain was extracted, on its own grid.
    pub head: Arc<Volume>,
    /// The brain mask on the grid of the head: 1 in the brain, else 0.
    pub mask: Arc<Volume>,
    /// Volume and quality measures of the extracted brain.
    pub record: ExtractedRecord,
}

impl BrainChoice {
    /// Whether this choice of the images whose brain is extracted is the default, `auto`.
    pub fn is_auto(&self) -> bool {
        *self == BrainChoice::Auto
    }

    /// For each image of a group, whether its brain is extracted. [`Auto`](BrainChoice::Auto) extracts the brains of
    /// all heads, if another image of the group shows a brain without a skull.
    pub fn of_group(self, images: &[Candidate]) -> Vec<bool> {
        let asked = |role| match self {
            BrainChoice::None => false,
            BrainChoice::Auto | BrainChoice::Both => true,
            BrainChoice::Fixed => role != Role::Moving,
            BrainChoice::Moving => role != Role::Fixed,
        };
        let kind_of = |of: &Candidate| (!of.masked && asked(of.role)).then(|| kind(of.image));
        let kinds: Vec<Option<Kind>> = images.par_iter().map(kind_of).collect();
        if self != BrainChoice::Auto {
            return kinds.into_iter().map(|kind| kind.is_some_and(|kind| kind != Kind::Brain)).collect();
        }
        let beside_a_brain = kinds.contains(&Some(Kind::Brain));
        kinds.into_iter().map(|kind| beside_a_brain && kind == Some(Kind::Head)).collect()
    }

    /// Whether the brain of the fixed image, and whether the brain of the moving image, is extracted.
    ///
    /// # Errors
    /// A device that fails while an image is copied from the device.
    pub fn sides(self, [fixed, moving]: [&Side; 2]) -> Result<[bool; 2], Error> {
        let chosen = self.of_group(&[Candidate::of(Role::Fixed, fixed)?, Candidate::of(Role::Moving, moving)?]);
        Ok([chosen[0], chosen[1]])
    }
}

impl<'a> Candidate<'a> {
    /// Describes the first fixed or the first moving image of a registration, to decide whether its brain is extracted.
    ///
    /// # Errors
    /// A device that fails while an image is copied from the device.
    pub fn of(role: Role, side: &'a Side) -> Result<Candidate<'a>, Error> {
        Ok(Candidate { role, image: side.image.volume()?, masked: side.mask.is_some() })
    }
}

impl Skull {
    /// Extracts the brain from the fixed or the moving image, sets the images of all channels of this side to 0 outside
    /// the brain, and returns the whole head with the brain mask. `name` is the name of the image in messages. The brain
    /// is found in the image without its lesion, whose intensities would mislead the search.
    ///
    /// # Errors
    /// A head whose brain cannot be found, or is mostly lesion; a registration that was stopped.
    pub fn remove(
        name: &Path,
        side: &mut Side,
        template: &Template,
        device: &Device,
        progress: &mut dyn Progress,
    ) -> Result<Skull, Error> {
        let head = side.image.volume()?.clone();
        let found = {
            let compared = side.compared()?;
            brain::find(name, compared.image.volume()?, template, device.clone(), progress)?
        };
        if let Some(lesion) = &side.lesion {
            inputs::check_lesion(lesion, name, name, |n| found.mask.voxels[n] > 0.5)?;
        }
        let unmoved = TransformChain::new();
        side.image = without_skull(&head, &found.mask).into();
        for channel in &mut side.channels {
            let volume = channel.volume()?;
            let mask = apply::resample(&found.mask, &volume.grid, &unmoved, apply::Interpolation::Linear, 0.0);
            *channel = without_skull(volume, &mask).into();
        }
        Ok(Skull { head, record: ExtractedRecord::from(&found), mask: Arc::new(found.mask) })
    }

    /// Extracts the brain from the image of a head as [`remove`](Skull::remove) does, on the device of a worker that
    /// registers with `options`.
    ///
    /// # Errors
    /// The errors of [`remove`](Skull::remove); a GPU with too little memory.
    pub fn remove_on(worker: &mut Worker, options: &Options, name: &Path, side: &mut Side) -> Result<Skull, Error> {
        let template = brain::built_in_template(None)?;
        let bytes = options.device_bytes(&Grids::of([&Side::new(template.head().clone()), side]));
        worker.with_device(bytes, |device| Skull::remove(name, side, &template, device, &mut ()))
    }

    /// Resamples the whole head through a chain of transforms onto a grid.
    pub fn resampled(
        &self,
        onto: &Grid,
        chain: &TransformChain,
        interpolation: antsreg_register::Interpolation,
    ) -> Volume {
        apply::resample(&self.head, onto, chain, interpolation.into(), 0.0)
    }
}

impl From<&antsreg_heads::brain::Extraction> for ExtractedRecord {
    fn from(found: &antsreg_heads::brain::Extraction) -> ExtractedRecord {
        ExtractedRecord {
            volume_cm3: found.volume_cm3,
            found: BrainRecord::from(found),
            warnings: found.warnings.iter().map(BrainWarning::to_string).collect(),
            verdict: Some(found.verdict()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test image: a ball of the radius `radius_mm` in a cube of 200 mm, with a constant background.
    fn ball(radius_mm: f64) -> Volume {
        const SPACING: f64 = 4.0;
        let grid = Grid::axis_aligned([50; 3], [SPACING; 3]);
        let from_middle = |n: usize| (n as f64 - 24.5) * SPACING;
        let inside = (0..grid.len()).map(|n| {
            let at = [n % 50, n / 50 % 50, n / 2500].map(from_middle);
            at.iter().map(|mm| mm * mm).sum::<f64>() < radius_mm * radius_mm
        });
        Volume { voxels: inside.map(|inside| if inside { 100.0 } else { 0.0 }).collect(), grid }
    }

    #[test]
    fn heads_beside_brains_are_extracted_and_nothing_else() {
        let [head, brain] = [ball(90.0), ball(70.0)];
        let [fixed, moving] = [Role::Fixed, Role::Moving];
        let of = |choice: BrainChoice, images: &[(Role, &Volume, bool)]| {
            let candidate = |&(role, image, masked): &(_, _, _)| Candidate { role, image, masked };
            choice.of_group(&images.iter().map(candidate).collect::<Vec<_>>())
        };
        let auto = |images: &[(Role, &Volume, bool)]| of(BrainChoice::Auto, images);
        assert_eq!(auto(&[(fixed, &head, false), (moving, &brain, false)]), [true, false]);
        assert_eq!(auto(&[(fixed, &brain, false), (moving, &head, false)]), [false, true]);
        assert_eq!(auto(&[(fixed, &head, false), (moving, &head, false)]), [false, false]);
        assert_eq!(auto(&[(fixed, &brain, false), (moving, &brain, false)]), [false, false]);
        // If one image of the group has no skull, the brains of all heads in the group are extracted. No brain is
        // extracted from images with a mask.
        let several = [(fixed, &head, false), (moving, &head, false), (moving, &brain, false), (moving, &head, true)];
        assert_eq!(auto(&several), [true, true, false, false]);
        assert_eq!(auto(&several[..2]), [false, false]);
        assert_eq!(auto(&[(fixed, &brain, true), (moving, &head, false)]), [false, false]);
        assert_eq!(of(BrainChoice::None, &several), [false; 4]);
        assert_eq!(of(BrainChoice::Fixed, &several), [true, false, false, false]);
        assert_eq!(of(BrainChoice::Moving, &several), [false, true, false, false]);
        assert_eq!(of(BrainChoice::Both, &several), [true, true, false, false]);
        assert_eq!(of(BrainChoice::Fixed, &[(Role::Either, &head, false)]), [true]);
        assert_eq!(of(BrainChoice::Moving, &[(Role::Either, &head, false)]), [true]);
    }
}
