//! Windowed cross-correlation of two images, and its gradient.

mod window;

use std::ops::Range;

use rayon::prelude::*;
use wide::f32x8;

use super::box_sums::BoxSums;
use super::extent::Extent;
use super::field::Field;
use super::gradient::{Out, Row};
use super::image::Image;
use super::lanes::{self, LANES};
use super::{slab, widest};
use crate::term_slabs::{TermSlab, term_slabs};
use crate::{CcDerivative, CcParameters, CcScores};
use window::{Sums, Terms};

/// Scratch memory of [`Backend::cc_gradient`](crate::Backend::cc_gradient).
#[derive(Debug)]
pub struct CcWorkspace {
    /// Number of slices (along z) that a thread processes at a time; `pieces` has the buffers of each such piece.
    slices: usize,
    pieces: Vec<Piece>,
    /// For each slice: the sums of the cross-correlation and of the registration's energy over the windows that are
    /// centred at its voxels.
    energies: Vec<Sums>,
    /// Memory for the terms of the exact derivative. Empty unless they were computed without a scratch field.
    terms: Vec<f32>,
}

/// Buffers for the cross-correlation of some successive slices.
#[derive(Debug)]
struct Piece {
    sums: BoxSums,
    row: Row,
}

impl CcWorkspace {
    pub(super) fn new([nx, _, nz]: [usize; 3]) -> CcWorkspace {
        let slices = slab(nz);
        CcWorkspace {
            slices,
            pieces: (0..nz.div_ceil(slices)).map(|_| Piece { sums: BoxSums::default(), row: Row::new(nx) }).collect(),
            energies: vec![Sums::default(); nz],
            terms: Vec::new(),
        }
    }
}

/// The operands of the cross-correlation: both images and their masks.
struct Pair<'a> {
    shape: [usize; 3],
    fixed: &'a [f32],
    moving: &'a [f32],
    masks: [Option<&'a [f32]>; 2],
    radius: usize,
    noise_variance: f32,
}

