//! The metrics of a level: buffers and parameters, and which operation is whose.

use antsreg_core::Grid;
use antsreg_kernels::{Backend, CcParameters, Error, MiParameters};

use crate::{Metric, Options};

/// How alike two images are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Likeness {
    /// What the updates lower.
    pub(crate) energy: f64,
    /// The same without what contrast alone does to it, and the higher the more alike: at its highest between an image
    /// and itself.
    pub(crate) agreement: f64,
}

impl Likeness {
    /// Adds another's by its weight.
    pub(crate) fn add(&mut self, weight: f64, other: Likeness) {
        self.energy += weight * other.energy;
        self.agreement += weight * other.agreement;
    }

    /// Sums of weighted parts as their mean.
    pub(crate) fn over(self, weights: f64) -> Likeness {
        Likeness { energy: self.energy / weights, agreement: self.agreement / weights }
    }
}

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

    /// How alike the images of the last update were, once that is known.
    pub(crate) fn likeness(&self, backend: &B) -> Result<Likeness, Error> {
        match self.energy {
            // Mutual information knows no windows, and so no contrast of theirs.
            Some(energy) => Ok(Likeness { energy, agreement: -energy }),
            None => Ok(Likeness { energy: backend.cc_energy(&self.cc)?, agreement: backend.cc_agreement(&self.cc)? }),
        }
    }
}
