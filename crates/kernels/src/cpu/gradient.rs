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
