//! The kernels of each CUDA source file, and when their modules are loaded.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::code::{Code, code};
use super::device::Device;
use super::module::{Alone, Kernel, Loaded, once};
use crate::fusion::Parameters;
use crate::{CcParameters, Error};

/// Declares a struct that contains the kernels of one CUDA source file, which are loaded together.
macro_rules! module {
    ($type:ident, $file:literal, [$($kernel:ident),+ $(,)?]) => {
        pub(super) struct $type {
            $(pub(super) $kernel: Kernel,)+
            _loaded: Loaded,
        }

        impl $type {
            pub(super) const CODE: Code = code!($file, &[$(stringify!($kernel)),+]);

            fn load(device: &Arc<Device>) -> Result<Self, Error> {
                let loaded = Loaded::new(&Self::CODE, device)?;
                Ok($type { $($kernel: loaded.kernel(stringify!($kernel))?,)+ _loaded: loaded })
            }
        }
    };
}

module!(
    Bias,
    "bias",
    [bias_residuals, bias_gather, bias_add, bias_planes, bias_subtract, bias_totals, bias_histogram, bias_factors]
);
module!(BinFixed, "bin_fixed", [count_bins, scan_bins, scatter_bins]);
module!(
    CorrelationRatio,
    "correlation_ratio",
    [correlation_ratio_exact, correlation_ratio_filtered, correlation_ratio_costs]
);
module!(
    RatioBricks,
    "correlation_ratio_bricks",
    [ratio_bricks_exact, ratio_bricks_costs, place_bins, empty_cells, cell_distances]
);
module!(RatioBricksFiltered, "correlation_ratio_bricks", [ratio_bricks_filtered]);
module!(CcDirect, "cc_direct", [cc_direct_terms, cc_direct_gradient, cc_direct_windows, cc_direct_exact]);
module!(Compose, "compose", [compose_fields, advance]);
module!(Contrast, "contrast", [contrast]);
module!(Correlation, "correlation", [correlation]);
module!(Deflate, "deflate", [deflate_plan, deflate_write]);
module!(Distance, "distance", [distance_along_rows, distance_across_rows]);
module!(FitSums, "fit_sums", [fit_sums, fit_totals]);
module!(Fusion, "fusion", [fusion_means, fusion_boxes, fusion_weights]);
module!(GradientMagnitude, "gradient_magnitude", [gradient_magnitude, gradient_profile]);
module!(Intensity, "intensity", [count_keys, clip, map_intensities]);
module!(Invert, "invert", [invert]);
module!(Jacobian, "jacobian", [jacobian_determinant]);
module!(JointHistogram, "joint_histogram", [joint_rows_trilinear, joint_rows_partial, joint_counts, joint_entropies]);
module!(Layout, "layout", [split_vectors, split_turned, join_vectors, join_turned, turned_planes, round_vectors]);
module!(MapAxis, "map_axis", [map_axis]);
module!(Mattes, "mattes", [mattes_histograms, mattes_logarithms, mattes_gradient, mattes_gradient_wide]);
module!(MaxNorm, "max_norm", [max_norm]);
module!(Mix, "mix", [magnitude, add_scaled]);
module!(Moments, "moments", [moments, moments_totals]);
module!(Resample, "resample", [resample]);
module!(ResizeField, "resize_field", [resize_field]);
module!(Scores, "scores", [jacobian_summary, inverse_consistency]);
module!(Smooth, "smooth", [smooth_axis, blend]);
module!(Smooth3, "smooth_3", [smooth_3]);
module!(Smooth4, "smooth_4", [smooth_4]);
module!(Smooth5, "smooth_5", [smooth_5]);
module!(Smooth6, "smooth_6", [smooth_6]);
module!(Smooth8, "smooth_8", [smooth_8]);
module!(Sinc, "sinc", [warp_sinc]);
module!(Spline, "spline", [spline_rows, spline_lines, warp_spline]);
module!(Relax, "relax", [examine, unfold_listed, smooth_marked, change_listed, follow_marked]);
module!(Update, "update", [update]);
module!(Warp, "warp", [warp_linear, warp_nearest]);

/// The kernels that compute the cross-correlation on tiles of the volume. Each element of `CC_TILED`, the code for one
/// window radius, has its kernels in this order.
#[derive(Debug, Clone, Copy)]
pub(super) enum CcKernel {
    Centre,
    CentreMasked,
    Terms,
    TermsMasked,
    Exact,
}

