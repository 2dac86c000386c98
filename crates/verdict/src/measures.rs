//! Numbers that tell good registrations from failures.

use antsreg_core::AffineTransform;
use antsreg_core::jacobian::JacobianSummary;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::histogram::Joint;
use crate::local::local_correlation;
use crate::pair::{Object, Pair, Seen};
use crate::restarts::{NEAR, Search};
use crate::turn::{Move, moved_mm};

/// Measures of a registration. Lengths are shares of the object's extent, the longest side of the box around the fixed
/// object, so that they do not depend on its size.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Measures {
    /// Mutual information of the images under the affine, as a share of their mean entropy, 0 to 1.
    pub information: f64,
    /// Squared correlation of the images under the affine.
    pub explained: f64,
    /// Mean squared correlation in small windows under the affine.
    pub local: f64,
    /// The same under the whole transform.
    pub local_warped: f64,
    /// Dice overlap of the fixed and the moving object under the affine, where both have data.
    pub overlap: f64,
    /// The same under the whole transform.
    pub overlap_warped: f64,
    /// Share of the fixed object where the moving image has data.
    pub covered: f64,
    /// How much better, by information, the images match at the best place found from far starts: 1 means twice as well.
    pub gain: f64,
    /// How much better they match there by the squared correlation in small windows.
    pub local_gain: f64,
    /// Distance of the best place from the result.
    pub moved: f64,
    /// Distance from the result to the nearest optimum of information.
    pub settled: f64,
    /// Distance between the nearest optima of information and of the squared correlation.
    pub apart: f64,
    /// Share of the information that is lost by moves of a tenth of the object's radius.
    pub sharpness: f64,
    /// How much better the mirror image of the moving object matches, by the squared correlation in small windows.
    pub mirror: f64,
    /// Absolute logarithm of the affine's mean scale since the start.
    pub scale: f64,
    /// Logarithm of the ratio of the affine's largest to its smallest scale.
    pub stretch: f64,
    /// Correlation of neighbouring voxels of the coarse images; of both images the lower. Low for noise.
    pub structure: f64,
    /// Whether there is a deformable stage: 0 or 1.
    pub deformable: f64,
    /// Logarithm of the largest determinant of the warp's Jacobian, or of the inverse of the smallest, whichever is
    /// larger. 0 without a deformable stage.
    pub jacobian: f64,
}

/// The affine of a result and the Jacobian determinants of its warp.
#[derive(Debug, Clone, Copy)]
pub struct Affine<'a> {
    /// The initial affine, fixed → moving.
    pub start: &'a AffineTransform,
    /// The affine of the result, fixed → moving.
    pub found: &'a AffineTransform,
    /// Determinants of the warp's Jacobian; `None` without a deformable stage or if they were not computed.
    pub jacobian: Option<&'a JacobianSummary>,
}

/// The images under one transform.
struct Alignment {
    object: Object,
    has_data: Vec<bool>,
    joint: Joint,
    local: f64,
    overlap: f64,
}

impl Measures {
    /// The measures of a result. `None` if an image has no contrast where both have data: then nothing can be said for
    /// the result.
    pub fn of(pair: &Pair, affine: Affine) -> Option<Measures> {
        let Pair { grid, fixed, affine: seen, warped } = pair;
        let all = Object::of(fixed, |_| true)?;
        let align = |seen: &Seen| Alignment::of(pair, &all, seen);
        let (straight, curved) = rayon::join(|| align(seen), || warped.as_ref().map(align));
        let straight = straight?;
        let curved = curved.flatten();
        let search = Search::new(grid, fixed, [&all, &straight.object], seen)?;
        let place = search.places[0];
        let here = [0.0; 6];
        let climb = |by, mirrored, steps: &[f64]| search.climb(by, here, mirrored, steps);
        let (far, (by_information, (by_correlation, mirrored))) = rayon::join(
            || search.far(Joint::information),
            || {
                rayon::join(
                    || climb(Joint::information, false, &NEAR),
                    || {
                        rayon::join(
                            || climb(Joint::explained, false, &NEAR),
                            || climb(Joint::information, true, &[0.12, 0.06, 0.03]),
                        )
                    },
                )
            },
        );
        let information = search.similarity(Joint::information, &here, false, 1);
        let best = if far.similarity > by_information.similarity { far } else { by_information };
        let local = |turn: &Move, mirrored| {
            let (moving, has_data) = search.moved(turn, mirrored);
            local_correlation(grid, [&search.fixed, &moving], &all.is_object, &has_data)
        };
        let (unmoved, (at_best, at_mirrored)) = rayon::join(
            || local(&here, false),
            || rayon::join(|| local(&best.turn, false), || local(&mirrored.turn, true)),
        );
        let extent = |turn: &Move| moved_mm(turn, &place) / place.extent;
        let between: Move = std::array::from_fn(|n| by_information.turn[n] - by_correlation.turn[n]);
        let since_start = affine.found.matrix.try_inverse()? * affine.start.matrix;
        let scales = since_start.singular_values();
        let jacobian = affine
            .jacobian
            .map_or(0.0, |jacobian| jacobian.maximum.max(1e-3).ln().max(-jacobian.minimum.max(1e-3).ln()).max(0.0));
        let structures = [structure(&search.fixed, grid.shape), structure(&search.moving, grid.shape)];
        Some(Measures {
            information,
            explained: straight.joint.explained(),
            local: straight.local,
            local_warped: curved.as_ref().map_or(straight.local, |curved| curved.local),
            overlap: straight.overlap,
            overlap_warped: curved.as_ref().map_or(straight.overlap, |curved| curved.overlap),
            covered: share(&all.is_object, &straight.has_data),
            gain: best.similarity / information.max(0.01) - 1.0,
            local_gain: at_best - unmoved,
            moved: extent(&best.turn),
            settled: extent(&by_information.turn),
            apart: extent(&between),
            sharpness: sharpness(&search, information),
            mirror: at_mirrored - at_best.max(unmoved),
            scale: since_start.determinant().abs().max(1e-9).ln().abs() / 3.0,
            stretch: (scales.max() / scales.min().max(1e-9)).ln(),
            structure: structures[0].min(structures[1]),
            deformable: if pair.warped.is_some() { 1.0 } else { 0.0 },
            jacobian,
        })
    }

