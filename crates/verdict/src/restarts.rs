//! Search for a better place near and far from the result, by mutual information on the coarse grid.

use antsreg_core::{AffineTransform, Grid};
use rayon::prelude::*;

use crate::histogram::Joint;
use crate::pair::{Object, Seen};
use crate::turn::{Move, Place, map};

/// A measure of similarity.
pub(crate) type Similarity = fn(&Joint) -> f64;

/// Both images, scaled to 0 to 1, with the voxels that are compared.
pub(crate) struct Search<'a> {
    pub grid: &'a Grid,
    pub fixed: Vec<f32>,
    /// The registered moving image, NaN where it has no data.
    pub moving: Vec<f32>,
    /// Places of the fixed object and of the registered moving object.
    pub places: [Place; 2],
    samples: Vec<Sample>,
    axes: Vec<usize>,
    /// Share of the points that a move must leave with data.
    least: f64,
    /// A climb compares every `stride`th voxel.
    stride: usize,
}

/// A voxel of the fixed image that is compared: its index along each axis, and its intensity.
struct Sample {
    at: [f32; 3],
    value: f32,
}

/// A place that a search found: the move from the result, and the similarity there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub turn: Move,
    pub similarity: f64,
}

impl<'a> Search<'a> {
    /// Prepares a search. Voxels are compared in the box around the fixed object and two voxels beyond, so that outlines
    /// count. `None` if an image has no object.
    pub fn new(grid: &'a Grid, fixed: &[f32], objects: [&Object; 2], seen: &'a Seen) -> Option<Search<'a>> {
        const MARGIN: usize = 2;
        let places = [Place::of(grid, &objects[0].is_object)?, Place::of(grid, &objects[1].is_object)?];
        let [first, last] = grid.bounds_of(&objects[0].is_object, |is| *is)?;
        let [nx, ny, _] = grid.shape;
        let at = |n: usize| [n % nx, n / nx % ny, n / nx / ny];
        let near = |n: &usize| {
            (0..3).all(|axis| at(*n)[axis] + MARGIN >= first[axis] && at(*n)[axis] <= last[axis] + MARGIN)
        };
        // A slice moves in its plane only.
        let across = (0..3).max_by(|a, b| {
            let of = |axis: usize| grid.direction[(axis, 2)].abs();
            of(*a).total_cmp(&of(*b))
        })?;
        let in_plane = |axis: &usize| if *axis < 3 { *axis == across } else { *axis - 3 != across };
        let axes = (0..6).filter(|axis| !grid.is_slice() || in_plane(axis)).collect();
        let fixed: Vec<f32> = fixed.iter().map(|value| objects[0].scaled(*value)).collect();
        let moving = |(value, inside): (&f32, &f32)| if *inside > 0.5 { objects[1].scaled(*value) } else { f32::NAN };
        let moving = seen.values.iter().zip(&seen.inside).map(moving).collect();
        let sample = |n| Sample { at: at(n).map(|index| index as f32), value: fixed[n] };
        let samples: Vec<_> = (0..grid.len()).filter(near).map(sample).collect();
        let stride = samples.len().div_ceil(CLIMBED).max(1);
        let mut search = Search { grid, fixed, moving, places, samples, axes, least: 0.0, stride };
        let here = search.joint(&[0.0; 6], false, 1).total();
        search.least = LEAST_LEFT * here / search.samples.len().max(1) as f64;
        Some(search)
    }

    /// The map of a move in world mm.
    pub fn map(&self, turn: &Move, mirrored: bool) -> AffineTransform {
        map(turn, &self.places[0], mirrored.then_some(&self.places[1]))
    }

    /// The intensity of the moving image, after a move, at a voxel of the grid; NaN without data.
    fn moved_at(&self, turn: &Move, mirrored: bool) -> impl Fn([f32; 3]) -> f32 {
        let map = self.grid.world_to_voxel().after(&self.map(turn, mirrored)).after(&self.grid.voxel_to_world());
        let rows: [[f32; 4]; 3] = std::array::from_fn(|row| {
            let of = |column| map.matrix[(row, column)] as f32;
            [of(0), of(1), of(2), map.translation[row] as f32]
        });
        move |[x, y, z]| read(self.grid.shape, &self.moving, rows.map(|[a, b, c, d]| a * x + b * y + c * z + d))
    }

    /// The joint histogram after a move, from every `stride`th voxel.
    fn joint(&self, turn: &Move, mirrored: bool, stride: usize) -> Joint {
        let moved = self.moved_at(turn, mirrored);
        let count = self.samples.len().div_ceil(stride);
        Joint::of(count, |n| {
            let sample = &self.samples[n * stride];
            Some(moved(sample.at)).filter(|value| !value.is_nan()).map(|value| [sample.value, value])
        })
    }

    /// The similarity after a move; 0 if it leaves too few voxels with data.
    pub fn similarity(&self, by: Similarity, turn: &Move, mirrored: bool, stride: usize) -> f64 {
        let joint = self.joint(turn, mirrored, stride);
        let least = self.least * self.samples.len().div_ceil(stride) as f64;
        if joint.total() < least { 0.0 } else { by(&joint) }
    }

    /// The moving image after a move, scaled, 0 without data, with the voxels that have data.
    pub fn moved(&self, turn: &Move, mirrored: bool) -> (Vec<f32>, Vec<bool>) {
        let moved = self.moved_at(turn, mirrored);
        let [nx, ny, _] = self.grid.shape;
        let at = |n: usize| [n % nx, n / nx % ny, n / nx / ny].map(|index| index as f32);
        let value = |n| Some(moved(at(n))).filter(|value| !value.is_nan());
        (0..self.grid.len()).into_par_iter().map(|n| value(n).map_or((0.0, false), |value| (value, true))).unzip()
    }

    /// Climbs from a move by steps along one parameter at a time. Each step length, radians or radii, is tried until no
    /// parameter gains by it, at most twice. The similarity at the end is that of all voxels.
    pub fn climb(&self, by: Similarity, from: Move, mirrored: bool, steps: &[f64]) -> Found {
        let Found { turn, .. } = self.climb_roughly(by, from, mirrored, steps, self.stride);
        Found { turn, similarity: self.similarity(by, &turn, mirrored, 1) }
    }

    /// Climbs as [`Search::climb`] does, by the similarity of every `stride`th voxel.
    fn climb_roughly(&self, by: Similarity, from: Move, mirrored: bool, steps: &[f64], stride: usize) -> Found {
        let similarity = |turn: &Move| self.similarity(by, turn, mirrored, stride);
        let mut best = Found { turn: from, similarity: similarity(&from) };
        for step in steps {
            for _ in 0..2 {
                let before = best.similarity;
                for axis in &self.axes {
                    for sign in [-1.0, 1.0] {
                        let mut turn = best.turn;
                        turn[*axis] += sign * step;
                        let similarity = similarity(&turn);
                        if similarity > best.similarity {
                            best = Found { turn, similarity };
                        }
                    }
                }
                if best.similarity <= before {
                    break;
                }
            }
        }
        best
    }

    /// The best place that climbs from far moves reach: turns about each axis by 30°, 60° and 180°, and shifts.
    pub fn far(&self, by: Similarity) -> Found {
        /// A fourth as many voxels as in other climbs are compared until the best starts are known.
        const ROUGHER: usize = 4;
        /// Number of starts that are followed with all voxels.
        const FOLLOWED: usize = 3;
        let turns = [0.5, -0.5, 1.0, -1.0, std::f64::consts::PI];
        let starts: Vec<Move> = self
            .axes
            .iter()
            .flat_map(|axis| {
                let sizes = if *axis < 3 { &turns[..] } else { &[0.6, -0.6] };
                sizes.iter().map(|size| {
                    let mut start = [0.0; 6];
                    start[*axis] = *size;
                    start
                })
            })
            .collect();
        let rough = ROUGHER * self.stride;
        let climb = |start: &Move| self.climb_roughly(by, *start, false, &[0.25, 0.12], rough);
        let mut reached: Vec<Found> = starts.par_iter().map(climb).collect();
        reached.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
        reached.truncate(FOLLOWED);
        let follow = |found: &Found| self.climb(by, found.turn, false, &NEAR);
        let followed: Vec<Found> = reached.par_iter().map(follow).collect();
        let none = Found { turn: [0.0; 6], similarity: 0.0 };
        followed.into_iter().fold(none, |best, found| if found.similarity > best.similarity { found } else { best })
    }
}

