//! One symmetric step.

use antsreg_core::Grid;
use antsreg_kernels::{Backend, Error};

use crate::Options;
use crate::fields::{INVERSION, Side};
use crate::load::Sources;
use crate::metrics::Metrics;
use crate::pull::Pull;

/// The buffers of a level.
pub(crate) struct Stepper<B: Backend> {
    fixed: Pull<B>,
    moving: Pull<B>,
    metrics: Metrics<B>,
    scratch: B::Field,
}

impl<B: Backend> Stepper<B> {
    pub(crate) fn new(
        backend: &B,
        grid: &Grid,
        fixed: &Sources<B>,
        moving: &Sources<B>,
        options: &Options,
    ) -> Result<Self, Error> {
        Ok(Stepper {
            fixed: Pull::new(backend, grid.shape, fixed)?,
            moving: Pull::new(backend, grid.shape, moving)?,
            metrics: Metrics::new(backend, grid, options)?,
            scratch: backend.field(grid.shape)?,
        })
    }

    /// Moves both sides one step towards more likeness, the `iteration`th of the level counted from 1; returns the energy
    /// before the step.
    pub(crate) fn step(
        &mut self,
        backend: &B,
        options: &Options,
        iteration: usize,
        (fixed, fixed_side): (&Sources<B>, &mut Side<B>),
        (moving, moving_side): (&Sources<B>, &mut Side<B>),
    ) -> Result<f64, Error> {
        let energy = self.pull(backend, options, (fixed, fixed_side), (moving, moving_side))?;
        let updates = [&mut self.fixed.updates.sum, &mut self.moving.updates.sum];
        for (side, update) in [fixed_side, moving_side].into_iter().zip(updates) {
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

    /// Where each side should go: the updates of all channels. Returns the energy, their mean by weight.
    fn pull(
        &mut self,
        backend: &B,
        options: &Options,
        (fixed, fixed_side): (&Sources<B>, &Side<B>),
        (moving, moving_side): (&Sources<B>, &Side<B>),
    ) -> Result<f64, Error> {
        self.fixed.warp_mask(backend, fixed, fixed_side)?;
        self.moving.warp_mask(backend, moving, moving_side)?;
        let (mut energy, mut weights) = (0.0, 0.0);
        for (n, channel) in options.channels.iter().enumerate() {
            self.fixed.warp(backend, &fixed.channels[n], fixed_side)?;
            self.moving.warp(backend, &moving.channels[n], moving_side)?;
            let own_energy = self.metrics.update(
                backend,
                channel.metric,
                [&self.fixed.warped, &self.moving.warped],
                [self.fixed.warped_mask.as_ref(), self.moving.warped_mask.as_ref()],
                [self.fixed.updates.of_channel(n), self.moving.updates.of_channel(n)],
            )?;
            let weight_ratio = channel.weight / options.channels[0].weight;
            self.fixed.updates.add(backend, n, weight_ratio)?;
            self.moving.updates.add(backend, n, weight_ratio)?;
            energy += weight_ratio * own_energy;
            weights += weight_ratio;
        }
        Ok(energy / weights)
    }
}
