//! Windowed cross-correlation and the directions in which it grows.

mod window;

use rayon::prelude::*;

use super::box_sums::BoxSums;
use super::field::Field;
use super::gradient::{Gradient, Voxel};
use super::image::Image;
use super::{slab, wide};
use crate::{CcDerivative, CcParameters};
use window::{Sums, Terms};

/// Buffers of [`Backend::cc_update`](crate::Backend::cc_update).
#[derive(Debug)]
pub struct CcWorkspace {
    /// Slices of each slab, and its buffers.
    slices: usize,
    slabs: Vec<BoxSums>,
    /// Sums of each slice's windows.
    energies: Vec<Sums>,
    /// The exact derivative's five terms per window, voxel after voxel; empty until it is asked for.
    terms: Vec<[f32; 5]>,
}

impl CcWorkspace {
    pub(super) fn new([_, _, nz]: [usize; 3]) -> CcWorkspace {
        let slices = slab(nz);
        CcWorkspace {
            slices,
            slabs: (0..nz.div_ceil(slices)).map(|_| BoxSums::default()).collect(),
            energies: vec![Sums::default(); nz],
            terms: Vec::new(),
        }
    }
}

/// The two images, their masks and gradients, row by row.
struct Pair<'a> {
    shape: [usize; 3],
    fixed: &'a [f32],
    moving: &'a [f32],
    masks: [Option<&'a [f32]>; 2],
    gradient: Gradient,
    radius: usize,
    noise_variance: f32,
}

pub(super) fn start(
    fixed: &Image,
    moving: &Image,
    masks: [Option<&Image>; 2],
    parameters: &CcParameters,
    workspace: &mut CcWorkspace,
    fixed_update: &mut Field,
    moving_update: &mut Field,
) {
    let pair = Pair {
        shape: fixed.shape,
        fixed: &fixed.voxels,
        moving: &moving.voxels,
        masks: masks.map(|mask| mask.map(|mask| &mask.voxels[..])),
        gradient: Gradient::new(fixed.shape, parameters.spacing),
        radius: parameters.radius,
        noise_variance: parameters.noise_variance,
    };
    let updates = (fixed_update.vectors_mut(), moving_update.vectors_mut());
    match parameters.derivative {
        CcDerivative::Centre => pair.centre(workspace, updates),
        CcDerivative::Exact => pair.exact(workspace, updates),
    }
}

/// The energy of what was done last.
pub(super) fn energy(workspace: &CcWorkspace) -> f64 {
    let Sums { value, count, .. } = workspace.energies.iter().copied().sum();
    if count > 0.0 { -value / count } else { 0.0 }
}

/// The agreement of what was done last.
pub(super) fn agreement(workspace: &CcWorkspace) -> f64 {
    let Sums { value, weight, .. } = workspace.energies.iter().copied().sum();
    if weight > 0.0 { value / weight } else { 0.0 }
}

