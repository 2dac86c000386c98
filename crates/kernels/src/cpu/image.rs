//! A scalar volume in main memory, and interpolation of its values.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use wide::f32x4;

use super::points::{Place, Points, strides};
use super::zeros;
use crate::Error;
use crate::cpu::backdrop::Backdrop;

/// A scalar volume in main memory, x fastest.
#[derive(Debug, Clone)]
pub struct Image {
    pub(super) shape: [usize; 3],
    pub(super) voxels: Voxels,
}

/// The voxel values of a volume, and the volume's backdrop: the parts with only the background value.
#[derive(Debug, Clone, Default)]
pub(super) struct Voxels {
    values: Vec<f32>,
    /// The backdrop, the parts of the image with the value of its first voxel. It is computed when first needed and
    /// dropped when values are written.
    backdrop: OnceLock<Arc<Backdrop>>,
}

impl Image {
    pub(super) fn zeros(shape: [usize; 3]) -> Image {
        Image { shape, voxels: zeros(shape.iter().product()).into() }
    }

    pub(super) fn from_voxels(shape: [usize; 3], voxels: &[f32]) -> Result<Image, Error> {
        Error::check_length("upload", shape, voxels.len())?;
        let mut image = Image::zeros(shape);
        image.voxels.par_iter_mut().zip(voxels).for_each(|(to, from)| *to = *from);
        Ok(image)
    }

    /// The backdrop of the image: the parts where all voxels have the background value.
    pub(super) fn backdrop(&self) -> Arc<Backdrop> {
        self.voxels.backdrop.get_or_init(|| Arc::new(Backdrop::of(self.shape, &self.voxels))).clone()
    }
}

impl From<Vec<f32>> for Voxels {
    fn from(values: Vec<f32>) -> Voxels {
        Voxels { values, backdrop: OnceLock::new() }
    }
}

impl Deref for Voxels {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

impl DerefMut for Voxels {
    fn deref_mut(&mut self) -> &mut [f32] {
        self.backdrop.take();
        &mut self.values
    }
}

/// Interpolates an image at fractional voxel indices.
pub(super) struct Sampler<'a> {
    shape: [usize; 3],
    voxels: &'a [f32],
    backdrop: Arc<Backdrop>,
    cell: Cell,
    outside: f32,
}

/// Points at which an image is interpolated, and the voxels around them: four pairs of neighbours along x.
pub(super) struct Samples {
    pub(super) points: Points,
    pairs: [[[f32; 2]; Points::MOST]; 4],
}

impl Samples {
    pub(super) fn new() -> Samples {
        Samples { points: Points::new(), pairs: [[[0.0; 2]; Points::MOST]; 4] }
    }

    /// Reads the eight voxels around each of the first `count` points. `STEP` is the distance in memory of neighbours
    /// along x.
    #[inline(always)]
    fn gather<const STEP: usize>(&mut self, image: &Sampler<'_>, count: usize) {
        // With 32 bits the compiler knows that sums of strides do not overflow, and checks fewer bounds.
        let [_, sy, sz] = strides(image.shape).map(|stride| stride as u32 as usize);
        for point in 0..count {
            // The bounds of all eight voxels are checked at once.
            let cell = &image.voxels[self.points.place(point).near..][..sz + sy + STEP + 1];
            let pair = |at: usize| [cell[at], cell[at + STEP]];
            self.pairs[0][point] = pair(0);
            self.pairs[1][point] = pair(sy);
            self.pairs[2][point] = pair(sz);
            self.pairs[3][point] = pair(sz + sy);
        }
    }
}

impl<'a> Sampler<'a> {
    /// A sampler that returns `outside` where a point is more than half a voxel outside the image.
    pub(super) fn new(image: &'a Image, outside: f32) -> Self {
        Sampler {
            shape: image.shape,
            voxels: &image.voxels,
            backdrop: image.backdrop(),
            cell: Cell::new(image.shape),
            outside,
        }
    }

    /// The trilinear values of the image at the first points of `samples`, one for each of `values`.
    #[inline(always)]
    pub(super) fn linear(&self, samples: &mut Samples, values: &mut [f32]) {
        let [low, high] = samples.points.locate(values.len(), self.shape);
        if self.backdrop.covers_cells(low.map(|cell| cell as i32), high.map(|cell| cell as i32)) {
            values.fill(self.backdrop.value);
        } else {
            match self.shape[0] {
                1 => samples.gather::<0>(self, values.len()),
                _ => samples.gather::<1>(self, values.len()),
            }
            let [x, y, z] = samples.points.within();
            let lerp = |a: f32, b: f32, t: f32| a + t * (b - a);
            for (point, value) in values.iter_mut().enumerate() {
                let [c00, c10, c01, c11] = samples.pairs.each_ref().map(|pairs| {
                    let [a, b] = pairs[point];
                    lerp(a, b, x[point])
                });
                *value = lerp(lerp(c00, c10, y[point]), lerp(c01, c11, y[point]), z[point]);
            }
        }
        for (point, value) in values.iter_mut().enumerate() {
            let contained = self.cell.contains(samples.points.get(point));
            *value = if contained { *value } else { self.outside };
        }
    }

    /// The value of the voxel nearest to a point; half-way between two voxels, the value of the voxel with the higher
    /// index.
    #[inline(always)]
    pub(super) fn nearest(&self, point: [f32; 3]) -> f32 {
        if !self.cell.contains(point) {
            return self.outside;
        }
        self.voxels[self.cell.nearest(point)]
    }
}

