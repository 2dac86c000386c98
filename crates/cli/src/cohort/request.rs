//! One registration: what is asked for.

use std::sync::Arc;

use antsreg_core::{AffineTransform, Volume};
use antsreg_linear as linear;
use antsreg_syn as syn;

use crate::register::{Wanted, memory};

/// One registration.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The image that stays. What is prepared of it serves every request that shares it.
    pub fixed: &'a Arc<Volume>,
    /// Further images of the same space, for the diffeomorphic stage.
    pub fixed_channels: &'a [Arc<Volume>],
    /// Its voxels that count.
    pub fixed_mask: Option<&'a Arc<Volume>>,
    /// The image that is brought to it.
    pub moving: &'a Volume,
    /// Further images of its space, as many.
    pub moving_channels: &'a [&'a Volume],
    /// Its voxels that count.
    pub moving_mask: Option<&'a Volume>,
    /// Start of the diffeomorphic stage where there is no affine one, fixed → moving, RAS mm.
    pub initial: AffineTransform,
    /// Parameters of the affine stage, unless left out.
    pub linear: Option<&'a linear::Options>,
    /// Parameters of the diffeomorphic stage, unless left out.
    pub syn: Option<&'a syn::Options>,
    /// What is wanted of it; images where a GPU registers only.
    pub wanted: Wanted,
}

impl Request<'_> {
    /// Memory of a GPU that it takes while it runs.
    pub fn bytes(&self) -> u64 {
        let masked = [self.fixed_mask.is_some(), self.moving_mask.is_some()];
        let grids = [&self.fixed.grid, &self.moving.grid];
        let stages = self.channels() * memory::on_device(grids, masked, self.linear, self.syn) as u64;
        let images =
            |wanted| memory::images_on_device(grids, self.fixed_mask.is_some(), self.syn.is_some(), wanted) as u64;
        stages.max(self.wanted.images.map_or(0, images))
    }

    /// Memory of a GPU that its fixed side keeps afterwards.
    pub fn prepared_bytes(&self) -> u64 {
        let masked = self.fixed_mask.is_some();
        self.channels() * memory::prepared_on_device(&self.fixed.grid, masked, self.linear, self.syn) as u64
    }

    /// Each takes at most as much memory again as one.
    fn channels(&self) -> u64 {
        1 + self.fixed_channels.len() as u64
    }
}
