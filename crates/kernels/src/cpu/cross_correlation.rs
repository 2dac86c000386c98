//! Windowed cross-correlation of two images, and its gradient.

mod window;

use rayon::prelude::*;
use wide::f32x8;

use super::box_sums::BoxSums;
use super::field::Field;
use super::gradient::{Factors, Gradient};
use super::image::Image;
use super::lanes::{self, LANES};
use super::{slab, widest};
use crate::{CcDerivative, CcParameters, CcScores};
use window::{Sums, Terms};

/// Scratch memory of [`Backend::cc_update`](crate::Backend::cc_update), the update by windowed cross-correlation.
#[derive(Debug)]
pub struct CcWorkspace {
    /// Number of slices (along z) of a slab. A thread processes one slab at a time; `slabs` has the buffers of each
    /// slab.
    slices: usize,
    slabs: Vec<Slab>,
    /// For each slice: the sums of the cross-correlation and of the registration's energy over the windows that are
    /// centred at its voxels.
    energies: Vec<Sums>,
    /// Memory for the terms of the exact derivative. Empty until terms are first computed without scratch fields.
    terms: [Vec<f32>; 2],
}

/// The five terms of the exact derivative for the window of each voxel lie in two parts of memory. For each row of
/// voxels, each part has this many rows of numbers, one for each of its terms.
const TERMS: [usize; 2] = [3, 2];

/// Buffers for the cross-correlation of one slab of slices.
#[derive(Debug)]
struct Slab {
    sums: BoxSums,
    factors: Factors,
}

impl CcWorkspace {
    pub(super) fn new([nx, _, nz]: [usize; 3]) -> CcWorkspace {
        let slices = slab(nz);
        CcWorkspace {
            slices,
            slabs: (0..nz.div_ceil(slices))
                .map(|_| Slab { sums: BoxSums::default(), factors: Factors::new(nx) })
                .collect(),
            energies: vec![Sums::default(); nz],
            terms: Default::default(),
        }
    }
}

/// The operands of the cross-correlation: both images, their masks and their gradients.
struct Pair<'a> {
    shape: [usize; 3],
    fixed: &'a [f32],
    moving: &'a [f32],
    masks: [Option<&'a [f32]>; 2],
    gradient: Gradient,
    radius: usize,
    noise_variance: f32,
}

/// Computes the updates of both images and the scores, as defined by [`Backend::cc_update`](crate::Backend::cc_update).
pub(super) fn update(
    fixed: &Image,
    moving: &Image,
    masks: [Option<&Image>; 2],
    parameters: &CcParameters,
    workspace: &mut CcWorkspace,
    [fixed_update, moving_update]: [&mut Field; 2],
    scratch: Option<[&mut Field; 2]>,
) -> CcScores {
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
        CcDerivative::Exact => {
            let mut own = std::mem::take(&mut workspace.terms);
            let memory = match scratch {
                Some(fields) => fields.map(|field| field.vectors_mut().as_flattened_mut()),
                None => {
                    own.iter_mut().zip(TERMS).for_each(|(own, count)| own.resize(count * fixed.voxels.len(), 0.0));
                    own.each_mut().map(|own| &mut own[..])
                }
            };
            pair.exact(workspace, updates, memory);
            workspace.terms = own;
        }
    }
    scores(&workspace.energies)
}

/// Computes the energy and the agreement of the windowed cross-correlation from the sums of all slices.
fn scores(slices: &[Sums]) -> CcScores {
    let Sums { value, count, weight } = slices.iter().copied().sum();
    CcScores {
        energy: if count > 0.0 { -value / count } else { 0.0 },
        agreement: if weight > 0.0 { value / weight } else { 0.0 },
    }
}

