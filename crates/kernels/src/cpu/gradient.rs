//! The gradient of an image, computed row by row: as a displacement in voxels, or as a magnitude.

use rayon::prelude::*;

use super::image::Image;

/// Image gradients by central differences; one-sided differences at the border.
#[derive(Clone, Copy)]
pub(super) struct Gradient {
    shape: [usize; 3],
    /// Factor for each axis by which the difference of the neighbours along the axis is multiplied. For displacements
    /// in voxels along the physical gradient, the factor is 1 / spacing², relative to the finest spacing.
    metric: [f32; 3],
}

impl Gradient {
    pub(super) fn new(shape: [usize; 3], spacing: [f64; 3]) -> Gradient {
        let finest = spacing.into_iter().fold(f64::INFINITY, f64::min);
        Gradient { shape, metric: spacing.map(|spacing| (finest / spacing).powi(2) as f32) }
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
}

/// The three components of the image gradients at the voxels of a row.
#[derive(Debug)]
struct Slopes([Vec<f32>; 3]);

impl Slopes {
    fn new(nx: usize) -> Slopes {
        Slopes(std::array::from_fn(|_| vec![0.0; nx]))
    }
}

/// The update of a voxel is the image gradient times a factor. These are the factors for one row of voxels, for the
/// fixed and the moving image.
#[derive(Debug)]
pub(super) struct Factors {
    pub(super) fixed: Vec<f32>,
    pub(super) moving: Vec<f32>,
    slopes: Slopes,
}

impl Factors {
    pub(super) fn new(nx: usize) -> Factors {
        Factors { fixed: vec![0.0; nx], moving: vec![0.0; nx], slopes: Slopes::new(nx) }
    }

    /// Writes the updates of both images for the row of voxels (·, j, k): the gradient of each image, multiplied by its
    /// factors.
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        gradient: &Gradient,
        images: [&[f32]; 2],
        at: [usize; 2],
        [fixed_update, moving_update]: [&mut [[f32; 3]]; 2],
    ) {
        for (image, factor, update) in
            [(images[0], &self.fixed, fixed_update), (images[1], &self.moving, moving_update)]
        {
            gradient.row(image, at, &mut self.slopes);
            let [gx, gy, gz] = &self.slopes.0;
            for (x, update) in update.iter_mut().enumerate() {
                *update = [factor[x] * gx[x], factor[x] * gy[x], factor[x] * gz[x]];
            }
        }
    }
}

/// The gradient magnitude √Σ(∂image/∂x)², with distances in units of the finest spacing.
pub(super) fn magnitude(image: &Image, spacing: [f64; 3]) -> Image {
    let [nx, ny, _] = image.shape;
    let finest = spacing.into_iter().fold(f64::INFINITY, f64::min);
    let gradient = Gradient { shape: image.shape, metric: spacing.map(|spacing| (finest / spacing) as f32) };
    let mut out = Image::zeros(image.shape);
    let rows = out.voxels.par_chunks_mut(nx).enumerate();
    rows.for_each_init(
        || Slopes::new(nx),
        |slopes, (row, voxels)| {
            gradient.row(&image.voxels, [row % ny, row / ny], slopes);
            let [gx, gy, gz] = &slopes.0;
            for (x, voxel) in voxels.iter_mut().enumerate() {
                *voxel = (gx[x] * gx[x] + gy[x] * gy[x] + gz[x] * gz[x]).sqrt();
            }
        },
    );
    out
}