    /// The measures by name, in the order in which a table lists them.
    pub fn named(&self) -> [(&'static str, f64); 19] {
        [
            ("information", self.information),
            ("explained", self.explained),
            ("local", self.local),
            ("local_warped", self.local_warped),
            ("overlap", self.overlap),
            ("overlap_warped", self.overlap_warped),
            ("covered", self.covered),
            ("gain", self.gain),
            ("local_gain", self.local_gain),
            ("moved", self.moved),
            ("settled", self.settled),
            ("apart", self.apart),
            ("sharpness", self.sharpness),
            ("mirror", self.mirror),
            ("scale", self.scale),
            ("stretch", self.stretch),
            ("structure", self.structure),
            ("deformable", self.deformable),
            ("jacobian", self.jacobian),
        ]
    }
}

impl Alignment {
    fn of(pair: &Pair, fixed: &Object, seen: &Seen) -> Option<Alignment> {
        let has_data: Vec<bool> = seen.inside.iter().map(|share| *share > 0.5).collect();
        let object = Object::of(&seen.values, |n| has_data[n])?;
        let scaled = |of: &Object, values: &[f32]| values.iter().map(|value| of.scaled(*value)).collect::<Vec<_>>();
        let images = [scaled(fixed, &pair.fixed), scaled(&object, &seen.values)];
        let is = |n: usize| [fixed.is_object[n], object.is_object[n]];
        let inside = |n: &usize| has_data[*n];
        let both = (0..has_data.len()).filter(inside).filter(|n| is(*n) == [true; 2]).count();
        let sum: usize =
            (0..has_data.len()).filter(inside).map(|n| is(n).into_iter().map(usize::from).sum::<usize>()).sum();
        let compared = |n: usize| (has_data[n] && is(n) != [false; 2]).then(|| [images[0][n], images[1][n]]);
        let (joint, local) = rayon::join(
            || Joint::of(has_data.len(), compared),
            || local_correlation(&pair.grid, [&images[0], &images[1]], &fixed.is_object, &has_data),
        );
        let overlap = if sum > 0 { 2.0 * both as f64 / sum as f64 } else { 0.0 };
        Some(Alignment { object, has_data, joint, local, overlap })
    }
}

/// Share of the voxels of an object that have data.
fn share(is_object: &[bool], has_data: &[bool]) -> f64 {
    let inside = is_object.iter().zip(has_data).filter(|(is, has)| **is && **has).count();
    inside as f64 / is_object.iter().filter(|is| **is).count().max(1) as f64
}

/// The share of the information that moves of a tenth of the radius lose, both ways along each parameter.
fn sharpness(search: &Search, information: f64) -> f64 {
    const STEP: f64 = 0.1;
    let moves: Vec<Move> = (0..12)
        .map(|n| {
            let mut turn = [0.0; 6];
            turn[n / 2] = if n % 2 == 0 { STEP } else { -STEP };
            turn
        })
        .collect();
    let after: Vec<f64> =
        moves.par_iter().map(|turn| search.similarity(Joint::information, turn, false, 2)).collect();
    let sum: f64 = after.iter().sum();
    1.0 - sum / moves.len() as f64 / information.max(0.01)
}

/// Correlation of voxels two apart, along all axes. Voxels that are NaN do not count.
fn structure(values: &[f32], shape: [usize; 3]) -> f64 {
    let strides = [1, shape[0], shape[0] * shape[1]];
    let axes: Vec<usize> = (0..3).filter(|axis| shape[*axis] > 4).collect();
    let pair = |n: usize| {
        let (n, axis) = (n / axes.len(), axes[n % axes.len()]);
        let last = n / strides[axis] % shape[axis] + 2 >= shape[axis];
        let pair = (!last).then(|| [values[n], values[n + 2 * strides[axis]]]);
        pair.filter(|pair| pair.iter().all(|value| !value.is_nan()))
    };
    Joint::of(axes.len() * values.len(), pair).explained()
}