macro_rules! cc_tiled {
    ($($radius:literal),+) => {
        [$(code!(
            concat!("cc_tiled_", $radius),
            &[
                concat!("cc_centre_", $radius),
                concat!("cc_centre_masked_", $radius),
                concat!("cc_terms_", $radius),
                concat!("cc_terms_masked_", $radius),
                concat!("cc_exact_", $radius),
            ]
        )),+]
    };
}

/// The compiled code of the tiled cross-correlation for each radius, from radius 1 on.
pub(super) const CC_TILED: [Code; CcParameters::MOST_TILED_RADIUS] = cc_tiled!(1, 2, 3, 4, 5);

/// The kernels of label fusion for one patch radius.
pub(super) struct FusionOfRadius {
    pub(super) patches: Kernel,
    pub(super) search: Kernel,
    pub(super) errors: Kernel,
    _loaded: Loaded,
}

macro_rules! fusion_of_radius {
    ($($radius:literal),+) => {
        [$(code!(
            "fusion",
            &[
                concat!("fusion_patches_", $radius),
                concat!("fusion_search_", $radius),
                concat!("fusion_errors_", $radius),
            ]
        )),+]
    };
}

/// The compiled code of label fusion for each patch radius, from radius 1 on.
const FUSION_OF_RADIUS: [Code; Parameters::MOST_PATCH_RADIUS] = fusion_of_radius!(1, 2, 3, 4, 5, 6, 7, 8);

impl FusionOfRadius {
    fn load(code: &Code, device: &Arc<Device>) -> Result<FusionOfRadius, Error> {
        let loaded = Loaded::new(code, device)?;
        let kernel = |number: usize| loaded.kernel(code.kernels[number]);
        Ok(FusionOfRadius { patches: kernel(0)?, search: kernel(1)?, errors: kernel(2)?, _loaded: loaded })
    }
}

/// Declares the groups of kernels: what they are called, and the kernels of each, which are loaded when first used.
macro_rules! groups {
    ($($field:ident: $type:ident),+ $(,)?) => {
        /// Kernels that are loaded together. The driver needs some milliseconds to load a group, and up to a second
        /// if it must compile the group from PTX.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum KernelGroup {
            $(
                #[doc = concat!("The kernels of `", stringify!($field), "`.")]
                $type,
            )+
            /// The kernels of the exact derivative of the tiled cross-correlation without masks.
            CcExact {
                /// Radius of the windows, voxels.
                radius: usize,
            },
        }

        /// All kernels of a device.
        #[derive(Default)]
        pub(super) struct Kernels {
            $($field: OnceLock<$type>,)+
            cc_tiled: [[OnceLock<Alone>; 5]; CC_TILED.len()],
            fusion_of_radius: [OnceLock<FusionOfRadius>; FUSION_OF_RADIUS.len()],
        }

        const GROUPS: &[Code] = &[$($type::CODE),+];

        impl Kernels {
            $(pub(super) fn $field(&self, device: &Arc<Device>) -> Result<&$type, Error> {
                once(&self.$field, || $type::load(device))
            })+

            /// Loads a group of kernels, unless this was done before.
            pub(super) fn load(&self, group: KernelGroup, device: &Arc<Device>) -> Result<(), Error> {
                match group {
                    $(KernelGroup::$type => self.$field(device).map(drop),)+
                    KernelGroup::CcExact { radius } => [CcKernel::Terms, CcKernel::Exact]
                        .into_iter()
                        .try_for_each(|which| self.cc_tiled(which, radius, device).map(drop)),
                }
            }
        }
    };
}

