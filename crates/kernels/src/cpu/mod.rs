//! The CPU: every operation of [`Backend`](crate::Backend) on rayon's threads, one file an operation. `backend.rs` names the
//! function of each operation.
//!
//! Work is cut into slabs of z slices. No result depends on how many slabs or threads there are: sums are made per
//! slice and added in the order of the slices.

mod backend;
mod box_sums;
mod corners;
mod correlation_ratio;
mod cross_correlation;
mod field;
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

pub use correlation_ratio::FixedBins;
pub use cross_correlation::CcWorkspace;
pub use field::Field;
pub use image::Image;
pub use mattes::MiWorkspace;
pub use relax::Relaxation;

/// The CPU backend. It uses the rayon pool it is called in.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu;

/// Runs `operation` compiled for the widest vectors this processor has: as much of it as is always inlined. A closure or a
/// function that is not marked so is compiled for the least of processors.
#[inline(always)]
fn widest<R>(operation: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(operation)
}

/// Where blocks of `lanes` values begin that cover a row of at least as many: the last one may overlap the one before.
#[inline(always)]
fn blocks(len: usize, lanes: usize) -> impl Iterator<Item = usize> {
    (0..len.div_ceil(lanes)).map(move |block| (block * lanes).min(len - lanes))
}

/// Slices in one thread's piece of a volume of `nz`: a few pieces for each thread, so that uneven ones even out.
fn slab(nz: usize) -> usize {
    nz.div_ceil(4 * rayon::current_num_threads()).max(1)
}