impl Pair<'_> {
    fn row(&self, j: usize, k: usize) -> std::ops::Range<usize> {
        let start = (k * self.shape[1] + j) * self.shape[0];
        start..start + self.shape[0]
    }

    /// Writes 1, I, J, I², J² and IJ for the voxels of a row, where I and J are the values of the fixed and of the
    /// moving image. All six numbers are 0 for voxels outside the masks.
    #[inline(always)]
    fn products(&self, j: usize, k: usize, [n, i, jm, ii, jj, ij]: [&mut [f32]; 6]) {
        let range = self.row(j, k);
        let (fixed, moving) = (&self.fixed[range.clone()], &self.moving[range.clone()]);
        for x in (0..n.len()).step_by(LANES) {
            lanes::store(self.inside(range.clone(), x) & f32x8::ONE, n, x);
        }
        let product = |out: &mut [f32], a: &[f32], b: &[f32]| {
            out.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = a * b);
        };
        product(i, n, fixed);
        product(jm, n, moving);
        product(ii, i, i);
        product(jj, jm, jm);
        product(ij, i, jm);
    }

    /// Lane masks of eight successive voxels of a row: all bits of a lane are set if its voxel is inside the masks of
    /// both images.
    #[inline(always)]
    fn inside(&self, row: std::ops::Range<usize>, x: usize) -> f32x8 {
        let within = lanes::first(row.len() - x);
        self.masks
            .iter()
            .flatten()
            .fold(within, |inside, mask| inside & lanes::load(&mask[row.clone()], x).simd_gt(f32x8::splat(0.5)))
    }

    /// Computes the terms of the cross-correlation in the window around each voxel, for eight voxels at a time. Calls
    /// `take(j, k, x, terms)` for each group of eight successive voxels of a row, in the slices from `first` on. Terms
    /// are zero for voxels outside the masks. Writes to `energies` the sums of each slice for the scores.
    #[inline(always)]
    fn each_window(
        &self,
        sums: &mut BoxSums,
        first: usize,
        energies: &mut [Sums],
        mut take: impl FnMut(usize, usize, usize, Terms),
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
                let (mut value, mut weight, mut counted) = (0.0_f32, 0.0_f32, 0);
                for x in (0..n.len()).step_by(LANES) {
                    let inside = self.inside(self.row(j, k), x);
                    let at = |row: &[f32]| lanes::load(row, x);
                    let sums = [at(i), at(jm), at(ii), at(jj), at(ij)];
                    let terms = Terms::of(sums, at(n), self.noise_variance, inside);
                    terms.value.to_array().iter().for_each(|one| value += one);
                    terms.weight.to_array().iter().for_each(|one| weight += one);
                    counted += inside.to_bitmask().count_ones();
                    take(j, k, x, terms);
                }
                let slice = &mut energies[k - first];
                slice.value += f64::from(value);
                slice.count += f64::from(counted);
                slice.weight += f64::from(weight);
            },
        );
    }

    /// Writes the updates of both images for the row of voxels (·, j, k). The first slice of the buffers is slice
    /// `first` of the volume.
    #[inline(always)]
    fn write(&self, factors: &mut Factors, at: [usize; 2], first: usize, updates: [&mut [[f32; 3]]; 2]) {
        let own = self.row(at[0], at[1] - first);
        factors.write(&self.gradient, [self.fixed, self.moving], at, updates.map(|update| &mut update[own.clone()]));
    }

    /// Computes the updates of both images. The update of each voxel follows the derivative of the cross-correlation in
    /// the window centred at this voxel alone, as in ANTs.
    fn centre(&self, workspace: &mut CcWorkspace, (fixed_update, moving_update): (&mut [[f32; 3]], &mut [[f32; 3]])) {
        let [nx, ny, _] = self.shape;
        let slices = workspace.slices;
        let piece = nx * ny * slices;
        let outputs = fixed_update.par_chunks_mut(piece).zip(moving_update.par_chunks_mut(piece));
        let slabs = workspace.slabs.par_iter_mut().zip(workspace.energies.par_chunks_mut(slices));
        slabs.zip(outputs).enumerate().for_each(|(slab, ((Slab { sums, factors }, energies), (fixed, moving)))| {
            let first = slab * slices;
            widest(
                #[inline(always)]
                || {
                    self.each_window(
                        sums,
                        first,
                        energies,
                        #[inline(always)]
                        |j, k, x, terms| {
                            let row = self.row(j, k);
                            let f = lanes::load(&self.fixed[row.clone()], x) - terms.fixed_mean;
                            let m = lanes::load(&self.moving[row], x) - terms.moving_mean;
                            lanes::store(terms.slope * (m - terms.on_fixed * f), &mut factors.fixed, x);
                            lanes::store(terms.slope * (f - terms.on_moving * m), &mut factors.moving, x);
                            if x + LANES >= nx {
                                self.write(factors, [j, k], first, [&mut *fixed, &mut *moving]);
                            }
                        },
                    );
                },
            );
        });
    }

    /// Computes the updates of both images from all windows that contain a voxel. A, B and C are the sums over a window
    /// that [`Backend::cc_update`](crate::Backend::cc_update) defines for the images I and J, and Ī and J̄ their means
    /// in the window. With P = 2C/(A·B), the fixed update is (J·ΣP − ΣP·J̄ − I·ΣP·C/A + ΣP·Ī·C/A)·∇I, with sums over
    /// the windows that contain the voxel. The moving update is the same with the images exchanged.
    ///
    /// `memory` receives the terms. It has [`TERMS`] numbers for each voxel.
    fn exact(
        &self,
        workspace: &mut CcWorkspace,
        (fixed_update, moving_update): (&mut [[f32; 3]], &mut [[f32; 3]]),
        [low, high]: [&mut [f32]; 2],
    ) {
        self.terms(workspace, [&mut *low, &mut *high]);
        let [nx, ny, _] = self.shape;
        let (slices, terms) = (workspace.slices, [&*low, &*high]);
        let piece = nx * ny * slices;
        let outputs = fixed_update.par_chunks_mut(piece).zip(moving_update.par_chunks_mut(piece));
        workspace.slabs.par_iter_mut().zip(outputs).enumerate().for_each(
            |(slab, (Slab { sums, factors }, (fixed, moving)))| {
                let first = slab * slices;
                let last = first + fixed.len() / (nx * ny);
                widest(
                    #[inline(always)]
                    || {
                        sums.run::<5>(
                            self.shape,
                            self.radius,
                            first..last,
                            #[inline(always)]
                            |j, k, rows| {
                                let start = self.row(j, k).start;
                                let part = |n: usize| terms[n][TERMS[n] * start..][..TERMS[n] * nx].chunks_exact(nx);
                                let terms = part(0).chain(part(1));
                                rows.into_iter().zip(terms).for_each(|(row, term)| row.copy_from_slice(term));
                            },
                            #[inline(always)]
                            |j, k, sums| {
                                self.write_factors(j, k, sums, factors);
                                self.write(factors, [j, k], first, [&mut *fixed, &mut *moving]);
                            },
                        );
                    },
                );
            },
        );
    }

    /// Computes five terms for the window around each voxel, from which the exact derivative of the cross-correlation
    /// is summed later, and writes them to `memory`.
    fn terms(&self, workspace: &mut CcWorkspace, [low, high]: [&mut [f32]; 2]) {
        let [nx, ny, _] = self.shape;
        let slices = workspace.slices;
        let piece = nx * ny * slices;
        let slabs = workspace.slabs.par_iter_mut().zip(workspace.energies.par_chunks_mut(slices));
        let terms = low.par_chunks_mut(TERMS[0] * piece).zip(high.par_chunks_mut(TERMS[1] * piece));
        slabs.zip(terms).enumerate().for_each(|(slab, ((Slab { sums, .. }, energies), (low, high)))| {
            let first = slab * slices;
            widest(
                #[inline(always)]
                || {
                    self.each_window(
                        sums,
                        first,
                        energies,
                        #[inline(always)]
                        |j, k, x, window| {
                            let start = self.row(j, k - first).start;
                            let low = low[TERMS[0] * start..][..TERMS[0] * nx].chunks_exact_mut(nx);
                            let high = high[TERMS[1] * start..][..TERMS[1] * nx].chunks_exact_mut(nx);
                            for (row, term) in low.chain(high).zip(window.exact()) {
                                lanes::store(term, row, x);
                            }
                        },
                    );
                },
            );
        });
    }

    /// The update of a voxel is the image gradient times a factor. Computes the factors of both images for the voxels
    /// (·, j, k), from sums of the exact derivative's terms over the windows that contain the voxel.
    #[inline(always)]
    fn write_factors(
        &self,
        j: usize,
        k: usize,
        [p, p_a, p_b, fixed_rest, moving_rest]: [&[f32]; 5],
        factors: &mut Factors,
    ) {
        let row = self.row(j, k);
        for x in (0..p.len()).step_by(LANES) {
            let inside = self.inside(row.clone(), x);
            let at = |row: &[f32]| lanes::load(row, x);
            let (f, m) = (at(&self.fixed[row.clone()]), at(&self.moving[row.clone()]));
            let to_fixed = m * at(p) - f * at(p_a) + at(fixed_rest);
            let to_moving = f * at(p) - m * at(p_b) + at(moving_rest);
            lanes::store(inside & to_fixed, &mut factors.fixed, x);
            lanes::store(inside & to_moving, &mut factors.moving, x);
        }
    }
}
