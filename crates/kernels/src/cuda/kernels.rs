//! The kernels: compiled by the driver, every name resolved when its module is loaded.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use cust::module::Module;
use cust::sys;

use super::device::{Device, check, driver_error};
use super::ptx::Ptx;
use crate::Error;

/// A kernel of a loaded module.
pub(super) struct Kernel {
    pub(super) name: &'static str,
    function: sys::CUfunction,
    /// Blocks that share a multiprocessor, by their warps.
    resident: [OnceLock<usize>; 33],
}

// SAFETY: a driver handle, valid from any thread while its module is loaded.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    pub(super) fn function(&self) -> sys::CUfunction {
        self.function
    }

    /// Blocks of so many threads, whole warps of them, that share a multiprocessor, at least one.
    pub(super) fn resident_blocks(&self, threads: u32) -> Result<usize, Error> {
        let known = self.resident.get(threads as usize / 32);
        if let Some(blocks) = known.and_then(OnceLock::get) {
            return Ok(*blocks);
        }
        let mut blocks = 0;
        // SAFETY: `blocks` is valid for writing, the function belongs to a loaded module.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.function, threads as i32, 0)
        };
        check(self.name, result)?;
        let blocks = blocks.max(1) as usize;
        Ok(known.map_or(blocks, |known| *known.get_or_init(|| blocks)))
    }
}

/// Kernels compiled together; they are unloaded before their device goes.
pub(super) struct Loaded {
    module: Option<Module>,
    device: Arc<Device>,
}

impl Loaded {
    pub(super) fn new(ptx: &Ptx, device: &Arc<Device>) -> Result<Loaded, Error> {
        device.bind(ptx.name)?;
        let module = Module::from_ptx(ptx.without_others(), &[]).map_err(|error| driver_error(ptx.name, error))?;
        Ok(Loaded { module: Some(module), device: device.clone() })
    }

    pub(super) fn kernel(&self, name: &'static str) -> Result<Kernel, Error> {
        let function = self.module.iter().find_map(|module| module.get_function(name).ok());
        let function = function.ok_or(Error::MissingKernel { kernel: name })?;
        Ok(Kernel { name, function: function.to_raw(), resident: [const { OnceLock::new() }; 33] })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Unloading needs the context; if it is gone, so is the module.
        if self.device.synchronize("unload").is_err() {
            std::mem::forget(self.module.take());
        }
    }
}

/// A struct of kernels of one source file that are loaded together.
macro_rules! module {
    ($type:ident, $file:literal, [$($kernel:ident),+ $(,)?]) => {
        pub(super) struct $type {
            $(pub(super) $kernel: Kernel,)+
            _loaded: Loaded,
        }

        impl $type {
            pub(super) const PTX: Ptx = Ptx {
                name: $file,
                text: include_str!(concat!("../../cu/", $file, ".ptx")),
                kernels: &[$(stringify!($kernel)),+],
            };

            fn load(device: &Arc<Device>) -> Result<Self, Error> {
                let loaded = Loaded::new(&Self::PTX, device)?;
                Ok($type { $($kernel: loaded.kernel(stringify!($kernel))?,)+ _loaded: loaded })
            }
        }
    };
}

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
module!(CcDirect, "cc_direct", [cc_direct_terms, cc_direct_update]);
module!(Compose, "compose", [compose_fields, advance]);
module!(Correlation, "correlation", [correlation]);
module!(GradientMagnitude, "gradient_magnitude", [gradient_magnitude]);
module!(Intensity, "intensity", [count_keys, clip]);
module!(Invert, "invert", [invert]);
module!(Jacobian, "jacobian", [jacobian_determinant]);
module!(JointHistogram, "joint_histogram", [joint_rows_trilinear, joint_rows_partial, joint_counts, joint_entropies]);
module!(Layout, "layout", [split_vectors, split_turned, join_vectors, join_turned]);
module!(Mattes, "mattes", [mattes_histograms, mattes_logarithms, mattes_update, mattes_update_wide]);
module!(MaxNorm, "max_norm", [max_norm]);
module!(Mix, "mix", [magnitude, add_scaled]);
module!(Moments, "moments", [moments, moments_totals]);
module!(Resample, "resample", [resample]);
module!(ResizeField, "resize_field", [resize_field]);
module!(Scores, "scores", [jacobian_summary, inverse_consistency]);
module!(Smooth, "smooth", [smooth_axis, blend]);
module!(Smooth3, "smooth_3", [smooth_3]);
module!(Smooth4, "smooth_4", [smooth_4]);
module!(Smooth6, "smooth_6", [smooth_6]);
module!(Smooth8, "smooth_8", [smooth_8]);
module!(Sinc, "sinc", [warp_sinc]);
module!(Spline, "spline", [spline_rows, spline_lines, warp_spline]);
module!(Relax, "relax", [examine, smooth_listed, change_listed, follow_marked]);
module!(Warp, "warp", [warp_linear, warp_nearest]);