impl Pair<'_> {
    fn row(&self, j: usize, k: usize) -> std::ops::Range<usize> {
        let start = (k * self.shape[1] + j) * self.shape[0];
        start..start + self.shape[0]
    }

    #[inline(always)]
    fn inside(&self, voxel: usize) -> bool {
        self.masks.iter().flatten().all(|mask| mask[voxel] > 0.5)
    }

    /// Writes 1, I, J, I², J², IJ of a row, zero outside the masks.
    #[inline(always)]
    fn products(&self, j: usize, k: usize, [n, i, jm, ii, jj, ij]: [&mut [f32]; 6]) {
        let range = self.row(j, k);
        let (fixed, moving) = (&self.fixed[range.clone()], &self.moving[range.clone()]);
        if self.masks.iter().flatten().next().is_none() {
            n.fill(1.0);
        } else {
            for (x, n) in n.iter_mut().enumerate() {
                *n = f32::from(u8::from(self.inside(range.start + x)));
            }
        }
        for x in 0..n.len() {
            let (f, m) = (n[x] * fixed[x], n[x] * moving[x]);
            i[x] = f;
            jm[x] = m;
            ii[x] = f * f;
            jj[x] = m * m;
            ij[x] = f * m;
        }
    }

    /// Calls `take(voxel, terms)` for the window around every voxel of the slices from `first` on, with `None` where the
    /// voxel is not inside the masks; leaves each slice's sums in `energies`.
    #[inline(always)]
    fn each_window(
        &self,
        sums: &mut BoxSums,
        first: usize,
        energies: &mut [Sums],
        mut take: impl FnMut(Voxel, Option<Terms>),
    ) {
        energies.fill(Sums::default());
        sums.run::<6>(
            self.shape,
            self.radius,
            first..first + energies.len(),
            #[inline(always)]
            |j, k, rows| self.products(j, k, rows),
            #[inline(always)]
            |j, k, [n, i, jm, ii, jj, ij]| {
                let (mut value, mut weight, mut counted) = (0.0, 0.0, 0.0);
                let row = self.row(j, k);
                for x in 0..n.len() {
                    let here = row.start + x;
                    let terms = self
                        .inside(here)
                        .then(|| Terms::of([i[x], jm[x], ii[x], jj[x], ij[x]], n[x], self.noise_variance));
                    if let Some(terms) = &terms {
                        value += terms.value;
                        weight += terms.weight;
                        counted += 1.0;
                    }
                    take(Voxel { x, j, k, here }, terms);
                }
                let slice = &mut energies[k - first];
                slice.value += f64::from(value);
                slice.count += counted;
                slice.weight += f64::from(weight);
            },
        );
    }

    /// Both updates from the term of each window's centre.
    fn centre(&self, workspace: &mut CcWorkspace, (fixed_update, moving_update): (&mut [[f32; 3]], &mut [[f32; 3]])) {
        let slice = self.shape[0] * self.shape[1];
        let slices = workspace.slices;
        let outputs = fixed_update.par_chunks_mut(slice * slices).zip(moving_update.par_chunks_mut(slice * slices));
        let slabs = workspace.slabs.par_iter_mut().zip(workspace.energies.par_chunks_mut(slices));
        slabs.zip(outputs).enumerate().for_each(|(slab, ((sums, energies), (fixed_update, moving_update)))| {
            let first = slab * slices;
            wide(
                #[inline(always)]
                || {
                    self.each_window(
                        sums,
                        first,
                        energies,
                        #[inline(always)]
                        |voxel, terms| {
                            let slopes = terms.map(|terms| {
                                let f = self.fixed[voxel.here] - terms.fixed_mean;
                                let m = self.moving[voxel.here] - terms.moving_mean;
                                [terms.slope * (m - terms.on_fixed * f), terms.slope * (f - terms.on_moving * m)]
                            });
                            let [to_fixed, to_moving] = slopes.unwrap_or_default();
                            let local = voxel.here - first * slice;
                            fixed_update[local] = self.gradient.at(self.fixed, voxel).map(|g| to_fixed * g);
                            moving_update[local] = self.gradient.at(self.moving, voxel).map(|g| to_moving * g);
                        },
                    );
                },
            );
        });
    }

    /// Both updates from all windows that contain a voxel: with P = 2C/(A·B), the fixed one is
    /// (J·ΣP − ΣP·J̄ − I·ΣP·C/A + ΣP·Ī·C/A)·∇I, sums over the windows around the voxel, and its mirror.
    fn exact(&self, workspace: &mut CcWorkspace, (fixed_update, moving_update): (&mut [[f32; 3]], &mut [[f32; 3]])) {
        let slice = self.shape[0] * self.shape[1];
        let slices = workspace.slices;
        workspace.terms.resize(slice * self.shape[2], [0.0; 5]);
        let slabs = workspace.slabs.par_iter_mut().zip(workspace.energies.par_chunks_mut(slices));
        slabs.zip(workspace.terms.par_chunks_mut(slice * slices)).enumerate().for_each(
            |(slab, ((sums, energies), windows))| {
                let first = slab * slices;
                wide(
                    #[inline(always)]
                    || {
                        self.each_window(
                            sums,
                            first,
                            energies,
                            #[inline(always)]
                            |voxel, terms| {
                                windows[voxel.here - first * slice] = terms.map(|t| t.exact()).unwrap_or_default();
                            },
                        );
                    },
                );
            },
        );
        let terms = &workspace.terms;
        let outputs = fixed_update.par_chunks_mut(slice * slices).zip(moving_update.par_chunks_mut(slice * slices));
        workspace.slabs.par_iter_mut().zip(outputs).enumerate().for_each(
            |(slab, (sums, (fixed_update, moving_update)))| {
                let first = slab * slices;
                let last = first + fixed_update.len() / slice;
                wide(
                    #[inline(always)]
                    || {
                        sums.run::<5>(
                            self.shape,
                            self.radius,
                            first..last,
                            #[inline(always)]
                            |j, k, rows| {
                                for (x, window) in terms[self.row(j, k)].iter().enumerate() {
                                    for q in 0..5 {
                                        rows[q][x] = window[q];
                                    }
                                }
                            },
                            #[inline(always)]
                            |j, k, [p, p_a, p_b, fixed_rest, moving_rest]| {
                                let range = self.row(j, k);
                                for x in 0..p.len() {
                                    let here = range.start + x;
                                    let (f, m) = (self.fixed[here], self.moving[here]);
                                    let (mut to_fixed, mut to_moving) = (0.0, 0.0);
                                    if self.inside(here) {
                                        to_fixed = m * p[x] - f * p_a[x] + fixed_rest[x];
                                        to_moving = f * p[x] - m * p_b[x] + moving_rest[x];
                                    }
                                    let local = here - first * slice;
                                    fixed_update[local] =
                                        self.gradient.at(self.fixed, Voxel { x, j, k, here }).map(|g| to_fixed * g);
                                    moving_update[local] =
                                        self.gradient.at(self.moving, Voxel { x, j, k, here }).map(|g| to_moving * g);
                                }
                            },
                        );
                    },
                );
            },
        );
    }
}