/// Computes the gradient and the scores, as defined by [`Backend::cc_gradient`](crate::Backend::cc_gradient).
pub(super) fn gradient(
    [fixed, moving]: [&Image; 2],
    masks: [Option<&Image>; 2],
    parameters: &CcParameters,
    workspace: &mut CcWorkspace,
    out: Out<'_>,
    scratch: Option<&mut Field>,
) -> CcScores {
    let pair = Pair {
        shape: fixed.shape,
        fixed: &fixed.voxels,
        moving: &moving.voxels,
        masks: masks.map(|mask| mask.map(|mask| &mask.voxels[..])),
        radius: parameters.radius,
        noise_variance: parameters.noise_variance,
    };
    match parameters.derivative {
        CcDerivative::Centre => pair.centre(workspace, out),
        CcDerivative::Exact => pair.exact(workspace, out, scratch),
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
    fn row(&self, j: usize, k: usize) -> Range<usize> {
        let start = (k * self.shape[1] + j) * self.shape[0];
        start..start + self.shape[0]
    }

    /// Writes 1, I, J, I², J² and IJ for the voxels of a row, where I and J are the values of the fixed and of the
    /// moving image. All six numbers are 0 for voxels outside the masks. Returns the extent of I and J.
    #[inline(always)]
    fn products(&self, j: usize, k: usize, [n, i, jm, ii, jj, ij]: [&mut [f32]; 6]) -> Extent {
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
        Extent::of(fixed).and(Extent::of(moving))
    }

    /// Lane masks of eight successive voxels of a row: all bits of a lane are set if its voxel is inside the masks of
    /// both images.
    #[inline(always)]
    fn inside(&self, row: Range<usize>, x: usize) -> f32x8 {
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
        sums.run::<6, 1>(
            self.shape,
            self.radius,
            first..first + energies.len(),
            #[inline(always)]
            |j, k, rows| self.products(j, k, rows),
            #[inline(always)]
            |j, k, extent, [n, i, jm, ii, jj, ij]| {
                let (mut value, mut weight, mut counted) = (0.0_f32, 0.0_f32, 0);
                for x in (0..n.len()).step_by(LANES) {
                    let inside = self.inside(self.row(j, k), x);
                    counted += inside.to_bitmask().count_ones();
                    // Both images are zero in the whole window.
                    if !extent.contains(x) {
                        take(j, k, x, Terms::ZERO);
                        continue;
                    }
                    let at = |row: &[f32]| lanes::load(row, x);
                    let sums = [at(i), at(jm), at(ii), at(jj), at(ij)];
                    let terms = Terms::of(sums, at(n), self.noise_variance, inside);
                    terms.value.to_array().iter().for_each(|one| value += one);
                    terms.weight.to_array().iter().for_each(|one| weight += one);
                    take(j, k, x, terms);
                }
                let slice = &mut energies[k - first];
                slice.value += f64::from(value);
                slice.count += f64::from(counted);
                slice.weight += f64::from(weight);
            },
        );
    }

    /// Writes the output. The derivatives at a voxel use the window centred at this voxel alone, as in ANTs.
    fn centre(&self, workspace: &mut CcWorkspace, out: Out<'_>) {
        let [nx, ny, _] = self.shape;
        let slices = workspace.slices;
        let pieces = workspace.pieces.par_iter_mut().zip(workspace.energies.par_chunks_mut(slices));
        let pieces = pieces.zip(out.pieces(nx * ny * slices)).enumerate();
        pieces.for_each(|(piece, ((Piece { sums, row: buffer }, energies), mut out))| {
            let first = piece * slices;
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
                            let [for_fixed, for_moving] = &mut buffer.derivatives;
                            lanes::store(terms.slope * (m - terms.on_fixed * f), for_fixed, x);
                            lanes::store(terms.slope * (f - terms.on_moving * m), for_moving, x);
                            if x + LANES >= nx {
                                out.write([self.fixed, self.moving], [j, k], self.row(j, k - first), buffer);
                            }
                        },
                    );
                },
            );
        });
    }

    /// Writes the output, with derivatives from all windows that contain a voxel. A, B and C are the sums over a
    /// window that [`Backend::cc_gradient`](crate::Backend::cc_gradient) defines for the images I and J, and Ī
    /// and J̄ their means in the window. With P = 2C/(A·B), the derivative for the fixed image is J·ΣP − ΣP·J̄ −
    /// I·ΣP·C/A + ΣP·Ī·C/A, with sums over the windows that contain the voxel. That for the moving image is the same
    /// with the images exchanged.
    ///
    /// The terms of the sums are computed first, in slabs if the scratch field has no room for all of them.
    fn exact(&self, workspace: &mut CcWorkspace, mut out: Out<'_>, scratch: Option<&mut Field>) {
        let [nx, ny, nz] = self.shape;
        let of_slice = CcParameters::TERMS * nx * ny;
        let lent = scratch.map(|field| field.vectors_mut().as_flattened_mut());
        let lent = lent.and_then(|memory| Some((term_slabs(nz, self.radius, memory.len() / of_slice)?, memory)));
        let mut own = std::mem::take(&mut workspace.terms);
        let (slabs, memory) = lent.unwrap_or_else(|| {
            own.resize(of_slice * nz, 0.0);
            (vec![TermSlab { terms: 0..nz, own: 0..nz }], &mut own)
        });
        for TermSlab { terms, own } in slabs {
            let memory = &mut memory[..of_slice * terms.len()];
            self.terms(workspace, terms.clone(), memory);
            let out = out.part(nx * ny * own.start..nx * ny * own.end);
            self.sum_terms(workspace, own, (terms.start, memory), out);
        }
        workspace.terms = own;
    }

    /// Computes five terms for the window around each voxel of a range of slices, from which the exact derivative of
    /// the cross-correlation is summed later, and writes them to `memory`: for each row of voxels, five rows of terms.
    fn terms(&self, workspace: &mut CcWorkspace, range: Range<usize>, memory: &mut [f32]) {
        let [nx, ny, _] = self.shape;
        let (slices, of_row) = (workspace.slices, CcParameters::TERMS * nx);
        let energies = workspace.energies[range.clone()].par_chunks_mut(slices);
        let pieces = workspace.pieces.par_iter_mut().zip(energies);
        pieces.zip(memory.par_chunks_mut(of_row * ny * slices)).enumerate().for_each(
            |(piece, ((Piece { sums, .. }, energies), terms))| {
                let first = range.start + piece * slices;
                widest(
                    #[inline(always)]
                    || {
                        self.each_window(
                            sums,
                            first,
                            energies,
                            #[inline(always)]
                            |j, k, x, window| {
                                let rows = &mut terms[((k - first) * ny + j) * of_row..][..of_row];
                                for (row, term) in rows.chunks_exact_mut(nx).zip(window.exact()) {
                                    lanes::store(term, row, x);
                                }
                            },
                        );
                    },
                );
            },
        );
    }

    /// Writes the output for a range of slices, with derivatives from sums of terms over the windows that contain a
    /// voxel. The memory of the terms starts at slice `first_term`.
    fn sum_terms(
        &self,
        workspace: &mut CcWorkspace,
        range: Range<usize>,
        (first_term, terms): (usize, &[f32]),
        out: Out<'_>,
    ) {
        let [nx, ny, _] = self.shape;
        let (slices, of_row) = (workspace.slices, CcParameters::TERMS * nx);
        let pieces = workspace.pieces.par_iter_mut().zip(out.pieces(nx * ny * slices)).enumerate();
        pieces.for_each(|(piece, (Piece { sums, row: buffer }, mut out))| {
            let first = range.start + piece * slices;
            let last = (first + slices).min(range.end);
            widest(
                #[inline(always)]
                || {
                    sums.run::<{ CcParameters::TERMS }, 0>(
                        self.shape,
                        self.radius,
                        first..last,
                        #[inline(always)]
                        |j, k, rows| {
                            let terms = terms[((k - first_term) * ny + j) * of_row..][..of_row].chunks_exact(nx);
                            let mut extent = Extent::NONE;
                            for (row, term) in rows.into_iter().zip(terms) {
                                row.copy_from_slice(term);
                                extent = extent.and(Extent::of(term));
                            }
                            extent
                        },
                        #[inline(always)]
                        |j, k, extent, sums| {
                            self.write_derivatives(j, k, extent, sums, &mut buffer.derivatives);
                            out.write([self.fixed, self.moving], [j, k], self.row(j, k - first), buffer);
                        },
                    );
                },
            );
        });
    }

    /// Computes the derivatives of both images for the voxels (·, j, k), from sums of the exact derivative's terms over
    /// the windows that contain the voxel. Beyond the extent the sums are zero.
    #[inline(always)]
    fn write_derivatives(
        &self,
        j: usize,
        k: usize,
        extent: Extent,
        [p, p_a, p_b, fixed_rest, moving_rest]: [&[f32]; 5],
        [for_fixed, for_moving]: &mut [Vec<f32>; 2],
    ) {
        let row = self.row(j, k);
        extent.clear_beyond(for_fixed);
        extent.clear_beyond(for_moving);
        for x in extent.range().step_by(LANES) {
            let inside = self.inside(row.clone(), x);
            let at = |row: &[f32]| lanes::load(row, x);
            let (f, m) = (at(&self.fixed[row.clone()]), at(&self.moving[row.clone()]));
            lanes::store(inside & (m * at(p) - f * at(p_a) + at(fixed_rest)), for_fixed, x);
            lanes::store(inside & (f * at(p) - m * at(p_b) + at(moving_rest)), for_moving, x);
        }
    }
}
