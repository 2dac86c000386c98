//! The gradient of an image, computed row by row: as the update of a displacement field, or as a magnitude.

use std::ops::Range;

use rayon::prelude::*;

use super::Cpu;
use super::field::Field;
use super::image::Image;
use crate::metric_output::physical_factors;
use crate::{Error, MetricOutput};

/// Image gradients by central differences; one-sided differences at the border.
#[derive(Clone, Copy)]
pub(super) struct Gradient {
    shape: [usize; 3],
    /// Factor for each axis by which the difference of the neighbours along the axis is multiplied. For displacements
    /// in voxels along the physical gradient, the factor is 1 / spacing², relative to the finest spacing.
    metric: [f32; 3],
}

impl Gradient {
    fn new(shape: [usize; 3], spacing: [f64; 3]) -> Gradient {
        Gradient { shape, metric: physical_factors(spacing) }
    }

    /// Writes the image gradients at the voxels of row (j, k) to `slopes`, component by component.
    #[inline(always)]
    fn row(&self, image: &[f32], [j, k]: [usize; 2], slopes: &mut Slopes) {
        let [nx, ny, nz] = self.shape;
        let row = |j: usize, k: usize| &image[(k * ny + j) * nx..][..nx];
        let half = |index: usize, n: usize| if index > 0 && index + 1 < n { 0.5 } else { 1.0 };
        let [x, y, z] = &mut slopes.0;
        let (here, metric, inner) = (row(j, k), self.metric[0], nx.saturating_sub(2));
        for ((slope, below), above) in x.iter_mut().skip(1).zip(&here[..inner]).zip(&here[nx - inner..]) {
            *slope = (above - below) * 0.5 * metric;
        }
        x[0] = (here[1.min(nx - 1)] - here[0]) * metric;
        if nx > 1 {
            x[nx - 1] = (here[nx - 1] - here[nx - 2]) * metric;
        }
        let across = |slopes: &mut [f32], below: &[f32], above: &[f32], half: f32, metric: f32| {
            for ((slope, below), above) in slopes.iter_mut().zip(below).zip(above) {
                *slope = (above - below) * half * metric;
            }
        };
        across(y, row(j.saturating_sub(1), k), row((j + 1).min(ny - 1), k), half(j, ny), self.metric[1]);
        across(z, row(j, k.saturating_sub(1)), row(j, (k + 1).min(nz - 1)), half(k, nz), self.metric[2]);
    }

    /// Writes the update of the row of voxels (·, j, k) from the row's derivatives.
    #[inline(always)]
    fn update_row(
        &self,
        image: &[f32],
        derivative: &[f32],
        at: [usize; 2],
        slopes: &mut Slopes,
        update: &mut [[f32; 3]],
    ) {
        self.row(image, at, slopes);
        let [gx, gy, gz] = &slopes.0;
        for (x, update) in update.iter_mut().enumerate() {
            *update = [derivative[x] * gx[x], derivative[x] * gy[x], derivative[x] * gz[x]];
        }
    }
}

/// The three components of the image gradients at the voxels of a row.
#[derive(Debug)]
pub(super) struct Slopes([Vec<f32>; 3]);

impl Slopes {
    pub(super) fn new(nx: usize) -> Slopes {
        Slopes(std::array::from_fn(|_| vec![0.0; nx]))
    }
}

/// The update of a displacement field: derivatives of a metric with respect to an image's values, multiplied by the
/// image's gradients.
pub(super) struct Update<'a> {
    gradient: Gradient,
    image: &'a [f32],
    derivative: &'a [f32],
}

impl Update<'_> {
    pub(super) fn new<'a>(image: &'a Image, derivative: &'a Image, spacing: [f64; 3]) -> Update<'a> {
        Update { gradient: Gradient::new(image.shape, spacing), image: &image.voxels, derivative: &derivative.voxels }
    }

    /// Writes the update of the row of voxels (·, j, k).
    #[inline(always)]
    pub(super) fn row(&self, [j, k]: [usize; 2], slopes: &mut Slopes, update: &mut [[f32; 3]]) {
        let [nx, ny, _] = self.gradient.shape;
        let derivative = &self.derivative[(k * ny + j) * nx..][..nx];
        self.gradient.update_row(self.image, derivative, [j, k], slopes, update);
    }

    /// Writes the update of all voxels.
    pub(super) fn write(&self, out: &mut Field) {
        let [nx, ny, _] = self.gradient.shape;
        let rows = out.vectors_mut().par_chunks_mut(nx).enumerate();
        rows.for_each_init(
            || Slopes::new(nx),
            |slopes, (row, update)| self.row([row % ny, row / ny], slopes, update),
        );
    }
}