/// The kernels of the windowed cross-correlation, one after the other as `CC_TILED` names them.
#[derive(Debug, Clone, Copy)]
pub(super) enum CcKernel {
    Centre,
    CentreMasked,
    Terms,
    TermsMasked,
    Exact,
}

macro_rules! cc_tiled_ptx {
    ($($radius:literal),+) => {
        [$(Ptx {
            name: concat!("cc_tiled_", $radius),
            text: include_str!(concat!("../../cu/cc_tiled_", $radius, ".ptx")),
            kernels: &[
                concat!("cc_centre_", $radius),
                concat!("cc_centre_masked_", $radius),
                concat!("cc_terms_", $radius),
                concat!("cc_terms_masked_", $radius),
                concat!("cc_exact_", $radius),
            ],
        }),+]
    };
}

/// Radius 1 first.
pub(super) const CC_TILED: [Ptx; 5] = cc_tiled_ptx!(1, 2, 3, 4, 5);

/// A kernel that is loaded alone.
struct Alone {
    kernel: Kernel,
    _loaded: Loaded,
}

impl Alone {
    /// The kernel of this number in the file.
    fn load(ptx: &Ptx, number: usize, device: &Arc<Device>) -> Result<Alone, Error> {
        let name = ptx.kernels[number];
        let loaded = Loaded::new(&Ptx { kernels: &ptx.kernels[number..=number], ..*ptx }, device)?;
        Ok(Alone { kernel: loaded.kernel(name)?, _loaded: loaded })
    }
}

/// Every compiled source file, with the kernels that are loaded together of it.
fn groups() -> Vec<Ptx> {
    let mut all = vec![
        BinFixed::PTX,
        CcDirect::PTX,
        Compose::PTX,
        Correlation::PTX,
        CorrelationRatio::PTX,
        RatioBricks::PTX,
        RatioBricksFiltered::PTX,
        GradientMagnitude::PTX,
        Intensity::PTX,
        Invert::PTX,
        Jacobian::PTX,
        JointHistogram::PTX,
        Layout::PTX,
        Mattes::PTX,
        MaxNorm::PTX,
        Mix::PTX,
        Moments::PTX,
        Resample::PTX,
        ResizeField::PTX,
        Scores::PTX,
        Smooth::PTX,
        Smooth3::PTX,
        Smooth4::PTX,
        Smooth6::PTX,
        Smooth8::PTX,
        Sinc::PTX,
        Spline::PTX,
        Relax::PTX,
        Warp::PTX,
    ];
    all.extend(CC_TILED);
    all.extend(super::histograms::PTX);
    all
}

/// Name and text of every compiled source file, in the order of their names.
pub fn all_ptx() -> BTreeMap<&'static str, &'static str> {
    groups().iter().map(|ptx| (ptx.name, ptx.text)).collect()
}

