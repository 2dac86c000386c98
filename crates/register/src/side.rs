//! One side of a registration: an image, its channels, and where its voxels count.

use std::iter::once;
use std::sync::Arc;

use antsreg_core::{Grid, Volume};
use antsreg_syn as syn;

/// The fixed or the moving side of a registration.
#[derive(Debug, Clone)]
pub struct Side {
    /// The image that linear stages align, and the first channel of deformable stages. Its grid is the side's grid.
    pub image: Arc<Volume>,
    /// Further images of the same person, aligned with the first one in world space: channels of deformable stages. Each
    /// may have a grid of its own.
    pub channels: Vec<Arc<Volume>>,
    /// The voxels that count, on the grid of `image`: above 0.5.
    pub mask: Mask,
}

/// The voxels of a side that count: for linear stages a weight (0 or more), for deformable stages those above 0.5.
#[derive(Debug, Clone, Default)]
pub enum Mask {
    /// All voxels count.
    #[default]
    None,
    /// One mask for all stages.
    All(Arc<Volume>),
    /// A mask for each stage, in the order of the stages; `None` where all voxels count.
    PerStage(Vec<Option<Arc<Volume>>>),
}

impl Mask {
    /// The mask of the stage of this number, counted from 0.
    pub fn of_stage(&self, stage: usize) -> Option<&Arc<Volume>> {
        match self {
            Mask::None => None,
            Mask::All(mask) => Some(mask),
            Mask::PerStage(masks) => masks.get(stage)?.as_ref(),
        }
    }

    /// Whether any stage has a mask.
    pub fn is_some(&self) -> bool {
        match self {
            Mask::None => false,
            Mask::All(_) => true,
            Mask::PerStage(masks) => masks.iter().any(Option::is_some),
        }
    }
}

impl Side {
    /// An image alone: one channel, no mask.
    pub fn new(image: impl Into<Arc<Volume>>) -> Side {
        Side { image: image.into(), channels: Vec::new(), mask: Mask::None }
    }

    /// The same image with a mask for all stages.
    pub fn with_mask(self, mask: impl Into<Arc<Volume>>) -> Side {
        Side { mask: Mask::All(mask.into()), ..self }
    }

    /// The grid of the first image.
    pub fn grid(&self) -> &Grid {
        &self.image.grid
    }

    /// Grids of the further channels.
    pub fn channel_grids(&self) -> Vec<&Grid> {
        self.channels.iter().map(|image| &image.grid).collect()
    }

    /// What a deformable stage reads of this side.
    pub(crate) fn images(&self, stage: usize) -> syn::Images<'_> {
        syn::Images {
            channels: once(&self.image).chain(&self.channels).map(Arc::as_ref).collect(),
            mask: self.mask.of_stage(stage).map(Arc::as_ref),
        }
    }
}

impl From<Volume> for Side {
    fn from(image: Volume) -> Side {
        Side::new(image)
    }
}
