//! Windowed cross-correlation of two images, and its gradient.

mod window;

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;
use wide::f32x8;

use crate::cpu::blocks::Blocks;
use crate::cpu::box_sums::BoxSums;
use crate::cpu::extent::Extent;
use crate::cpu::field::Field;
use crate::cpu::gradient::{Out, Row};
use crate::cpu::image::Image;
use crate::cpu::lanes;
use crate::cpu::lanes::LANES;
use crate::cpu::widest;
use crate::term_slabs::{TermSlab, term_slabs};
use crate::{CcDerivative, CcParameters, CcScores};
use window::{Sums, Terms};

/// Scratch memory of [`Similarity::cc_gradient`](crate::ops::Similarity::cc_gradient).
#[derive(Debug, Default)]
pub struct CcWorkspace {
    /// Buffers that no thread uses at the moment.
    buffers: Mutex<Vec<BoxSums>>,
    /// Memory for the terms of the exact derivative. Empty unless they were computed without a scratch field.
    terms: Vec<f32>,
    /// The extents of the terms of each row.
    extents: Vec<Extent>,
}

/// The operands of the cross-correlation: both images and their masks.
struct Pair<'a> {
    shape: [usize; 3],
    fixed: &'a [f32],
    moving: &'a [f32],
    masks: [Option<&'a [f32]>; 2],
    radius: usize,
    noise_variance: f32,
    buffers: &'a Mutex<Vec<BoxSums>>,
}

