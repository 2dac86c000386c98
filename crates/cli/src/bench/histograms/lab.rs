//! The device, what is measured on it, and one measurement.

use antsreg_core::Volume;
use antsreg_kernels::cuda::histograms::{CrScheme, CrSums, Histograms, MiScheme, Pair, Plan, Settings};
use antsreg_kernels::{Cuda, Error};

use super::subject::Subject;
use crate::error::CliError;

/// Everything a figure needs.
pub struct Lab<'a> {
    pub cuda: &'a Cuda,
    pub histograms: &'a Histograms<'a>,
    pub brain: Option<Subject>,
    /// The fixed and the moving image of the brain.
    pub images: Option<[Volume; 2]>,
    /// Bytes a second of a copy within device memory.
    pub bandwidth: f64,
}

impl<'a> Lab<'a> {
    pub fn new(
        cuda: &'a Cuda,
        histograms: &'a Histograms<'a>,
        image: Option<Volume>,
        moving: Option<Volume>,
    ) -> Result<Lab<'a>, CliError> {
        let images = image.map(|fixed| {
            let moving = moving.unwrap_or_else(|| fixed.clone());
            [fixed, moving]
        });
        let brain = images.as_ref().map(|[fixed, moving]| Subject::brain(fixed, moving)).transpose();
        let brain = brain.map_err(CliError::Device)?;
        let bandwidth = cuda.copy_bandwidth().map_err(CliError::Device)?;
        Ok(Lab { cuda, histograms, brain, images, bandwidth })
    }

    /// The brain's grid, for data made to be compared with it.
    pub fn shape(&self) -> Option<[usize; 3]> {
        self.brain.as_ref().map(|brain| brain.fixed.shape())
    }

    /// Seconds that a scheme takes; `None` where the device has no room for it.
    pub fn time_cr(&self, pair: &Pair<'_>, scheme: CrScheme, settings: &Settings) -> Result<Option<f64>, CliError> {
        timed(|| self.histograms.correlation_ratio(pair, scheme, settings))
    }

    /// The same for a joint histogram. The adaptive scheme knows the one before it.
    pub fn time_joint(
        &self,
        pair: &Pair<'_>,
        scheme: MiScheme,
        settings: &Settings,
    ) -> Result<Option<f64>, CliError> {
        let previous = self.previous(pair)?;
        timed(|| self.histograms.joint(pair, scheme, settings, Some(&previous)))
    }

    /// What a scheme finds.
    pub fn sums(&self, pair: &Pair<'_>, scheme: CrScheme, settings: &Settings) -> Result<CrSums, CliError> {
        let mut plan = self.histograms.correlation_ratio(pair, scheme, settings).map_err(CliError::Device)?;
        plan.run().and_then(|()| plan.sums()).map_err(CliError::Device)
    }

    /// The same for a joint histogram.
    pub fn joint(&self, pair: &Pair<'_>, scheme: MiScheme, settings: &Settings) -> Result<Vec<u32>, CliError> {
        let previous = self.previous(pair)?;
        let mut plan = self.histograms.joint(pair, scheme, settings, Some(&previous)).map_err(CliError::Device)?;
        plan.run().and_then(|()| plan.joint()).map_err(CliError::Device)
    }

    /// The joint histogram as an earlier evaluation would have left it.
    fn previous(&self, pair: &Pair<'_>) -> Result<Vec<u32>, CliError> {
        let mut plan = self
            .histograms
            .joint(pair, MiScheme::GlobalAtomic, &Settings::default(), None)
            .map_err(CliError::Device)?;
        plan.run().and_then(|()| plan.joint()).map_err(CliError::Device)
    }
}

fn timed<'p>(plan: impl FnOnce() -> Result<Plan<'p>, Error>) -> Result<Option<f64>, CliError> {
    match plan().and_then(|mut plan| plan.time()) {
        Ok(seconds) => Ok(Some(seconds)),
        Err(Error::SharedMemory { .. } | Error::OutOfMemory { .. }) => Ok(None),
        Err(error) => Err(CliError::Device(error)),
    }
}
