//! One symmetric step.

use antsreg_core::Grid;
use antsreg_kernels::{Backend, Error, Sampling};

use crate::fields::Side;
use crate::load::Sources;
use crate::metrics::{Likeness, Metrics};
use crate::pull::{Pull, push};
use crate::{Channel, Options};

/// The buffers of a level. Of each pair the fixed side comes first.
pub(crate) struct Stepper<B: Backend> {
    sides: [Pull<B>; 2],
    metrics: Metrics<B>,
    pulls: Vec<Channel>,
}

impl<B: Backend> Stepper<B> {
    pub(crate) fn new(backend: &B, grid: &Grid, sources: [&Sources<B>; 2], options: &Options) -> Result<Self, Error> {
        Ok(Stepper {
            sides: Pull::both(backend, grid.shape, sources.map(|side| side.mask.is_some()))?,
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
        sources: [&Sources<B>; 2],
        sides: &mut [Side<B>; 2],
    ) -> Result<Likeness, Error> {
        let mut pulled = self.pull(backend, sources, sides)?;
        push(backend, options, reinvert, &mut self.sides, sides)?;
        // Asked for last: the device goes on meanwhile.
        pulled.likeness.add(pulled.last_weight, self.metrics.likeness(backend)?);
        Ok(pulled.likeness.over(pulled.weights))
    }

    /// Where each side should go: the updates of all that pulls.
    fn pull(
        &mut self,
        backend: &B,
        sources: [&Sources<B>; 2],
        [fixed_side, moving_side]: &[Side<B>; 2],
    ) -> Result<Pulled, Error> {
        let [fixed, moving] = &mut self.sides;
        fixed.warp_mask(backend, sources[0], fixed_side)?;
        moving.warp_mask(backend, sources[1], moving_side)?;
        let mut pulled = Pulled { likeness: Likeness::default(), last_weight: 0.0, weights: 0.0 };
        for (n, channel) in self.pulls.iter().enumerate() {
            let of_channel = sources.map(|side| &side.channels[n]);
            backend.warp_both(
                of_channel.map(|source| source.image),
                [&fixed_side.from_middle, &moving_side.from_middle],
                of_channel.map(|source| &source.grid_to_image),
                Sampling::Linear,
                [&mut fixed.warped, &mut moving.warped],
            )?;
            if n > 0 {
                pulled.likeness.add(pulled.last_weight, self.metrics.likeness(backend)?);
            }
            self.metrics.update(
                backend,
                channel.metric,
                [&fixed.warped, &moving.warped],
                [fixed.warped_mask.as_ref(), moving.warped_mask.as_ref()],
                [fixed.updates.of_channel(n), moving.updates.of_channel(n)],
            )?;
            let weight_ratio = channel.weight / self.pulls[0].weight;
            if self.pulls.len() > 1 {
                fixed.updates.add(backend, n, weight_ratio)?;
                moving.updates.add(backend, n, weight_ratio)?;
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
