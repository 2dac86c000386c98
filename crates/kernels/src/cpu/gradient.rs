//! The gradient of an image: as a displacement in voxels, and its length.

use rayon::prelude::*;

use super::image::Image;

/// A voxel's indices, and where it stands in memory.
#[derive(Clone, Copy)]
pub(super) struct Voxel {
    pub(super) x: usize,
    pub(super) j: usize,
    pub(super) k: usize,
    pub(super) here: usize,
}

/// Central differences, one-sided at the border.
#[derive(Clone, Copy)]
pub(super) struct Gradient {
    shape: [usize; 3],
    /// What a difference of neighbours is multiplied by along each axis; for a physical gradient as a displacement in
    /// voxels 1 / spacing², relative to the finest.
    metric: [f32; 3],
}

impl Gradient {
    pub(super) fn new(shape: [usize; 3], spacing: [f64; 3]) -> Gradient {
        let finest = spacing.into_iter().fold(f64::INFINITY, f64::min);
        Gradient { shape, metric: spacing.map(|spacing| (finest / spacing).powi(2) as f32) }
    }

    /// Along each axis, for the voxels of row (j, k).
    #[inline(always)]
    pub(super) fn row(&self, image: &[f32], j: usize, k: usize, [gx, gy, gz]: [&mut [f32]; 3]) {
        let [nx, ny, nz] = self.shape;
        let row = |j: usize, k: usize| &image[(k * ny + j) * nx..][..nx];
        let here = row(j, k);
        let half = |index: usize, n: usize| if index > 0 && index + 1 < n { 0.5 } else { 1.0 };
        let (metric, inner) = (self.metric[0], nx.saturating_sub(2));
        for ((g, below), above) in gx.iter_mut().skip(1).zip(&here[..inner]).zip(&here[nx - inner..]) {
            *g = (above - below) * 0.5 * metric;
        }
        gx[0] = (here[1.min(nx - 1)] - here[0]) * metric;
        if nx > 1 {
            gx[nx - 1] = (here[nx - 1] - here[nx - 2]) * metric;
        }
        let across = |g: &mut [f32], below: &[f32], above: &[f32], half: f32, metric: f32| {
            for ((g, below), above) in g.iter_mut().zip(below).zip(above) {
                *g = (above - below) * half * metric;
            }
        };
        across(gy, row(j.saturating_sub(1), k), row((j + 1).min(ny - 1), k), half(j, ny), self.metric[1]);
        across(gz, row(j, k.saturating_sub(1)), row(j, (k + 1).min(nz - 1)), half(k, nz), self.metric[2]);
    }

    #[inline(always)]
    pub(super) fn at(&self, image: &[f32], Voxel { x, j, k, here }: Voxel) -> [f32; 3] {
        let [nx, ny, nz] = self.shape;
        let difference = |index: usize, n: usize, stride: usize, metric: f32| {
            let (below, above) = (usize::from(index > 0), usize::from(index + 1 < n));
            let half = if below + above == 2 { 0.5 } else { 1.0 };
            (image[here + above * stride] - image[here - below * stride]) * half * metric
        };
        [
            difference(x, nx, 1, self.metric[0]),
            difference(j, ny, nx, self.metric[1]),
            difference(k, nz, nx * ny, self.metric[2]),
        ]
    }
}

/// √Σ(∂image/∂x)², along each axis per finest spacing.
pub(super) fn magnitude(image: &Image, spacing: [f64; 3]) -> Image {
    let [nx, ny, _] = image.shape;
    let finest = spacing.into_iter().fold(f64::INFINITY, f64::min);
    let gradient = Gradient { shape: image.shape, metric: spacing.map(|spacing| (finest / spacing) as f32) };
    let mut out = Image::zeros(image.shape);
    out.voxels.par_chunks_mut(nx).enumerate().for_each(|(row, voxels)| {
        for (x, voxel) in voxels.iter_mut().enumerate() {
            let at = Voxel { x, j: row % ny, k: row / ny, here: row * nx + x };
            let g = gradient.at(&image.voxels, at);
            *voxel = (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]).sqrt();
        }
    });
    out
}
