//! One symmetric step.

use antsreg_core::Grid;
use antsreg_kernels::{Backend, Error};

use crate::fields::Side;
use crate::load::Sources;
use crate::metrics::{Likeness, Metrics};
use crate::pull::Pull;
use crate::{Channel, Options};

/// The buffers of a level.
pub(crate) struct Stepper<B: Backend> {
    fixed: Pull<B>,
    moving: Pull<B>,
    metrics: Metrics<B>,
    pulls: Vec<Channel>,
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
            fixed: Pull::new(backend, grid.shape, fixed.mask.is_some())?,
            moving: Pull::new(backend, grid.shape, moving.mask.is_some())?,
            metrics: Metrics::new(backend, grid, options)?,
            pulls: options.pulls(),
        })
    }

    /// Moves both sides one step towards more likeness, the fields inverted back if `reinvert` says so; returns how
    /// alike they were before the step.
    pub(crate) fn step(
        &mut self,
        backend: &B,
        options: &Options,
        reinvert: bool,
        (fixed, fixed_side): (&Sources<B>, &mut Side<B>),
        (moving, moving_side): (&Sources<B>, &mut Side<B>),
    ) -> Result<Likeness, Error> {
        let mut pulled = self.pull(backend, (fixed, fixed_side), (moving, moving_side))?;
        backend.both(
            || self.fixed.push(backend, options, reinvert, fixed_side),
            || self.moving.push(backend, options, reinvert, moving_side),
        )?;
        // Asked for last: the device goes on meanwhile.
        pulled.likeness.add(pulled.last_weight, self.metrics.likeness(backend)?);
        Ok(pulled.likeness.over(pulled.weights))
    }

    /// Where each side should go: the updates of all that pulls.
    fn pull(
        &mut self,
        backend: &B,
        (fixed, fixed_side): (&Sources<B>, &Side<B>),
        (moving, moving_side): (&Sources<B>, &Side<B>),
    ) -> Result<Pulled, Error> {
        self.fixed.warp_mask(backend, fixed, fixed_side)?;
        self.moving.warp_mask(backend, moving, moving_side)?;
        let mut pulled = Pulled { likeness: Likeness::default(), last_weight: 0.0, weights: 0.0 };
        for (n, channel) in self.pulls.iter().enumerate() {
            self.fixed.warp(backend, &fixed.channels[n], fixed_side)?;
            self.moving.warp(backend, &moving.channels[n], moving_side)?;
            if n > 0 {
                pulled.likeness.add(pulled.last_weight, self.metrics.likeness(backend)?);
            }
            self.metrics.update(
                backend,
                channel.metric,
                [&self.fixed.warped, &self.moving.warped],
                [self.fixed.warped_mask.as_ref(), self.moving.warped_mask.as_ref()],
                [self.fixed.updates.of_channel(n), self.moving.updates.of_channel(n)],
            )?;
            let weight_ratio = channel.weight / self.pulls[0].weight;
            if self.pulls.len() > 1 {
                self.fixed.updates.add(backend, n, weight_ratio)?;
                self.moving.updates.add(backend, n, weight_ratio)?;
            }
            pulled.last_weight = weight_ratio;
            pulled.weights += weight_ratio;
        }
        Ok(pulled)
    }
}

/// Weights of the channels relative to the first one's, and sums by weight of what they found but for the last one's.
struct Pulled {
    likeness: Likeness,
    last_weight: f64,
    weights: f64,
}
