//! The sides of a registration: a side is the fixed or the moving image with its channels and masks.

use std::iter::once;
use std::sync::Arc;

use antsreg_core::{Grid, Volume};
use antsreg_kernels::Backend;
use antsreg_syn as syn;

use crate::{Device, Error, Image};

/// One of the two sides of a registration. The fixed side is the fixed image with its masks and with the images of all
/// other channels. The moving side is the same for the moving image.
#[derive(Debug, Clone)]
pub struct Side {
    /// The image that linear stages align; for deformable stages, the first channel. Results on this side (fixed or
    /// moving) of the registration lie on the grid of this image.
    pub image: Image,
    /// The second and later channels of deformable stages: images of the same subject, aligned with the first image in
    /// world space. Each of these images may have its own grid.
    pub channels: Vec<Image>,
    /// The mask of this side (fixed or moving), on the grid of its first image.
    pub mask: Mask,
    /// The white matter of a fixed side, for boundary-based registration: the voxels above 0.5. It may have any grid,
    /// in the same world space as `image`.
    pub white_matter: Option<Arc<Volume>>,
    /// Damaged tissue without a counterpart in the other image, on the grid of `image`: the voxels above 0.5. No stage
    /// compares these voxels, whatever the mask says, and the warp is carried in smoothly from the surrounding tissue.
    pub lesion: Option<Arc<Volume>>,
}

/// The mask of a side. Linear stages use its values (0 or more) as weights of the voxels; deformable stages use the
/// voxels above 0.5.
#[derive(Debug, Clone, Default)]
pub enum Mask {
    /// No mask: all voxels are used.
    #[default]
    None,
    /// One mask for all stages.
    All(Arc<Volume>),
    /// One mask for each stage, in the order of the stages; `None` for stages that use all voxels.
    PerStage(Vec<Option<Arc<Volume>>>),
}

impl Mask {
    /// The mask of the stage with this number, counted from 0.
    pub fn of_stage(&self, stage: usize) -> Option<&Arc<Volume>> {
        match self {
            Mask::None => None,
            Mask::All(mask) => Some(mask),
            Mask::PerStage(masks) => masks.get(stage)?.as_ref(),
        }
    }

    /// Whether any stage of the registration has a mask for this image.
    pub fn is_some(&self) -> bool {
        match self {
            Mask::None => false,
            Mask::All(_) => true,
            Mask::PerStage(masks) => masks.iter().any(Option::is_some),
        }
    }
}

impl Side {
    /// Makes a side (fixed or moving) of one image, without other channels and without a mask.
    pub fn new(image: impl Into<Image>) -> Side {
        Side { image: image.into(), channels: Vec::new(), mask: Mask::None, white_matter: None, lesion: None }
    }

    /// Returns this side (fixed or moving) with one mask for all stages.
    pub fn with_mask(self, mask: impl Into<Arc<Volume>>) -> Side {
        Side { mask: Mask::All(mask.into()), ..self }
    }

    /// Returns this side (the fixed side) with the given white-matter segmentation.
    pub fn with_white_matter(self, white_matter: impl Into<Arc<Volume>>) -> Side {
        Side { white_matter: Some(white_matter.into()), ..self }
    }

    /// Returns this side (fixed or moving) with a lesion, on the grid of its image.
    pub fn with_lesion(self, lesion: impl Into<Arc<Volume>>) -> Side {
        Side { lesion: Some(lesion.into()), ..self }
    }

    /// Whether any stage leaves out voxels of this side (fixed or moving), by a mask or as a lesion.
    pub fn is_masked(&self) -> bool {
        self.mask.is_some() || self.lesion.is_some()
    }

    /// Returns this side (fixed or moving) with its images on a device. The images are uploaded once, not again by each
    /// stage; see [`Image::on`].
    ///
    /// # Errors
    /// Voxels that are not finite; a device that fails.
    pub fn on(&self, device: &Device) -> Result<Side, Error> {
        let channels = self.channels.iter().map(|image| image.on(device)).collect::<Result<_, _>>()?;
        Ok(Side { image: self.image.on(device)?, channels, ..self.clone() })
    }

    /// The grid of the first image of this side (fixed or moving).
    pub fn grid(&self) -> &Grid {
        self.image.grid()
    }

    /// Grids of the images of this side (fixed or moving) except its first image.
    pub fn channel_grids(&self) -> Vec<&Grid> {
        self.channels.iter().map(Image::grid).collect()
    }

    /// An image of this side (fixed or moving): 0 is the first one, n the n-th channel.
    pub(crate) fn pair(&self, number: usize) -> Option<&Image> {
        match number.checked_sub(1) {
            None => Some(&self.image),
            Some(channel) => self.channels.get(channel),
        }
    }

    /// The images of this side (fixed or moving) for a deformable stage: those with these numbers, or all.
    ///
    /// # Errors
    /// A device that fails.
    pub(crate) fn images<B: Backend>(
        &self,
        backend: &B,
        stage: usize,
        numbers: Option<&[usize]>,
    ) -> Result<syn::Images<'_, B::Image>, Error> {
        let images: Vec<&Image> = match numbers {
            Some(numbers) => numbers.iter().filter_map(|number| self.pair(*number)).collect(),
            None => once(&self.image).chain(&self.channels).collect(),
        };
        let channels = images.into_iter().map(|image| image.input(backend));
        let mask = self.mask.of_stage(stage).map(Arc::as_ref);
        let lesion = self.lesion.as_deref();
        Ok(syn::Images { channels: channels.collect::<Result<_, _>>()?, copy: None, mask, lesion })
    }
}

impl<I: Into<Image>> From<I> for Side {
    fn from(image: I) -> Side {
        Side::new(image)
    }
}