/// Computes the gradient and the scores, as defined by [`Similarity::cc_gradient`](crate::ops::Similarity::cc_gradient).
pub(in crate::cpu) fn cc_gradient(
    [fixed, moving]: [&Image; 2],
    masks: [Option<&Image>; 2],
    parameters: &CcParameters,
    workspace: &mut CcWorkspace,
    out: Out<'_>,
    scratch: Option<&mut Field>,
) -> CcScores {
    let CcWorkspace { buffers, terms, extents } = workspace;
    let pair = Pair {
        shape: fixed.shape,
        fixed: &fixed.voxels,
        moving: &moving.voxels,
        masks: masks.map(|mask| mask.map(|mask| &mask.voxels[..])),
        radius: parameters.radius,
        noise_variance: parameters.noise_variance,
        buffers,
    };
    let slices = match parameters.derivative {
        CcDerivative::Centre => pair.centre(out),
        CcDerivative::Exact => pair.exact((terms, extents), out, scratch),
    };
    let Sums { value, count, weight } = slices.into_iter().sum();
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

    /// Writes I, J, I², J² and IJ for the voxels of a row, where I and J are the values of the fixed and of the moving
    /// image. Returns their extent.
    #[inline(always)]
    fn products(&self, j: usize, k: usize, [i, jm, ii, jj, ij]: [&mut [f32]; 5]) -> Extent {
        let range = self.row(j, k);
        let (fixed, moving) = (&self.fixed[range.clone()], &self.moving[range]);
        i.copy_from_slice(fixed);
        jm.copy_from_slice(moving);
        product(ii, fixed, fixed);
        product(jj, moving, moving);
        product(ij, fixed, moving);
        Extent::of(fixed).and(Extent::of(moving))
    }

    /// Writes 1 and the [`products`](Self::products) for the voxels of a row. All six numbers are 0 for voxels outside
    /// the masks. Returns their extent.
    #[inline(always)]
    fn masked_products(&self, j: usize, k: usize, [n, i, jm, ii, jj, ij]: [&mut [f32]; 6]) -> Extent {
        let range = self.row(j, k);
        for x in (0..n.len()).step_by(LANES) {
            lanes::store(self.inside(range.clone(), x) & f32x8::ONE, n, x);
        }
        product(i, n, &self.fixed[range.clone()]);
        product(jm, n, &self.moving[range]);
        product(ii, i, i);
        product(jj, jm, jm);
        product(ij, i, jm);
        Extent::of(n)
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

    /// Computes the terms of the cross-correlation in the window around each voxel of a block, for eight voxels at a
    /// time, and gives them to `rows`. Returns the sums of each row of the block for the scores, slice by slice.
    #[inline(always)]
    fn each_window(&self, sums: &mut BoxSums, block: [Range<usize>; 2], rows: &mut impl Rows) -> Vec<Sums> {
        let mut of_rows = Vec::with_capacity(block[0].len() * block[1].len());
        if self.masks.iter().any(Option::is_some) {
            sums.run(
                self.shape,
                self.radius,
                block,
                #[inline(always)]
                |j, k, out| self.masked_products(j, k, out),
                #[inline(always)]
                |j, k, extent, [n, i, jm, ii, jj, ij]| {
                    of_rows.push(self.windows(
                        [j, k],
                        extent,
                        [i, jm, ii, jj, ij],
                        #[inline(always)]
                        |x| lanes::load(n, x),
                        rows,
                    ));
                },
            );
        } else {
            // All windows are boxes that are truncated at the borders.
            let width = |at: usize, n: usize| (at + self.radius).min(n - 1) + 1 - at.saturating_sub(self.radius);
            let [nx, ny, nz] = self.shape;
            let widths: Vec<f32> = (0..nx).map(|x| width(x, nx) as f32).collect();
            sums.run(
                self.shape,
                self.radius,
                block,
                #[inline(always)]
                |j, k, out| self.products(j, k, out),
                #[inline(always)]
                |j, k, extent, sums| {
                    let rest = (width(j, ny) * width(k, nz)) as f32;
                    of_rows.push(self.windows(
                        [j, k],
                        extent,
                        sums,
                        #[inline(always)]
                        |x| rest * lanes::load(&widths, x),
                        rows,
                    ));
                },
            );
        }
        of_rows
    }

    /// Computes the terms of the windows that are centred in a row, from the sums of I, J, I², J² and IJ over each
    /// window and the number of its voxels, `count(x)` for eight windows. See [`each_window`](Self::each_window).
    #[inline(always)]
    fn windows(
        &self,
        [j, k]: [usize; 2],
        extent: Extent,
        sums: [&[f32]; 5],
        count: impl Fn(usize) -> f32x8,
        rows: &mut impl Rows,
    ) -> Sums {
        let (mut value, mut weight, mut counted) = (0.0_f32, 0.0_f32, 0);
        for x in (0..self.shape[0]).step_by(LANES) {
            let inside = self.inside(self.row(j, k), x);
            counted += inside.to_bitmask().count_ones();
            if !extent.contains(x) {
                continue;
            }
            let [i, jm, ii, jj, ij] = sums;
            let at = |row: &[f32]| lanes::load(row, x);
            let terms = Terms::of([at(i), at(jm), at(ii), at(jj), at(ij)], count(x), self.noise_variance, inside);
            terms.value.to_array().iter().for_each(|one| value += one);
            terms.weight.to_array().iter().for_each(|one| weight += one);
            rows.take([j, k], x, &terms);
        }
        rows.end([j, k], extent);
        Sums { value: value.into(), count: counted.into(), weight: weight.into() }
    }

    /// Calls `compute(sums, block, parts)` for each block, on all threads. `parts` are those of the block, one for each
    /// of its slices. Returns what the calls return, in the order of the blocks.
    fn each_block<P: Send, R: Send>(
        &self,
        blocks: &Blocks,
        parts: impl IntoIterator<Item = P>,
        compute: impl Fn(&mut BoxSums, [Range<usize>; 2], Vec<P>) -> R + Sync,
    ) -> Vec<R> {
        let tasks: Vec<_> = blocks.ranges().zip(blocks.sort(parts)).collect();
        let computed = tasks.into_par_iter().map(|(block, parts)| {
            let kept = self.buffers.lock().expect("no thread panics here").pop();
            let mut sums = kept.unwrap_or_default();
            let result = compute(&mut sums, block, parts);
            self.buffers.lock().expect("no thread panics here").push(sums);
            result
        });
        computed.collect()
    }

    /// The blocks of a range of slices for sums over windows.
    fn blocks(&self, slices: Range<usize>) -> Blocks {
        Blocks::of(self.shape[1], slices, self.radius)
    }

    /// Adds the sums of the rows of each slice, in the order of the rows.
    fn of_slices(&self, slices: Range<usize>, blocks: &Blocks, of_rows: Vec<Vec<Sums>>) -> Vec<Sums> {
        let ny = self.shape[1];
        let mut sorted = vec![Sums::default(); slices.len() * ny];
        for ([rows, of_block], sums) in blocks.ranges().zip(of_rows) {
            for (k, sums) in of_block.zip(sums.chunks_exact(rows.len())) {
                sorted[(k - slices.start) * ny..][rows.clone()].copy_from_slice(sums);
            }
        }
        sorted.chunks_exact(ny).map(|rows| rows.iter().copied().sum()).collect()
    }

    /// Writes the output. The derivatives at a voxel use the window centred at this voxel alone, as in ANTs. Returns
    /// the sums of each slice for the scores.
    fn centre(&self, out: Out<'_>) -> Vec<Sums> {
        let [nx, ny, nz] = self.shape;
        let blocks = self.blocks(0..nz);
        let computed = self.each_block(&blocks, out.pieces(nx * ny, nx * blocks.rows()), |sums, block, outs| {
            let first = block.each_ref().map(|range| range.start);
            let mut rows = CentreRows { pair: self, first, outs, buffer: Row::new(nx) };
            widest(
                #[inline(always)]
                || self.each_window(sums, block, &mut rows),
            )
        });
        self.of_slices(0..nz, &blocks, computed)
    }

    /// Writes the output, with derivatives from all windows that contain a voxel. A, B and C are the sums over a
    /// window that [`Similarity::cc_gradient`](crate::ops::Similarity::cc_gradient) defines for the images I and J, and Ī
    /// and J̄ their means in the window. With P = 2C/(A·B), the derivative for the fixed image is J·ΣP − ΣP·J̄ −
    /// I·ΣP·C/A + ΣP·Ī·C/A, with sums over the windows that contain the voxel. That for the moving image is the same
    /// with the images exchanged.
    ///
    /// The terms of the sums are computed first, in slabs if the scratch field has no room for all of them.
    fn exact(
        &self,
        (memory, extents): (&mut Vec<f32>, &mut Vec<Extent>),
        mut out: Out<'_>,
        scratch: Option<&mut Field>,
    ) -> Vec<Sums> {
        let [nx, ny, nz] = self.shape;
        let of_slice = CcParameters::TERMS * nx * ny;
        let lent = scratch.map(|field| field.vectors_mut().as_flattened_mut());
        let lent = lent.and_then(|memory| Some((term_slabs(nz, self.radius, memory.len() / of_slice)?, memory)));
        let (slabs, memory) = lent.unwrap_or_else(|| {
            memory.resize(of_slice * nz, 0.0);
            (vec![TermSlab { terms: 0..nz, own: 0..nz }], memory)
        });
        let mut energies = vec![Sums::default(); nz];
        extents.resize(ny * nz, Extent::NONE);
        for TermSlab { terms, own } in slabs {
            let memory = &mut memory[..of_slice * terms.len()];
            let extents = &mut extents[..ny * terms.len()];
            let sums = self.terms(terms.clone(), memory, extents);
            energies[terms.clone()].copy_from_slice(&sums);
            let out = out.part(nx * ny * own.start..nx * ny * own.end);
            self.sum_terms(own, terms.start, (memory, extents), out);
        }
        energies
    }

    /// Computes five terms for the window around each voxel of a range of slices, from which the exact derivative of
    /// the cross-correlation is summed later, and writes them to `memory`: for each row of voxels, five rows of terms.
    /// They are written within the extent of the row, beyond which they are zero. Returns the sums of each slice for
    /// the scores.
    fn terms(&self, range: Range<usize>, memory: &mut [f32], extents: &mut [Extent]) -> Vec<Sums> {
        let [nx, ny, _] = self.shape;
        let (of_row, blocks) = (CcParameters::TERMS * nx, self.blocks(range.clone()));
        let terms = memory.chunks_mut(of_row * ny).flat_map(|slice| slice.chunks_mut(of_row * blocks.rows()));
        let extents = extents.chunks_mut(ny).flat_map(|slice| slice.chunks_mut(blocks.rows()));
        let computed = self.each_block(&blocks, terms.zip(extents), |sums, block, parts| {
            let first = block.each_ref().map(|range| range.start);
            let mut rows = TermRows { nx, first, parts };
            widest(
                #[inline(always)]
                || self.each_window(sums, block, &mut rows),
            )
        });
        self.of_slices(range, &blocks, computed)
    }

    /// Writes the output for a range of slices, with derivatives from sums of terms over the windows that contain a
    /// voxel. The terms and their extents, as [`terms`](Self::terms) computes them, start at slice `first_term`.
    fn sum_terms(&self, range: Range<usize>, first_term: usize, (terms, extents): (&[f32], &[Extent]), out: Out<'_>) {
        let [nx, ny, _] = self.shape;
        let (of_row, blocks) = (CcParameters::TERMS * nx, self.blocks(range));
        let parts = out.pieces(nx * ny, nx * blocks.rows());
        self.each_block(&blocks, parts, |sums, block, mut outs| {
            let mut buffer = Row::new(nx);
            let [first_row, first] = block.each_ref().map(|range| range.start);
            widest(
                #[inline(always)]
                || {
                    sums.run::<{ CcParameters::TERMS }>(
                        self.shape,
                        self.radius,
                        block,
                        #[inline(always)]
                        |j, k, rows| {
                            let number = (k - first_term) * ny + j;
                            let extent = extents[number];
                            let terms = terms[number * of_row..][..of_row].chunks_exact(nx);
                            for (row, term) in rows.into_iter().zip(terms) {
                                extent.clear_beyond(row);
                                row[extent.range()].copy_from_slice(&term[extent.range()]);
                            }
                            extent
                        },
                        #[inline(always)]
                        |j, k, extent, sums| {
                            self.write_derivatives(j, k, extent, sums, &mut buffer.derivatives);
                            let range = (j - first_row) * nx..(j - first_row + 1) * nx;
                            outs[k - first].write([self.fixed, self.moving], [j, k], range, &mut buffer);
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

/// Takes the terms of the windows of a block, row by row.
trait Rows {
    /// Takes the terms of eight windows, which are centred in the row (·, j, k) from voxel `x` on. Terms are zero for
    /// voxels outside the masks.
    fn take(&mut self, at: [usize; 2], x: usize, terms: &Terms);
    /// Ends a row. Beyond the extent both images are zero in all windows. The terms there are zero, too; they were not
    /// given.
    fn end(&mut self, at: [usize; 2], extent: Extent);
}

/// Writes the output with derivatives of windows that are centred at the voxels.
struct CentreRows<'a, 'b> {
    pair: &'a Pair<'a>,
    /// The first row and the first slice of the block.
    first: [usize; 2],
    outs: Vec<Out<'b>>,
    buffer: Row,
}

impl Rows for CentreRows<'_, '_> {
    #[inline(always)]
    fn take(&mut self, [j, k]: [usize; 2], x: usize, terms: &Terms) {
        let row = self.pair.row(j, k);
        let f = lanes::load(&self.pair.fixed[row.clone()], x) - terms.fixed_mean;
        let m = lanes::load(&self.pair.moving[row], x) - terms.moving_mean;
        let [for_fixed, for_moving] = &mut self.buffer.derivatives;
        lanes::store(terms.slope * (m - terms.on_fixed * f), for_fixed, x);
        lanes::store(terms.slope * (f - terms.on_moving * m), for_moving, x);
    }

    #[inline(always)]
    fn end(&mut self, [j, k]: [usize; 2], extent: Extent) {
        self.buffer.derivatives.iter_mut().for_each(|row| extent.clear_beyond(row));
        let nx = self.pair.shape[0];
        let range = (j - self.first[0]) * nx..(j - self.first[0] + 1) * nx;
        let images = [self.pair.fixed, self.pair.moving];
        self.outs[k - self.first[1]].write(images, [j, k], range, &mut self.buffer);
    }
}

/// Keeps the terms of the exact derivative.
struct TermRows<'a> {
    nx: usize,
    /// The first row and the first slice of the block.
    first: [usize; 2],
    /// For each slice of the block, the terms and the extents of its rows.
    parts: Vec<(&'a mut [f32], &'a mut [Extent])>,
}

impl Rows for TermRows<'_> {
    #[inline(always)]
    fn take(&mut self, [j, k]: [usize; 2], x: usize, terms: &Terms) {
        let of_row = CcParameters::TERMS * self.nx;
        let rows = &mut self.parts[k - self.first[1]].0[(j - self.first[0]) * of_row..][..of_row];
        for (row, term) in rows.chunks_exact_mut(self.nx).zip(terms.exact()) {
            lanes::store(term, row, x);
        }
    }

    #[inline(always)]
    fn end(&mut self, [j, k]: [usize; 2], extent: Extent) {
        self.parts[k - self.first[1]].1[j - self.first[0]] = extent;
    }
}

/// Writes the products of the numbers of two rows.
#[inline(always)]
fn product(out: &mut [f32], a: &[f32], b: &[f32]) {
    out.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = a * b);
}
