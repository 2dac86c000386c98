//! One iteration of the deformable stage: the updates of the fixed and the moving fields from all channels, and one
//! step along these updates.

use antsreg_core::Grid;
use antsreg_core::report::Observer;
use antsreg_kernels::{Backend, Sampling};

use crate::error::go_on;
use crate::fields::Side;
use crate::load::Sources;
use crate::metrics::{Metrics, PendingSimilarity, Similarity};
use crate::smoothing::Smoothing;
use crate::update::{Step, Updates, Warped};
use crate::{Channel, Error, Options};

/// Memory for the iterations of one level: the warped images, the updates of the displacement fields and the metrics.
/// In each pair, the fixed image comes first.
pub(crate) struct Stepper<B: Backend> {
    warped: [Warped<B>; 2],
    updates: Updates<B>,
    metrics: Metrics<B>,
    channels: Vec<Channel>,
}

impl<B: Backend> Stepper<B> {
    pub(crate) fn new(
        backend: &B,
        grid: &Grid,
        sources: [&Sources<B>; 2],
        options: &Options,
        smoothing: Smoothing<B>,
    ) -> Result<Self, Error> {
        let [fixed, moving] = sources.map(|side| Warped::new(backend, grid.shape, side.mask.is_some()));
        Ok(Stepper {
            warped: [fixed?, moving?],
            updates: Updates::new(backend, grid, options, smoothing)?,
            metrics: Metrics::new(backend, grid, options)?,
            channels: options.channels_with_edges(),
        })
    }

    /// Moves the displacement fields of the fixed and of the moving image one step along the gradient of the metrics.
    /// Returns the similarity before the step.
    pub(crate) fn step(
        &mut self,
        backend: &B,
        options: &Options,
        step: Step,
        sources: [&Sources<B>; 2],
        sides: &mut [Side<B>; 2],
        observer: &mut dyn Observer,
    ) -> Result<Similarity, Error> {
        let Sum { mut similarity, weights, last } = self.update(backend, sources, sides, observer)?;
        self.updates.step(backend, options, step, &self.warped, sides, observer)?;
        // The host reads the similarity only after it has queued the step. So the device can compute the step while it
        // still computes the similarity.
        if let Some((weight, pending)) = last {
            similarity.add(weight, pending.wait(backend)?);
        }
        Ok(similarity.over(weights))
    }

    /// Computes the sum of the updates of the displacement fields over all channels (pairs of images).
    fn update(
        &mut self,
        backend: &B,
        sources: [&Sources<B>; 2],
        [fixed_side, moving_side]: &[Side<B>; 2],
        observer: &mut dyn Observer,
    ) -> Result<Sum<B>, Error> {
        let [fixed, moving] = &mut self.warped;
        fixed.warp_mask(backend, sources[0], fixed_side)?;
        moving.warp_mask(backend, sources[1], moving_side)?;
        let mut sum = Sum { similarity: Similarity::default(), weights: 0.0, last: None };
        for (n, channel) in self.channels.iter().enumerate() {
            go_on(observer.poll())?;
            let of_channel = sources.map(|side| &side.channels[n]);
            backend.warp_both(
                of_channel.map(|source| source.image),
                [&fixed_side.from_middle, &moving_side.from_middle],
                of_channel.map(|source| &source.grid_to_image),
                Sampling::Linear,
                self.warped.each_mut().map(|warped| &mut warped.image),
            )?;
            if let Some((weight, pending)) = sum.last.take() {
                sum.similarity.add(weight, pending.wait(backend)?);
            }
            go_on(observer.poll())?;
            let out = self.updates.of_channel(n);
            let pending = self.metrics.gradient(backend, channel.metric, &self.warped, out)?;
            let weight_ratio = channel.weight / self.channels[0].weight;
            if self.channels.len() > 1 {
                go_on(observer.poll())?;
                self.updates.add(backend, n, weight_ratio)?;
            }
            sum.last = Some((weight_ratio, pending));
            sum.weights += weight_ratio;
        }
        Ok(sum)
    }
}

/// Weighted sum of the similarities of all channels (pairs of images). Weights are relative to the weight of the first
/// channel.
struct Sum<B: Backend> {
    /// Weighted sum of the similarities of all channels (pairs of images) except the last one.
    similarity: Similarity,
    weights: f64,
    /// Weight and similarity of the last channel (pair of images). The device may still be computing this similarity.
    last: Option<(f64, PendingSimilarity<B>)>,
}