/// Finds the cell of eight voxels around a point. Vectors have four lanes: the first three are x, y and z; the fourth
/// is 0 or has no meaning.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// Largest voxel index along each axis.
    top: f32x4,
    /// Largest index, along each axis, of the lowest of the eight voxels between which a value is interpolated.
    last: f32x4,
    /// Number of voxels in a row and in a slice.
    row: usize,
    slice: usize,
}

impl Cell {
    pub(super) fn new(shape: [usize; 3]) -> Cell {
        let [x, y, z] = shape.map(|n| n as f32);
        let top = f32x4::new([x - 1.0, y - 1.0, z - 1.0, 0.0]);
        Cell { top, last: (top - 1.0).max(f32x4::ZERO), row: shape[0], slice: shape[0] * shape[1] }
    }

    /// Whether the point is at most half a voxel outside the volume.
    #[inline(always)]
    pub(super) fn contains(&self, point: [f32; 3]) -> bool {
        let top = self.top.as_array();
        let along = |axis: usize| (point[axis] >= -0.5) & (point[axis] <= top[axis] + 0.5);
        along(0) & along(1) & along(2)
    }

    /// The place of a point, clamped to the volume.
    #[inline(always)]
    pub(super) fn locate(&self, point: f32x4) -> Place {
        // The maximum of NaN and 0 is 0 with `fast_max`, so a NaN coordinate becomes 0.
        let clamped = point.fast_max(f32x4::ZERO).fast_min(self.top);
        let low = clamped.fast_min(self.last).fast_trunc_int();
        let [i, j, k, _] = low.to_array().map(|index| index as usize);
        let [x, y, z, _] = (clamped - low.round_float()).to_array();
        Place { near: i + j * self.row + k * self.slice, within: [x, y, z] }
    }

    /// Index of the voxel nearest to a point, clamped to the volume; half-way between voxels, the voxel of higher index.
    #[inline(always)]
    fn nearest(&self, point: [f32; 3]) -> usize {
        let top = self.top.as_array();
        let [i, j, k]: [usize; 3] =
            std::array::from_fn(|axis| (point[axis] + 0.5).clamp(0.0, top[axis]) as i32 as usize);
        i + j * self.row + k * self.slice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trilinear value by its formula, in double precision.
    fn expected(image: &Image, point: [f32; 3], outside: f32) -> f64 {
        let top = image.shape.map(|n| n as f64 - 1.0);
        let point = point.map(f64::from);
        if (0..3).any(|axis| point[axis] < -0.5 || point[axis] > top[axis] + 0.5) {
            return outside.into();
        }
        let at: [f64; 3] = std::array::from_fn(|axis| point[axis].clamp(0.0, top[axis]));
        let corner = |n: usize| {
            let (mut weight, mut index) = (1.0, [0; 3]);
            for axis in 0..3 {
                let high = n >> axis & 1;
                let t = at[axis].fract();
                weight *= if high == 1 { t } else { 1.0 - t };
                index[axis] = (at[axis] as usize + high).min(image.shape[axis] - 1);
            }
            weight * f64::from(image.voxels[(index[2] * image.shape[1] + index[1]) * image.shape[0] + index[0]])
        };
        (0..8).map(corner).sum()
    }

    #[test]
    fn many_points_get_the_trilinear_values() {
        for shape in [[30, 25, 20], [1, 12, 9], [12, 1, 9], [13, 11, 1]] {
            let mut image = Image::zeros(shape);
            // All voxels before this one have one value, the backdrop.
            let len = image.voxels.len();
            image.voxels.fill(0.25);
            (len / 2..len).for_each(|n| image.voxels[n] = (n * n % 101) as f32 / 101.0);
            let sampler = Sampler::new(&image, -3.0);
            let mut samples = Samples::new();
            let (mut backdrop, mut outside) = (0, 0);
            for block in 0..40 {
                let count = [Points::MOST, 5][block % 2];
                let along = |n: usize, axis: usize, step: f32| {
                    let span = shape[axis] as f32 + 1.2;
                    ((block * 3) as f32 * step + 0.11 * n as f32).rem_euclid(span) - 1.1
                };
                let at = |n: usize| [along(n, 0, 1.3), along(n, 1, 0.7), along(n, 2, 0.23)];
                (0..count).for_each(|n| samples.points.set(n, at(n)));
                let mut values = vec![f32::NAN; count];
                sampler.linear(&mut samples, &mut values);
                for (n, value) in values.into_iter().enumerate() {
                    let expected = expected(&image, at(n), -3.0);
                    assert!((f64::from(value) - expected).abs() < 1e-5, "{value}, not {expected} at {:?}", at(n));
                    backdrop += usize::from(value == 0.25);
                    outside += usize::from(value == -3.0);
                }
            }
            assert!(backdrop > 100 && outside > 100, "{shape:?}: {backdrop} in the backdrop, {outside} outside");
        }
    }

    #[test]
    fn points_that_are_not_numbers_are_outside() {
        let image = Image::zeros([4, 4, 4]);
        let mut samples = Samples::new();
        let mut values = [0.0; 2];
        samples.points.set(0, [1.0, f32::NAN, 1.0]);
        samples.points.set(1, [1.0, 1.0, 1.0]);
        Sampler::new(&image, -1.0).linear(&mut samples, &mut values);
        assert_eq!(values, [-1.0, 0.0]);
    }
}
