//! The gradient of an image, as a displacement in voxels.

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
    /// 1 / spacing² per axis, relative to the finest: a physical gradient as a displacement in voxels.
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
