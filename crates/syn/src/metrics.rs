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
    /// Of the last update; `None` while it is on its way from the cross-correlation.
    energy: Option<f64>,
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
            energy: None,
        })
    }

    /// The directions in which a metric of two images grows, fixed and moving.
    pub(crate) fn update(
        &mut self,
        backend: &B,
        metric: Metric,
        [fixed, moving]: [&B::Image; 2],
        masks: [Option<&B::Image>; 2],
        [fixed_update, moving_update]: [&mut B::Field; 2],
    ) -> Result<(), Error> {
        self.energy = match metric {
            Metric::Cc => {
                let (parameters, workspace) = (&self.cc_parameters, &mut self.cc);
                backend.cc_start(fixed, moving, masks, parameters, workspace, fixed_update, moving_update)?;
                None
            }
            Metric::Mattes => {
                let (parameters, workspace) = (&self.mi_parameters, &mut self.mi);
                Some(backend.mi_update(fixed, moving, masks, parameters, workspace, fixed_update, moving_update)?)
            }
        };
        Ok(())
    }

    /// The energy of the last update, once it is there.
    pub(crate) fn energy(&self, backend: &B) -> Result<f64, Error> {
        self.energy.map_or_else(|| backend.cc_energy(&self.cc), Ok)
    }
}
