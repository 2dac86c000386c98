//! The compiled code of the CUDA files in `cu/`, which are the histogram algorithms, and their kernels by name.

use antsreg_kernels::cuda::extension::{Kernel, Module};
use antsreg_kernels::cuda::{Code, Embedded};
use antsreg_kernels::{Cuda, Error};

/// Makes the description of a CUDA file in `cu/` from which its kernels are loaded: its compiled code (PTX) and the
/// names of its kernels.
macro_rules! scheme {
    ($file:literal, [$($kernel:ident),+ $(,)?]) => {
        Code {
            name: $file,
            ptx: Embedded::Plain(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/cu/", $file, ".ptx"))),
            cubin: Embedded::Plain(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/cu/", $file, ".sm_90.cubin"))),
            kernels: &[$(stringify!($kernel)),+],
        }
    };
}

/// The compiled code of all GPU algorithms for histograms, in the order of the file names.
pub const CODE: [Code; 15] = [
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

/// The compiled CUDA kernels of all algorithms, found by name.
pub(super) struct Kernels(Vec<Module>);

impl Kernels {
    pub(super) fn load(cuda: &Cuda) -> Result<Kernels, Error> {
        Ok(Kernels(CODE.iter().map(|code| Module::load(cuda, code)).collect::<Result<_, _>>()?))
    }

    pub(super) fn get(&self, name: &'static str) -> Result<&Kernel, Error> {
        self.0.iter().find_map(|module| module.kernel(name)).ok_or(Error::MissingKernel { kernel: name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_stands_in_its_files() {
        for Code { name, ptx, cubin, kernels } in CODE {
            let (ptx, cubin) = (ptx.text().expect("text"), cubin.bytes().expect("bytes"));
            assert!(ptx.contains(".target sm_70\n"), "{name}.ptx has another target");
            for kernel in kernels {
                let section = format!("\0.text.{kernel}\0");
                assert!(ptx.contains(&format!(".entry {kernel}(")), "{kernel} is not in {name}.ptx");
                assert!(
                    cubin.windows(section.len()).any(|at| at == section.as_bytes()),
                    "nor in the cubin: {kernel}"
                );
            }
        }
    }
}