/// Where a metric writes its derivatives or updates, or some slices of it; see [`MetricOutput`].
pub(super) enum Out<'a> {
    Derivatives([&'a mut [f32]; 2]),
    Updates(Gradient, [&'a mut [[f32; 3]]; 2]),
}

impl<'a> Out<'a> {
    /// Output for images of the shape `shape`. Returns an error of `operation` if its own shape is another.
    pub(super) fn of(
        operation: &'static str,
        shape: [usize; 3],
        out: MetricOutput<'a, Cpu>,
    ) -> Result<Out<'a>, Error> {
        Ok(match out {
            MetricOutput::Derivatives(images) => {
                Error::check_shapes(operation, shape, images.iter().map(|image| image.shape))?;
                Out::Derivatives(images.map(|image| &mut image.voxels[..]))
            }
            MetricOutput::Updates { fields, spacing } => {
                Error::check_shapes(operation, shape, fields.iter().map(|field| field.shape))?;
                Out::Updates(Gradient::new(shape, spacing), fields.map(Field::vectors_mut))
            }
        })
    }

    /// The output for a range of voxels.
    pub(super) fn part(&mut self, range: Range<usize>) -> Out<'_> {
        match self {
            Out::Derivatives(images) => Out::Derivatives(images.each_mut().map(|image| &mut image[range.clone()])),
            Out::Updates(gradient, fields) => {
                Out::Updates(*gradient, fields.each_mut().map(|field| &mut field[range.clone()]))
            }
        }
    }

    /// The output in pieces of at most this number of voxels. A piece ends at the end of each slice of `slice` voxels.
    pub(super) fn pieces(self, slice: usize, voxels: usize) -> Vec<Out<'a>> {
        fn split<T>(
            [fixed, moving]: [&mut [T]; 2],
            slice: usize,
            voxels: usize,
        ) -> impl Iterator<Item = [&mut [T]; 2]> {
            let slices = fixed.chunks_mut(slice).zip(moving.chunks_mut(slice));
            slices.flat_map(move |(fixed, moving)| {
                fixed.chunks_mut(voxels).zip(moving.chunks_mut(voxels)).map(|(fixed, moving)| [fixed, moving])
            })
        }
        match self {
            Out::Derivatives(images) => split(images, slice, voxels).map(Out::Derivatives).collect(),
            Out::Updates(gradient, fields) => {
                split(fields, slice, voxels).map(|fields| Out::Updates(gradient, fields)).collect()
            }
        }
    }

    /// Writes the output of the row of voxels (·, j, k), which has this range within the output, from the derivatives in
    /// `row`.
    #[inline(always)]
    pub(super) fn write(&mut self, images: [&[f32]; 2], at: [usize; 2], range: Range<usize>, row: &mut Row) {
        let Row { derivatives, slopes } = row;
        for side in 0..2 {
            let derivative = &derivatives[side];
            match self {
                Out::Derivatives(out) => out[side][range.clone()].copy_from_slice(derivative),
                Out::Updates(gradient, out) => {
                    gradient.update_row(images[side], derivative, at, slopes, &mut out[side][range.clone()]);
                }
            }
        }
    }
}

/// The derivatives of a metric for one row of voxels, with respect to the values of the fixed and of the moving image.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) derivatives: [Vec<f32>; 2],
    slopes: Slopes,
}

impl Row {
    pub(super) fn new(nx: usize) -> Row {
        Row { derivatives: [vec![0.0; nx], vec![0.0; nx]], slopes: Slopes::new(nx) }
    }
}

impl Gradient {
    /// The gradient with distances in units of the finest spacing.
    pub(super) fn per_finest_spacing(shape: [usize; 3], spacing: [f64; 3]) -> Gradient {
        let finest = spacing.into_iter().fold(f64::INFINITY, f64::min);
        Gradient { shape, metric: spacing.map(|spacing| (finest / spacing) as f32) }
    }

    /// Returns the gradient magnitudes √Σ(∂image/∂x)² at the voxels of a row, counted through all slices.
    #[inline(always)]
    pub(super) fn magnitudes<'a>(
        &self,
        image: &[f32],
        row: usize,
        slopes: &'a mut Slopes,
    ) -> impl Iterator<Item = f32> + 'a {
        let [_, ny, _] = self.shape;
        self.row(image, [row % ny, row / ny], slopes);
        let [gx, gy, gz] = &slopes.0;
        gx.iter().zip(gy).zip(gz).map(|((x, y), z)| (x * x + y * y + z * z).sqrt())
    }
}