/// All kernels of a device: those that nearly every registration needs, and others that are loaded when first used.
pub(super) struct Kernels {
    pub(super) bin_fixed: BinFixed,
    pub(super) compose: Compose,
    pub(super) correlation: Correlation,
    pub(super) ratio_bricks: RatioBricks,
    pub(super) intensity: Intensity,
    pub(super) invert: Invert,
    pub(super) layout: Layout,
    pub(super) max_norm: MaxNorm,
    pub(super) mix: Mix,
    pub(super) resample: Resample,
    pub(super) resize_field: ResizeField,
    pub(super) scores: Scores,
    pub(super) smooth: Smooth,
    pub(super) relax: Relax,
    pub(super) warp: Warp,
    later: Later,
    cc_tiled: [[OnceLock<Alone>; 5]; CC_TILED.len()],
}

/// Loads modules side by side: where the driver has not kept them from an earlier run, it compiles each.
macro_rules! load_at_once {
    ($device:ident, $($field:ident: $type:ident),+ $(,)?) => {
        std::thread::scope(|scope| {
            $(let $field = scope.spawn(|| $type::load($device));)+
            Ok(Kernels {
                $($field: $field.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,)+
                later: Later::default(),
                cc_tiled: Default::default(),
            })
        })
    };
}

/// Modules that are loaded when first used: each takes the driver a while to compile.
macro_rules! load_later {
    ($($field:ident: $type:ident),+ $(,)?) => {
        #[derive(Default)]
        struct Later {
            $($field: OnceLock<$type>,)+
        }

        impl Kernels {
            $(pub(super) fn $field(&self, device: &Arc<Device>) -> Result<&$type, Error> {
                once(&self.later.$field, || $type::load(device))
            })+
        }
    };
}

load_later!(
    cc_direct: CcDirect,
    correlation_ratio: CorrelationRatio,
    gradient_magnitude: GradientMagnitude,
    jacobian: Jacobian,
    joint_histogram: JointHistogram,
    mattes: Mattes,
    moments: Moments,
    ratio_bricks_filtered: RatioBricksFiltered,
    sinc: Sinc,
    smooth_3: Smooth3,
    smooth_4: Smooth4,
    smooth_6: Smooth6,
    smooth_8: Smooth8,
    spline: Spline,
);

impl Kernels {
    pub(super) fn load(device: &Arc<Device>) -> Result<Kernels, Error> {
        load_at_once!(
            device,
            bin_fixed: BinFixed,
            compose: Compose,
            correlation: Correlation,
            ratio_bricks: RatioBricks,
            intensity: Intensity,
            invert: Invert,
            layout: Layout,
            max_norm: MaxNorm,
            mix: Mix,
            resample: Resample,
            resize_field: ResizeField,
            scores: Scores,
            smooth: Smooth,
            relax: Relax,
            warp: Warp,
        )
    }

    /// A kernel of the tiled cross-correlation of this radius.
    pub(super) fn cc_tiled(&self, which: CcKernel, radius: usize, device: &Arc<Device>) -> Result<&Kernel, Error> {
        let index = radius.checked_sub(1).filter(|index| *index < CC_TILED.len());
        let index = index.ok_or(Error::Radius { radius, least: 1, most: CC_TILED.len() })?;
        let number = which as usize;
        let alone = once(&self.cc_tiled[index][number], || Alone::load(&CC_TILED[index], number, device))?;
        Ok(&alone.kernel)
    }
}

/// The value of a cell, made if it is empty. Two threads may both make it; one is kept.
fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_stands_in_its_ptx() {
        for ptx in groups() {
            for kernel in ptx.kernels {
                assert!(ptx.text.contains(&format!(".entry {kernel}(")), "{kernel} is not in {}.ptx", ptx.name);
            }
        }
    }

    #[test]
    fn the_ptx_is_for_volta_and_later() {
        for (name, text) in all_ptx() {
            assert!(text.contains(".target sm_70\n"), "{name}.ptx has another target");
        }
    }
}
