//! The set-up that all figures on histogram algorithms share (the GPU, the compiled algorithms and the images), and the
//! measurement of one algorithm.

use crate::schemes::{CrScheme, CrSums, Histograms, MiScheme, Pair, Plan, Settings};
use antsreg_core::Volume;
use antsreg_kernels::{Cuda, Error as DeviceError};

use super::subject::Subject;
use crate::error::Error;

/// The set-up of all measurements: the GPU, the compiled histogram algorithms, and the images.
pub struct Setup<'a> {
    pub cuda: &'a Cuda,
    pub histograms: &'a Histograms<'a>,
    pub brain: Option<Subject>,
    /// The fixed and the moving image of a brain; `None` if no brain was given.
    pub images: Option<[Volume; 2]>,
    /// Bandwidth of copies within device memory, bytes per second.
    pub bandwidth: f64,
}

impl<'a> Setup<'a> {
    pub fn new(
        cuda: &'a Cuda,
        histograms: &'a Histograms<'a>,
        image: Option<Volume>,
        moving: Option<Volume>,
    ) -> Result<Setup<'a>, Error> {
        let images = image.map(|fixed| {
            let moving = moving.unwrap_or_else(|| fixed.clone());
            [fixed, moving]
        });
        let brain = images.as_ref().map(|[fixed, moving]| Subject::brain(fixed, moving)).transpose();
        let brain = brain?;
        let bandwidth = cuda.copy_bandwidth()?;
        Ok(Setup { cuda, histograms, brain, images, bandwidth })
    }

    /// Shape of the fixed brain image, which synthetic data also gets; `None` without a brain.
    pub fn shape(&self) -> Option<[usize; 3]> {
        self.brain.as_ref().map(|brain| brain.fixed.shape())
    }

    /// Time of an algorithm for the correlation ratio, seconds; `None` if the device has too little memory for it.
    pub fn time_cr(&self, pair: &Pair<'_>, scheme: CrScheme, settings: &Settings) -> Result<Option<f64>, Error> {
        timed(|| self.histograms.correlation_ratio(pair, scheme, settings))
    }

    /// Time of an algorithm for joint histograms, seconds; `None` if the device has too little memory for it. The
    /// algorithm `Adaptive` receives the histogram of an earlier evaluation.
    pub fn time_joint(&self, pair: &Pair<'_>, scheme: MiScheme, settings: &Settings) -> Result<Option<f64>, Error> {
        let previous = self.previous(pair)?;
        timed(|| self.histograms.joint(pair, scheme, settings, Some(&previous)))
    }

    /// Computes the sums of the correlation ratio (Σw, Σw·y and Σw·y² of each bin) with the given algorithm.
    pub fn sums(&self, pair: &Pair<'_>, scheme: CrScheme, settings: &Settings) -> Result<CrSums, Error> {
        let mut plan = self.histograms.correlation_ratio(pair, scheme, settings)?;
        plan.run().and_then(|()| plan.sums())
    }

    /// Computes the joint histogram with the given algorithm.
    pub fn joint(&self, pair: &Pair<'_>, scheme: MiScheme, settings: &Settings) -> Result<Vec<u32>, Error> {
        let previous = self.previous(pair)?;
        let mut plan = self.histograms.joint(pair, scheme, settings, Some(&previous))?;
        plan.run().and_then(|()| plan.joint())
    }

    /// Computes the joint histogram of these images with the algorithm `GlobalAtomic`. From this histogram, the
    /// algorithm `Adaptive` chooses how many counters each bin gets.
    fn previous(&self, pair: &Pair<'_>) -> Result<Vec<u32>, Error> {
        let mut plan = self.histograms.joint(pair, MiScheme::GlobalAtomic, &Settings::default(), None)?;
        plan.run().and_then(|()| plan.joint())
    }
}

fn timed<'p>(plan: impl FnOnce() -> Result<Plan<'p>, Error>) -> Result<Option<f64>, Error> {
    match plan().and_then(|mut plan| plan.time()) {
        Ok(seconds) => Ok(Some(seconds)),
        Err(Error::Device(DeviceError::SharedMemory { .. } | DeviceError::OutOfMemory { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}
