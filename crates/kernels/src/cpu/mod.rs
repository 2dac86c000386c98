//! The CPU backend: every operation of [`Backend`](crate::Backend) on rayon's threads, one file per operation.
//! `backend.rs` names the function of each operation.
//!
//! The work is divided into slabs of z slices, that of the windowed correlation into blocks of rows and slices. No
//! result depends on the number of slabs or threads: sums are made per slice, or per rows of a block in a slice, and
//! added in the order of the slices.

mod backend;
mod bias;
mod box_sums;
mod contrast;
mod corners;
mod correlation_ratio;
mod cross_correlation;
mod extent;
mod field;
mod fit_sums;
mod fusion;
mod gradient;
mod image;
mod intensity;
mod invert;
mod jacobian;
mod joint_histogram;
mod lanes;
mod mattes;
mod mix;
mod moments;
mod relax;
mod resample;
mod samples;
mod scores;
mod sinc;
mod smooth;
mod spline;

pub use bias::BiasMesh;
pub use correlation_ratio::FixedBins;
pub use cross_correlation::CcWorkspace;
pub use field::Field;
pub use image::Image;
pub use mattes::MiWorkspace;
pub use relax::Relaxation;

/// The CPU backend. It computes on the rayon thread pool of the calling thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu;

/// Runs `operation` compiled for the widest vectors of this processor. Only code marked `inline(always)` is compiled in
/// this way; other closures and functions are compiled for the minimal processor.
#[inline(always)]
fn widest<R>(operation: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(operation)
}

/// Divides a row of at least `lanes` values into blocks of `lanes` values, as vectorised loops process them. Returns
/// the index of the first value of each block. The last block may overlap the one before.
#[inline(always)]
fn blocks(len: usize, lanes: usize) -> impl Iterator<Item = usize> {
    (0..len.div_ceil(lanes)).map(move |block| (block * lanes).min(len - lanes))
}

/// Number of slices that one task of a volume of `nz` slices processes: a few tasks for each thread, to balance tasks
/// of unequal cost.
fn slab(nz: usize) -> usize {
    nz.div_ceil(4 * rayon::current_num_threads()).max(1)
}

/// Number of voxels of the slices that one task of a volume processes.
fn piece([nx, ny, nz]: [usize; 3]) -> usize {
    nx * ny * slab(nz)
}

#[cfg(test)]
mod tests {
    use super::slab;

    #[test]
    fn each_thread_gets_a_few_tasks() {
        for threads in [1, 3, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let tasks = 1000usize.div_ceil(slab(1000));
                assert!((3 * threads..=4 * threads).contains(&tasks), "{tasks} tasks for {threads} threads");
                assert_eq!(slab(1), 1);
            });
        }
    }
}
