//! The compiled schemes of `cu/histograms/`.

use std::sync::Arc;

use crate::Error;
use crate::cuda::code::{Code, code};
use crate::cuda::device::Device;
use crate::cuda::module::{Kernel, Loaded};

macro_rules! scheme {
    ($file:literal, [$($kernel:ident),+ $(,)?]) => {
        code!(concat!("histograms/", $file), &[$(stringify!($kernel)),+])
    };
}

/// All of them.
pub(in crate::cuda) const CODE: [Code; 15] = [
    scheme!("cr_bricks", [cr_bricks_given, cr_bricks_exact, cr_bricks_filtered]),
    scheme!("cr_conflict_free", [cr_conflict_free]),
    scheme!("cr_global", [cr_global_atomic, cr_global_atomic_double, cr_global_shadows]),
    scheme!("cr_shared", [cr_shared_atomic, cr_shared_rows, cr_warp_rows]),
    scheme!("cr_slabs", [cr_slabs_given, cr_slabs_exact, cr_slabs_filtered]),
    scheme!("cr_tiled", [cr_tiled_given, cr_tiled_exact, cr_tiled_filtered]),
    scheme!("merge", [merge_sums, merge_parts, merge_counts, sum_rows, hold]),
    scheme!("mi_adaptive", [mi_adaptive]),
    scheme!("mi_bricks", [mi_bricks_given, mi_bricks_exact, mi_bricks_filtered]),
    scheme!("mi_global", [mi_global_atomic, mi_columns]),
    scheme!("mi_rows", [mi_rows]),
    scheme!(
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
    scheme!("mi_sort_count", [mi_sort_count]),
    scheme!(
        "mi_thread_shadows",
        [mi_thread_shadows_0, mi_thread_shadows_1, mi_thread_shadows_2, mi_thread_shadows_4, mi_thread_shadows_8]
    ),
    scheme!("mi_warp_shadows", [mi_warp_shadows]),
];

/// The schemes' kernels, by name.
pub(super) struct Kernels {
    kernels: Vec<Kernel>,
    _loaded: Vec<Loaded>,
}

impl Kernels {
    pub(super) fn load(device: &Arc<Device>) -> Result<Kernels, Error> {
        let loaded = CODE.iter().map(|code| Loaded::new(code, device)).collect::<Result<Vec<_>, _>>()?;
        let mut kernels = Vec::new();
        for (code, module) in CODE.iter().zip(&loaded) {
            for name in code.kernels {
                kernels.push(module.kernel(name)?);
            }
        }
        Ok(Kernels { kernels, _loaded: loaded })
    }

    pub(super) fn get(&self, name: &'static str) -> Result<&Kernel, Error> {
        self.kernels.iter().find(|kernel| kernel.name == name).ok_or(Error::MissingKernel { kernel: name })
    }
}
