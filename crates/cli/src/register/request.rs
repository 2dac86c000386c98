//! What a device is asked for: one registration, and the memory that it takes there.

use std::iter::once;
use std::sync::Arc;

use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_linear as linear;
use antsreg_syn as syn;

use super::found::Wanted;
use super::images::Pair;
use super::{device_memory, memory};

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
    pub moving_channels: &'a [Volume],
    /// Its voxels that count.
    pub moving_mask: Option<&'a Volume>,
    /// Start of the diffeomorphic stage where there is no affine one, fixed → moving, RAS mm.
    pub initial: AffineTransform,
    /// Start of the affine stage.
    pub start: linear::Start,
    /// Parameters of the affine stage, unless left out.
    pub linear: Option<&'a linear::Options>,
    /// Parameters of the diffeomorphic stage, unless left out.
    pub syn: Option<&'a syn::Options>,
    /// What is wanted of it.
    pub wanted: Wanted,
}

impl<'a> Request<'a> {
    /// All images of the fixed side and their mask.
    pub fn fixed_images(&self) -> syn::Images<'a> {
        let channels = once(self.fixed).chain(self.fixed_channels).map(Arc::as_ref).collect();
        syn::Images { channels, mask: self.fixed_mask.map(Arc::as_ref) }
    }

    /// All images of the moving side and their mask.
    pub fn moving_images(&self) -> syn::Images<'a> {
        syn::Images { channels: once(self.moving).chain(self.moving_channels).collect(), mask: self.moving_mask }
    }

    /// The first images of both sides, and what was found between them.
    pub fn pair(&self, affine: AffineTransform) -> Pair<'a> {
        let Request { fixed, moving, initial, .. } = *self;
        Pair { fixed, mask: self.fixed_mask.map(Arc::as_ref), moving, initial, affine }
    }

    fn grids(&self) -> [&'a Grid; 2] {
        [&self.fixed.grid, &self.moving.grid]
    }

    /// Grids of the further images of the fixed side.
    fn further_fixed(&self) -> impl Iterator<Item = &'a Grid> {
        self.fixed_channels.iter().map(|image| &image.grid)
    }

    /// Grids of the further images of both sides.
    fn further(&self) -> Vec<&'a Grid> {
        self.further_fixed().chain(self.moving_channels.iter().map(|image| &image.grid)).collect()
    }

    /// Main memory that it takes where the processor registers, bytes.
    pub fn bytes_here(&self) -> usize {
        let [fixed, moving] = self.grids();
        let masks = usize::from(self.fixed_mask.is_some()) + usize::from(self.moving_mask.is_some());
        let further = self.syn.map_or(0, |_| memory::estimate_further(&self.further()));
        memory::estimate(fixed, moving, masks, self.syn) + further
    }

    /// Memory of a GPU that it takes while it runs, bytes.
    pub fn bytes_on_device(&self) -> u64 {
        let masked = [self.fixed_mask.is_some(), self.moving_mask.is_some()];
        let stages = device_memory::of_stages(self.grids(), &self.further(), masked, self.linear, self.syn);
        let images = |wanted| device_memory::of_images(self.grids(), masked[0], self.syn.is_some(), wanted);
        stages.max(self.wanted.images.map_or(0, images)) as u64
    }

    /// Memory of a GPU that its fixed side keeps afterwards, bytes.
    pub fn prepared_bytes_on_device(&self) -> u64 {
        let (further, masked) = (self.further_fixed().collect::<Vec<_>>(), self.fixed_mask.is_some());
        device_memory::of_prepared(&self.fixed.grid, &further, masked, self.linear, self.syn) as u64
    }
}
