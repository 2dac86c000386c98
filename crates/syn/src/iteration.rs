//! One symmetric step.

use antsreg_core::{AffineTransform, Grid};
use antsreg_kernels::{Backend, CcParameters, Error, Sampling};

use crate::Options;
use crate::fields::{INVERSION, Side};

/// An image of one level and how the middle space reaches it.
pub(crate) struct Source<'a, B: Backend> {
    pub(crate) image: &'a B::Image,
    pub(crate) mask: Option<&'a B::Image>,
    /// Voxel of the level's grid → voxel of the image.
    pub(crate) grid_to_image: AffineTransform,
}

/// What one side needs to be warped and pushed, allocated once a level.
struct Buffers<B: Backend> {
    warped: B::Image,
    warped_mask: Option<B::Image>,
    update: B::Field,
}

impl<B: Backend> Buffers<B> {
    fn new(backend: &B, shape: [usize; 3], masked: bool) -> Result<Self, Error> {
        Ok(Buffers {
            warped: backend.image(shape)?,
            warped_mask: masked.then(|| backend.image(shape)).transpose()?,
            update: backend.field(shape)?,
        })
    }

    /// Brings image and mask to the middle.
    fn warp(&mut self, backend: &B, source: &Source<B>, side: &Side<B>) -> Result<(), Error> {
        let map = &source.grid_to_image;
        backend.warp(source.image, &side.from_middle, map, Sampling::Linear, &mut self.warped)?;
        if let (Some(mask), Some(warped)) = (source.mask, &mut self.warped_mask) {
            backend.warp(mask, &side.from_middle, map, Sampling::Nearest, warped)?;
        }
        Ok(())
    }
}

/// The buffers of a level.
pub(crate) struct Stepper<B: Backend> {
    fixed: Buffers<B>,
    moving: Buffers<B>,
    scratch: B::Field,
    cc: B::CcWorkspace,
    parameters: CcParameters,
}

impl<B: Backend> Stepper<B> {
    pub(crate) fn new(
        backend: &B,
        grid: &Grid,
        fixed: &Source<B>,
        moving: &Source<B>,
        options: &Options,
    ) -> Result<Self, Error> {
        Ok(Stepper {
            fixed: Buffers::new(backend, grid.shape, fixed.mask.is_some())?,
            moving: Buffers::new(backend, grid.shape, moving.mask.is_some())?,
            scratch: backend.field(grid.shape)?,
            cc: backend.cc_workspace(grid.shape)?,
            parameters: CcParameters {
                radius: options.radius,
                derivative: options.derivative,
                noise_variance: (options.noise * options.noise) as f32,
                spacing: grid.spacing.into(),
            },
        })
    }

    /// Moves both sides one step towards a larger CC, the `iteration`th of the level counted from 1; returns the energy
    /// before the step.
    pub(crate) fn step(
        &mut self,
        backend: &B,
        options: &Options,
        iteration: usize,
        (fixed, fixed_side): (&Source<B>, &mut Side<B>),
        (moving, moving_side): (&Source<B>, &mut Side<B>),
    ) -> Result<f64, Error> {
        self.fixed.warp(backend, fixed, fixed_side)?;
        self.moving.warp(backend, moving, moving_side)?;
        let energy = backend.cc_update(
            &self.fixed.warped,
            &self.moving.warped,
            [self.fixed.warped_mask.as_ref(), self.moving.warped_mask.as_ref()],
            &self.parameters,
            &mut self.cc,
            &mut self.fixed.update,
            &mut self.moving.update,
        )?;
        for (side, update) in [(fixed_side, &mut self.fixed.update), (moving_side, &mut self.moving.update)] {
            backend.smooth_field(update, options.update_variance, &mut self.scratch)?;
            // The image is read through φ⁻¹, so φ moves against the direction in which the reading point should go.
            backend.advance(&side.to_middle, update, -options.gradient_step, &mut self.scratch)?;
            std::mem::swap(&mut side.to_middle, &mut self.scratch);
            backend.smooth_field(&mut side.to_middle, options.total_variance, &mut self.scratch)?;
            backend.invert(&side.to_middle, &mut side.from_middle, &INVERSION)?;
            // Inverting back is more than upkeep: reading each field between the voxels of the other blurs both a little,
            // and without that regularisation long runs fold.
            if iteration.is_multiple_of(options.reinvert_every) {
                backend.invert(&side.from_middle, &mut side.to_middle, &INVERSION)?;
            }
        }
        Ok(energy)
    }
}