/// A climb compares about this number of voxels, some 14 for each bin of the histogram.
const CLIMBED: usize = 1 << 13;

/// A move must leave this share of the voxels that have data at the result. Fewer voxels could match by chance.
const LEAST_LEFT: f64 = 0.7;

/// Lengths of the steps of a climb near a place, radians or radii of the object.
pub(crate) const NEAR: [f64; 3] = [0.08, 0.04, 0.02];

/// Trilinear interpolation at a fractional voxel index; NaN outside the image and beside voxels without data.
fn read([nx, ny, nz]: [usize; 3], values: &[f32], at: [f32; 3]) -> f32 {
    let mut low = [0usize; 3];
    let mut share = [0.0f32; 3];
    for (axis, length) in [nx, ny, nz].into_iter().enumerate() {
        let last = (length - 1) as f32;
        if !(-0.5..=last + 0.5).contains(&at[axis]) {
            return f32::NAN;
        }
        let index = at[axis].clamp(0.0, last);
        low[axis] = (index as usize).min(length.saturating_sub(2));
        share[axis] = index - low[axis] as f32;
    }
    let base = low[0] + nx * (low[1] + ny * low[2]);
    let step = [usize::from(nx > 1), if ny > 1 { nx } else { 0 }, if nz > 1 { nx * ny } else { 0 }];
    let along = |n: usize| values[n] + share[0] * (values[n + step[0]] - values[n]);
    let plane = |n: usize| along(n) + share[1] * (along(n + step[1]) - along(n));
    plane(base) + share[2] * (plane(base + step[2]) - plane(base))
}
