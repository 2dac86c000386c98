//! Where the images pull both sides: each channel's metric, and the channels added up.

use antsreg_core::Grid;
use antsreg_kernels::{Backend, CcParameters, Error, Sampling};

use crate::fields::Side;
use crate::load::{Source, Sources};
use crate::{Channel, Metric, Options};

/// What one side needs to be warped and pulled, allocated once a level.
struct Buffers<B: Backend> {
    warped: B::Image,
    warped_mask: Option<B::Image>,
    /// Where the side is pulled.
    update: B::Field,
    /// Where a channel after the first pulls it.
    further: Option<B::Field>,
    /// Magnitude of the first channel's pull, to which the others are brought.
    first_magnitude: f64,
}

impl<B: Backend> Buffers<B> {
    fn new(backend: &B, shape: [usize; 3], sources: &Sources<B>) -> Result<Self, Error> {
        Ok(Buffers {
            warped: backend.image(shape)?,
            warped_mask: sources.mask.as_ref().map(|_| backend.image(shape)).transpose()?,
            update: backend.field(shape)?,
            further: (sources.channels.len() > 1).then(|| backend.field(shape)).transpose()?,
            first_magnitude: 0.0,
        })
    }

    /// Brings an image to the middle.
    fn warp(&mut self, backend: &B, source: &Source<B>, side: &Side<B>) -> Result<(), Error> {
        let (from_middle, map) = (&side.from_middle, &source.grid_to_image);
        backend.warp(source.image, from_middle, map, Sampling::Linear, &mut self.warped)
    }

    /// Brings the mask there.
    fn warp_mask(&mut self, backend: &B, sources: &Sources<B>, side: &Side<B>) -> Result<(), Error> {
        if let (Some(mask), Some(warped)) = (&sources.mask, &mut self.warped_mask) {
            backend.warp(mask.image, &side.from_middle, &mask.grid_to_image, Sampling::Nearest, warped)?;
        }
        Ok(())
    }

    /// Where the nth channel's pull is to be written.
    fn target(&mut self, n: usize) -> &mut B::Field {
        match &mut self.further {
            Some(further) if n > 0 => further,
            _ => &mut self.update,
        }
    }

    /// Adds the nth channel's pull to the first one's, brought to its magnitude, times the ratio of their weights.
    fn add(&mut self, backend: &B, n: usize, weight_ratio: f64) -> Result<(), Error> {
        let Some(further) = &self.further else { return Ok(()) };
        if n == 0 {
            self.first_magnitude = backend.magnitude(&self.update)?;
            return Ok(());
        }
        let magnitude = backend.magnitude(further)?;
        if magnitude > 0.0 {
            let reference = if self.first_magnitude > 0.0 { self.first_magnitude } else { 1.0 };
            backend.add_scaled(&mut self.update, further, weight_ratio * reference / magnitude)?;
        }
        Ok(())
    }
}

/// The buffers of a level.
pub(crate) struct Puller<B: Backend> {
    fixed: Buffers<B>,
    moving: Buffers<B>,
    cc: B::CcWorkspace,
    cc_parameters: CcParameters,
}

impl<B: Backend> Puller<B> {
    pub(crate) fn new(
        backend: &B,
        grid: &Grid,
        fixed: &Sources<B>,
        moving: &Sources<B>,
        options: &Options,
    ) -> Result<Self, Error> {
        Ok(Puller {
            fixed: Buffers::new(backend, grid.shape, fixed)?,
            moving: Buffers::new(backend, grid.shape, moving)?,
            cc: backend.cc_workspace(grid.shape)?,
            cc_parameters: CcParameters {
                radius: options.radius,
                derivative: options.derivative,
                noise_variance: (options.noise * options.noise) as f32,
                spacing: grid.spacing.into(),
            },
        })
    }

    /// Finds where the fixed and the moving side are pulled; returns the energy, the channels' mean by weight.
    ///
    /// As ITK's `ObjectToObjectMultiMetricv4` has it, channels are added by weight after each was divided by its
    /// magnitude (the root of the sum of squares over all voxels), so that a weight means the same whatever the metric.
    /// All are then multiplied by the first one's magnitude, where ITK takes their mean: a step is scaled to its length
    /// anyway, and so one channel, or the same one twice, gives one result to the bit. ITK watches the first channel's
    /// value for convergence; here it is the mean.
    pub(crate) fn pull(
        &mut self,
        backend: &B,
        channels: &[Channel],
        (fixed, fixed_side): (&Sources<B>, &Side<B>),
        (moving, moving_side): (&Sources<B>, &Side<B>),
    ) -> Result<f64, Error> {
        self.fixed.warp_mask(backend, fixed, fixed_side)?;
        self.moving.warp_mask(backend, moving, moving_side)?;
        let (mut energy, mut total) = (0.0, 0.0);
        let sources = fixed.channels.iter().zip(&moving.channels);
        for (n, (channel, (fixed, moving))) in channels.iter().zip(sources).enumerate() {
            self.fixed.warp(backend, fixed, fixed_side)?;
            self.moving.warp(backend, moving, moving_side)?;
            energy += channel.weight * self.metric(backend, n, channel.metric)?;
            total += channel.weight;
            let weight_ratio = channel.weight / channels[0].weight;
            self.fixed.add(backend, n, weight_ratio)?;
            self.moving.add(backend, n, weight_ratio)?;
        }
        Ok(energy / total)
    }

    /// Both updates of the nth channel, whose images are warped; returns its energy.
    fn metric(&mut self, backend: &B, n: usize, metric: Metric) -> Result<f64, Error> {
        let Puller { fixed, moving, cc, cc_parameters } = self;
        todo!()
    }

    /// Where the fixed and the moving side are pulled, to be smoothed in place.
    pub(crate) fn updates(&mut self) -> [&mut B::Field; 2] {
        [&mut self.fixed.update, &mut self.moving.update]
    }
}
