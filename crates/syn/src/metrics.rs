//! The metrics of a level: buffers and parameters, and which operation is whose.

use antsreg_core::Grid;
use antsreg_kernels::{Backend, CcParameters, Error, MiParameters};

use crate::{Metric, Options};

/// Buffers and parameters of every metric, for one level.
pub(crate) struct Metrics<B: Backend> {
    cc: B::CcWorkspace,
    cc_parameters: CcParameters,
    mi: B::MiWorkspace,
    mi_parameters: MiParameters,
}

impl<B: Backend> Metrics<B> {
    pub(crate) fn new(backend: &B, grid: &Grid, options: &Options) -> Result<Self, Error> {
        Ok(Metrics {
            cc: backend.cc_workspace(grid.shape)?,
            cc_parameters: CcParameters {
                radius: options.radius,
                derivative: options.derivative,
                noise_variance: (options.noise * options.noise) as f32,
                spacing: grid.spacing.into(),
            },
            mi: backend.mi_workspace(options.bins)?,
            // Images were rescaled when they were loaded.
            mi_parameters: MiParameters { bins: options.bins, ranges: [(0.0, 1.0); 2], spacing: grid.spacing.into() },
        })
    }

    /// The directions in which a metric of two images grows, fixed and moving; returns the energy.
    pub(crate) fn update(
        &mut self,
        backend: &B,
        metric: Metric,
        [fixed, moving]: [&B::Image; 2],
        masks: [Option<&B::Image>; 2],
        [fixed_update, moving_update]: [&mut B::Field; 2],
    ) -> Result<f64, Error> {
        match metric {
            Metric::Cc => backend.cc_update(
                fixed,
                moving,
                masks,
                &self.cc_parameters,
                &mut self.cc,
                fixed_update,
                moving_update,
            ),
            Metric::Mattes => backend.mi_update(
                fixed,
                moving,
                masks,
                &self.mi_parameters,
                &mut self.mi,
                fixed_update,
                moving_update,
            ),
        }
    }
}
