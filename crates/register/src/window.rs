//! Windows of the cross-correlation that the kernels of a GPU do not support.

use antsreg_kernels::CcParameters;
use antsreg_syn as syn;

/// A window of the cross-correlation that the requested kernels of a GPU do not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "with masks or the exact derivative of the cross-correlation, the tiled kernels of GPUs support a window radius of \
     up to {most} voxels; the requested radius is {radius}; with --cc-kernel textures GPUs support every radius"
)]
pub struct TooWide {
    /// Radius of the cross-correlation window that the user requested, voxels.
    pub radius: usize,
    /// Largest radius of the cross-correlation window that the GPU kernels support, voxels.
    pub most: usize,
}

impl TooWide {
    /// Returns the correlation window of these options if no GPU supports it, else `None`. `masked` says whether the
    /// registration has masks.
    pub(crate) fn of(options: &syn::Options, masked: bool) -> Option<TooWide> {
        let most = CcParameters::MOST_TILED_RADIUS;
        let wide = options.uses(syn::Metric::Cc) && !options.cc_parameters().fits_a_gpu(masked);
        wide.then_some(TooWide { radius: options.radius, most })
    }
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::{CcDerivative, CcKernels};
    use antsreg_syn::Metric;

    use super::*;
    use crate::{Options, Stage};

    #[test]
    fn a_window_is_too_wide_for_a_gpu_where_tiled_kernels_are_needed() {
        let most = CcParameters::MOST_TILED_RADIUS;
        let too_wide = |radius, derivative, metrics: &[Metric], masked| {
            let channels = metrics.iter().map(|metric| syn::Channel { metric: *metric, weight: 1.0 }).collect();
            let options = syn::Options { radius, derivative, channels, ..Default::default() };
            Options { stages: vec![Stage::Deformable(options)], ..Default::default() }.too_wide_for_gpu(masked)
        };
        let found = too_wide(most + 1, CcDerivative::Exact, &[Metric::Cc], false).expect("too wide");
        assert_eq!(found, TooWide { radius: most + 1, most });
        assert!(found.to_string().contains(&format!("up to {most}")));
        assert!(too_wide(most + 1, CcDerivative::Centre, &[Metric::Cc], true).is_some());
        assert!(too_wide(most + 1, CcDerivative::Exact, &[Metric::Mattes, Metric::Cc], false).is_some());
        assert_eq!(too_wide(most + 1, CcDerivative::Centre, &[Metric::Cc], false), None);
        assert_eq!(too_wide(most, CcDerivative::Exact, &[Metric::Cc], true), None);
        assert_eq!(too_wide(most + 1, CcDerivative::Exact, &[Metric::Mattes], true), None);
        let textures = syn::Options { radius: most + 1, cc_kernels: CcKernels::Textures, ..Default::default() };
        let textures = Options { stages: vec![Stage::Deformable(textures)], ..Default::default() };
        assert_eq!(textures.too_wide_for_gpu(true), None);
        let linear = Options { stages: vec![Stage::Linear(Default::default())], ..Default::default() };
        assert_eq!(linear.too_wide_for_gpu(true), None);
    }
}
