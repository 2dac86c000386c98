//! One iteration of the deformable stage: the updates of the fixed and the moving fields from all channels, and one
//! step along these updates.

use antsreg_core::Grid;
use antsreg_core::report::Observer;
use antsreg_kernels::{Backend, Sampling};
use nalgebra::Matrix3;

use crate::error::go_on;
use crate::fields::Side;
use crate::load::Sources;
use crate::metrics::{Metrics, PendingSimilarity, Similarity};
use crate::restriction::{self, restrict};
use crate::update::{SideUpdate, step_both};
use crate::{Channel, Error, Options};

/// Memory for the iterations of one level: the updates of the displacement fields and the metrics. In each pair, the
/// fixed image comes first.
pub(crate) struct Stepper<B: Backend> {
    updates: [SideUpdate<B>; 2],
    metrics: Metrics<B>,
    channels: Vec<Channel>,
    /// Matrix that multiplies each update of the displacement fields, for weights on its world components; `None` if
    /// all weights are 1.
    restriction: Option<Matrix3<f64>>,
}

impl<B: Backend> Stepper<B> {
    pub(crate) fn new(backend: &B, grid: &Grid, sources: [&Sources<B>; 2], options: &Options) -> Result<Self, Error> {
        Ok(Stepper {
            updates: SideUpdate::both(backend, grid.shape, sources.map(|side| side.mask.is_some()))?,
            metrics: Metrics::new(backend, grid, options)?,
            channels: options.channels_with_edges(),
            restriction: restriction::matrix(grid, options.restrict),
        })
    }

    /// Moves the displacement fields of the fixed and of the moving image one step along the gradient of the metrics.
    /// With `reinvert`, the fields to the middle space are replaced by the inverses of their inverses. Returns the
    /// similarity before the step.
    pub(crate) fn step(
        &mut self,
        backend: &B,
        options: &Options,
        reinvert: bool,
        sources: [&Sources<B>; 2],
        sides: &mut [Side<B>; 2],
        observer: &mut dyn Observer,
    ) -> Result<Similarity, Error> {
        let Sum { mut similarity, weights, last } = self.update(backend, sources, sides, observer)?;
        if let Some(matrix) = &self.restriction {
            restrict(backend, matrix, self.updates.each_mut().map(|side| &mut side.updates))?;
        }
        step_both(backend, options, reinvert, &mut self.updates, sides, observer)?;
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
        let [fixed, moving] = &mut self.updates;
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
                [&mut fixed.warped, &mut moving.warped],
            )?;
            if let Some((weight, pending)) = sum.last.take() {
                sum.similarity.add(weight, pending.wait(backend)?);
            }
            go_on(observer.poll())?;
            let ((update, scratch), (other_update, other_scratch)) =
                (fixed.updates.of_channel(n), moving.updates.of_channel(n));
            let pending = self.metrics.update(
                backend,
                channel.metric,
                [&fixed.warped, &moving.warped],
                [fixed.warped_mask.as_ref(), moving.warped_mask.as_ref()],
                [update, other_update],
                scratch.zip(other_scratch).map(<[_; 2]>::from),
            )?;
            let weight_ratio = channel.weight / self.channels[0].weight;
            if self.channels.len() > 1 {
                go_on(observer.poll())?;
                fixed.updates.add(backend, n, weight_ratio)?;
                moving.updates.add(backend, n, weight_ratio)?;
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