groups!(
    bias: Bias,
    bin_fixed: BinFixed,
    cc_direct: CcDirect,
    compose: Compose,
    contrast: Contrast,
    correlation: Correlation,
    correlation_ratio: CorrelationRatio,
    deflate: Deflate,
    distance: Distance,
    fit_sums: FitSums,
    fusion: Fusion,
    gradient_magnitude: GradientMagnitude,
    intensity: Intensity,
    invert: Invert,
    jacobian: Jacobian,
    joint_histogram: JointHistogram,
    layout: Layout,
    map_axis: MapAxis,
    mattes: Mattes,
    max_norm: MaxNorm,
    mix: Mix,
    moments: Moments,
    ratio_bricks: RatioBricks,
    ratio_bricks_filtered: RatioBricksFiltered,
    relax: Relax,
    resample: Resample,
    resize_field: ResizeField,
    scores: Scores,
    sinc: Sinc,
    smooth: Smooth,
    smooth_3: Smooth3,
    smooth_4: Smooth4,
    smooth_5: Smooth5,
    smooth_6: Smooth6,
    smooth_8: Smooth8,
    spline: Spline,
    update: Update,
    warp: Warp,
);

/// The kernels that a caller will need, so that they are loaded before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Preload {
    /// Loaded while the device is opened, all at the same time.
    pub at_once: &'static [KernelGroup],
    /// Loaded afterwards by a thread, one after the other in this order. On chips for which the driver must compile
    /// kernels, they are loaded when first used instead.
    pub ahead: &'static [KernelGroup],
}

impl Kernels {
    /// A kernel of the tiled cross-correlation with windows of this radius.
    pub(super) fn cc_tiled(&self, which: CcKernel, radius: usize, device: &Arc<Device>) -> Result<&Kernel, Error> {
        let index = radius.checked_sub(1).filter(|index| *index < CC_TILED.len());
        let index = index.ok_or(Error::Radius { radius, least: 1, most: CC_TILED.len() })?;
        let number = which as usize;
        let alone = once(&self.cc_tiled[index][number], || Alone::load(&CC_TILED[index], number, device))?;
        Ok(&alone.kernel)
    }

    /// Loads groups of kernels, all at the same time.
    pub(super) fn load_all(&self, groups: &[KernelGroup], device: &Arc<Device>) -> Result<(), Error> {
        std::thread::scope(|scope| {
            let threads: Vec<_> = groups.iter().map(|group| scope.spawn(|| self.load(*group, device))).collect();
            let mut done = threads.into_iter().map(|thread| thread.join());
            done.try_for_each(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    /// The kernels of label fusion for patches of this radius.
    pub(super) fn fusion_of_radius(&self, radius: usize, device: &Arc<Device>) -> Result<&FusionOfRadius, Error> {
        let most = FUSION_OF_RADIUS.len();
        let index = radius.checked_sub(1).filter(|index| *index < most);
        let index = index.ok_or(Error::FusionRadius { what: "patch", radius, least: 1, most })?;
        once(&self.fusion_of_radius[index], || FusionOfRadius::load(&FUSION_OF_RADIUS[index], device))
    }
}

/// The compiled code of every source file, with the names of the kernels that are loaded from it.
fn files() -> impl Iterator<Item = &'static Code> {
    [GROUPS, &CC_TILED, &FUSION_OF_RADIUS].into_iter().flatten()
}

/// The compiled code of every source file, by the name of the file.
pub fn all_code() -> BTreeMap<&'static str, &'static Code> {
    files().map(|code| (code.name, code)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_stands_in_its_files() {
        for Code { name, ptx, cubin, kernels } in files() {
            let (ptx, cubin) = (ptx.text().expect("text"), cubin.bytes().expect("bytes"));
            for kernel in *kernels {
                let section = format!("\0.text.{kernel}\0");
                assert!(ptx.contains(&format!(".entry {kernel}(")), "{kernel} is not in {name}.ptx");
                assert!(
                    cubin.windows(section.len()).any(|at| at == section.as_bytes()),
                    "nor in the cubin: {kernel}"
                );
            }
        }
    }

    #[test]
    fn the_embedded_code_is_the_committed_one() {
        for (name, code) in all_code() {
            for (embedded, extension) in [(code.ptx, "ptx"), (code.cubin, "sm_90.cubin")] {
                let file = format!("{}/cu/{name}.{extension}", env!("CARGO_MANIFEST_DIR"));
                let committed = std::fs::read(&file).expect("the committed code");
                assert!(embedded.bytes().expect("bytes") == committed, "{file} is not what is embedded");
            }
        }
    }

    #[test]
    fn the_ptx_is_for_volta_and_later() {
        for (name, code) in all_code() {
            assert!(code.ptx.text().expect("text").contains(".target sm_70\n"), "{name}.ptx has another target");
        }
    }
}
