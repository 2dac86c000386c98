//! The CPU backend: every operation of [`Backend`](crate::Backend) on rayon's threads, one folder for each family.
//! A family's `mod.rs` implements its trait; an operation of more than a few lines has a file of its name.
//!
//! The work is divided into blocks of rows and slices, or into rows or slices. No result depends on the division or on
//! the number of threads: sums are made per row or slice, and added in their order.

mod backdrop;
mod bias;
mod blocks;
mod box_sums;
mod cells;
mod corners;
mod extent;
mod field;
mod fields;
mod fusion;
mod gradient;
mod image;
mod intensity;
mod lanes;
mod line;
mod memory;
mod points;
mod relaxation;
mod rows;
mod similarity;
mod warping;
mod whole;

pub use bias::BiasMesh;
pub use field::Field;
pub use image::Image;
pub use intensity::signed_distance;
pub use relaxation::RelaxWorkspace;
pub use similarity::{CcWorkspace, FixedBins, MiWorkspace};

use crate::huge_pages;

/// The CPU backend. It computes on the rayon thread pool of the calling thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu;

/// Zeros for the values of a volume, in huge pages where the system has them.
fn zeros(count: usize) -> Vec<f32> {
    let mut zeros = vec![0.0; count];
    // Below this size the advice costs more time than it saves.
    if size_of_val(&zeros[..]) >= 1 << 22 {
        huge_pages::advise(&mut zeros);
    }
    zeros
}

/// Runs `operation` compiled for the widest vectors of this processor. Only code marked `inline(always)` is compiled in
/// this way; other closures and functions are compiled for the minimal processor.
#[inline(always)]
fn widest<R>(operation: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(operation)
}
