//! The compiled schemes of `cu/histograms/`.

use std::sync::Arc;

use crate::Error;
use crate::cuda::device::Device;
use crate::cuda::module::{Kernel, Loaded};
use crate::cuda::ptx::Ptx;

macro_rules! ptx {
    ($file:literal, [$($kernel:ident),+ $(,)?]) => {
        Ptx {
            name: concat!("histograms/", $file),
            text: include_str!(concat!("../../../cu/histograms/", $file, ".ptx")),
            kernels: &[$(stringify!($kernel)),+],
        }
    };
}

/// All of them.
pub(in crate::cuda) const PTX: [Ptx; 15] = [
    ptx!("cr_bricks", [cr_bricks_given, cr_bricks_exact, cr_bricks_filtered]),
    ptx!("cr_conflict_free", [cr_conflict_free]),
    ptx!("cr_global", [cr_global_atomic, cr_global_atomic_double, cr_global_shadows]),
    ptx!("cr_shared", [cr_shared_atomic, cr_shared_rows, cr_warp_rows]),
    ptx!("cr_slabs", [cr_slabs_given, cr_slabs_exact, cr_slabs_filtered]),
    ptx!("cr_tiled", [cr_tiled_given, cr_tiled_exact, cr_tiled_filtered]),
    ptx!("merge", [merge_sums, merge_parts, merge_counts, sum_rows, hold]),
    ptx!("mi_adaptive", [mi_adaptive]),
    ptx!("mi_bricks", [mi_bricks_given, mi_bricks_exact, mi_bricks_filtered]),
    ptx!("mi_global", [mi_global_atomic, mi_columns]),
    ptx!("mi_rows", [mi_rows]),
    ptx!(
        "mi_slabs",
        [
            mi_slabs_16_given,
            mi_slabs_16_exact,
            mi_slabs_16_filtered,
            mi_slabs_32_given,
            mi_slabs_32_exact,
            mi_slabs_32_filtered
        ]
    ),
    ptx!("mi_sort_count", [mi_sort_count]),
    ptx!(
        "mi_thread_shadows",
        [mi_thread_shadows_0, mi_thread_shadows_1, mi_thread_shadows_2, mi_thread_shadows_4, mi_thread_shadows_8]
    ),
    ptx!("mi_warp_shadows", [mi_warp_shadows]),
];

/// The schemes' kernels, by name.
pub(super) struct Kernels {
    kernels: Vec<Kernel>,
    _loaded: Vec<Loaded>,
}

impl Kernels {
    pub(super) fn load(device: &Arc<Device>) -> Result<Kernels, Error> {
        let loaded = PTX.iter().map(|ptx| Loaded::new(ptx, device)).collect::<Result<Vec<_>, _>>()?;
        let mut kernels = Vec::new();
        for (ptx, module) in PTX.iter().zip(&loaded) {
            for name in ptx.kernels {
                kernels.push(module.kernel(name)?);
            }
        }
        Ok(Kernels { kernels, _loaded: loaded })
    }

    pub(super) fn get(&self, name: &'static str) -> Result<&Kernel, Error> {
        self.kernels.iter().find(|kernel| kernel.name == name).ok_or(Error::MissingKernel { kernel: name })
    }
}
