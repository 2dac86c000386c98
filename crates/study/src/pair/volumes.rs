//! Inputs of a registration that are in memory already. They are checked in the same way as inputs from files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use antsreg_register::linear::Start;
use antsreg_register::{Image, Mask, Side};

use super::StartFile;
use super::inputs::{FixedInputs, Inputs, check_aligned, check_in_plane};
use crate::{Error, inputs};

/// An image with its name in messages and records: the path of its file, or words such as "the fixed image".
#[derive(Debug, Clone)]
pub struct Named {
    /// Name of the image in messages and records.
    pub name: PathBuf,
    /// The image.
    pub image: Image,
    /// Whether the image may be a label map or a mask.
    pub accepts_labels: bool,
}

/// The masks of the fixed or of the moving image of a registration. Voxels above 0.5 are used.
#[derive(Debug, Clone)]
pub enum Masks {
    /// No mask: the registration uses all voxels.
    None,
    /// One mask for all stages of the registration.
    All(Named),
    /// A mask for each stage of the registration, in the order of the stages; `None` if a stage uses all voxels.
    PerStage(Vec<Option<Named>>),
}

/// The volumes of the fixed or of the moving side of a registration: an image for each channel, and masks.
#[derive(Debug, Clone)]
pub struct SideVolumes {
    /// The first image: linear stages use only this image, and deformable stages use it as their first channel.
    pub image: Named,
    /// Images of the second and later channels of deformable stages: of the same person, aligned with the first image.
    pub channels: Vec<Named>,
    /// Masks of the first channel's image: the voxels that the registration uses.
    pub masks: Masks,
    /// Masks of lesions in the first channel's image, which the registration does not compare.
    pub lesions: Vec<Named>,
}

impl SideVolumes {
    /// Checks the volumes and makes the fixed or the moving side of the registration from them. Images must have
    /// contrast, images of other channels must overlap with the first image, and masks and lesions must lie on the grid of
    /// the first image.
    ///
    /// # Errors
    /// The error of the first volume that fails a check, with the name of the volume.
    pub fn check(&self) -> Result<Side, Error> {
        let Named { name, image, .. } = &self.image;
        self.image.check_contrast()?;
        for channel in &self.channels {
            channel.check_contrast()?;
            check_aligned([&channel.name, name], [channel.image.grid(), image.grid()])?;
        }
        let on_grid = |mask: &Named| {
            let volume = mask.image.volume()?.as_ref().clone();
            inputs::as_mask(volume, &mask.name, name, image.grid()).map(Arc::new)
        };
        let mask = match &self.masks {
            Masks::None => Mask::None,
            Masks::All(mask) => Mask::All(on_grid(mask)?),
            Masks::PerStage(masks) => {
                let masks = masks.iter().map(|mask| mask.as_ref().map(on_grid).transpose());
                Mask::PerStage(masks.collect::<Result<_, _>>()?)
            }
        };
        let lesion = |lesion: &Named| Ok((lesion.name.clone(), lesion.image.volume()?.as_ref().clone()));
        let lesions = self.lesions.iter().map(lesion).collect::<Result<Vec<_>, Error>>()?;
        let lesion = match lesions.is_empty() {
            true => None,
            false => inputs::as_lesion(lesions, name, image.volume()?)?,
        };
        Ok(Side {
            image: image.clone(),
            channels: self.channels.iter().map(|channel| channel.image.clone()).collect(),
            mask,
            white_matter: None,
            lesion,
        })
    }
}

impl Named {
    /// Checks that the image has contrast and intensities in the allowed range, and is no label map.
    fn check_contrast(&self) -> Result<(), Error> {
        match self.image.range() {
            Some((least, most)) => inputs::check_range(least, most, &self.name)?,
            None => inputs::check_contrast(self.image.volume()?, &self.name)?,
        }
        // Label maps have whole numbers: images on a device with other numbers need not be copied from there.
        let whole = |(least, most): (f32, f32)| least.fract() == 0.0 && most.fract() == 0.0;
        match self.accepts_labels || !self.image.range().is_none_or(whole) {
            true => Ok(()),
            false => inputs::check_no_labels(self.image.volume()?, &self.name),
        }
    }
}

impl FixedInputs {
    /// Creates the fixed inputs of registrations from checked fixed images with their mask, and an initial transform.
    /// `start_file` describes the initial transform in messages and records. The identities (size, time, inode) of the
    /// input files are not recorded.
    pub fn of_side(side: Side, start: Start, start_file: StartFile) -> FixedInputs {
        FixedInputs {
            side,
            labels: None,
            label_list: None,
            start,
            start_file,
            identities: Vec::new(),
            drawn: Arc::default(),
        }
    }
}

impl Inputs {
    /// Creates the inputs of a registration from checked fixed and moving images with their masks. `names` are the
    /// names of the images; `start_file` describes the initial transform in messages and records. The identities (size,
    /// time, inode) of the input files are not recorded.
    ///
    /// # Errors
    /// One image is a slice and the other is a volume; the initial transform would move slices out of their plane.
    pub fn of_sides(
        [fixed, moving]: [Side; 2],
        names: [&Path; 2],
        start: Start,
        start_file: StartFile,
    ) -> Result<Inputs, Error> {
        let grids = [fixed.grid(), moving.grid()];
        inputs::check_alike(names, grids)?;
        check_in_plane(&start_file, &start, grids)?;
        let fixed = FixedInputs::of_side(fixed, start, start_file);
        Ok(Inputs {
            fixed,
            moving,
            moving_labels: None,
            skulls: [None, None],
            white_matter: None,
            warnings: Vec::new(),
            identities: Vec::new(),
        })
    }
}
