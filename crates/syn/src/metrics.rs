//! The similarity metrics on a resolution level: their memory and parameters, and the calls of the backend that compute
//! them.

use antsreg_core::Grid;
use antsreg_kernels::{Backend, CcParameters, CcScores, Error, MetricOutput, MiParameters};

use crate::update::Warped;
use crate::{Metric, Options};

/// The similarity of two images, or the weighted sum or mean of the similarities of several image pairs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Similarity {
    /// Energy of the similarity metric: a number that falls as the images become more similar. The iterations lower it.
    pub(crate) energy: f64,
    /// Agreement of the images: a similarity that does not increase with contrast alone. It is highest for two equal
    /// images.
    pub(crate) agreement: f64,
}

impl Similarity {
    /// Adds `other`, multiplied by `weight`, to this similarity.
    pub(crate) fn add(&mut self, weight: f64, other: Similarity) {
        self.energy += weight * other.energy;
        self.agreement += weight * other.agreement;
    }

    /// The weighted mean of similarities, where `self` is the weighted sum and `weights` the sum of the weights.
    pub(crate) fn over(self, weights: f64) -> Similarity {
        Similarity { energy: self.energy / weights, agreement: self.agreement / weights }
    }
}

/// The similarity of two images, which the device may still be computing.
pub(crate) enum PendingSimilarity<B: Backend> {
    Cc(B::CcPending),
    /// Energy of the metric mutual information. It is known as soon as the gradient has been computed.
    Mattes(f64),
}

impl<B: Backend> PendingSimilarity<B> {
    /// Waits until the device has computed the similarity of the images, and returns this similarity.
    pub(crate) fn wait(self, backend: &B) -> Result<Similarity, Error> {
        Ok(match self {
            PendingSimilarity::Cc(pending) => {
                let CcScores { energy, agreement } = backend.cc_scores(pending)?;
                Similarity { energy, agreement }
            }
            // Mutual information does not depend on contrast. So the agreement (a similarity that contrast does not
            // raise) is the negative energy.
            PendingSimilarity::Mattes(energy) => Similarity { energy, agreement: -energy },
        })
    }
}

/// Memory and parameters of all similarity metrics on a resolution level, for the size of the images on this level.
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
            cc_parameters: options.cc_parameters(),
            mi: backend.mi_workspace(options.bins)?,
            // Intensities were rescaled to 0…1 when the images were uploaded.
            mi_parameters: MiParameters { bins: options.bins, ranges: [(0.0, 1.0); 2] },
        })
    }

    /// Computes the gradient of a metric, and starts to compute the similarity of the images. The vectors of `scratch`
    /// are lost.
    pub(crate) fn gradient(
        &mut self,
        backend: &B,
        metric: Metric,
        [fixed, moving]: &[Warped<B>; 2],
        (out, scratch): (MetricOutput<'_, B>, Option<&mut B::Field>),
    ) -> Result<PendingSimilarity<B>, Error> {
        let (images, masks) = ([&fixed.image, &moving.image], [fixed.mask.as_ref(), moving.mask.as_ref()]);
        match metric {
            Metric::Cc => {
                let (parameters, workspace) = (&self.cc_parameters, &mut self.cc);
                let pending = backend.cc_gradient(images, masks, parameters, workspace, out, scratch)?;
                Ok(PendingSimilarity::Cc(pending))
            }
            Metric::Mattes => {
                let (parameters, workspace) = (&self.mi_parameters, &mut self.mi);
                Ok(PendingSimilarity::Mattes(backend.mi_gradient(images, masks, parameters, workspace, out)?))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_have_a_weighted_mean() {
        let mut sum = Similarity::default();
        sum.add(3.0, Similarity { energy: -0.5, agreement: 0.25 });
        sum.add(0.5, Similarity { energy: 4.0, agreement: -3.0 });
        let Similarity { energy, agreement } = sum.over(4.0);
        assert_eq!((energy, agreement), (0.125, -0.1875));
    }
}
