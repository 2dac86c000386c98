//! Signed distances of voxels to the border of a set of voxels.

use super::Cuda;
use super::image::Image;
use super::launch::{Launch, Shape, arguments};
use crate::{DistanceLimits, Error};

impl Cuda {
    pub(super) fn distance_to_border(
        &self,
        set: &Image,
        spacing_mm: [f64; 3],
        limits: DistanceLimits,
    ) -> Result<Image, Error> {
        let kernels = self.kernels.distance(&self.device)?;
        let (shape, bytes) = (Shape::of(set.shape), 8 * set.len() as u64);
        let [x, y, z] = spacing_mm.map(|mm| mm as f32);
        let [outside, inside] = limits.squares();
        let mut along_x = Image::uninitialised(&self.device, set.shape)?;
        let launch = Launch::over_voxels(&kernels.distance_along_rows, set.shape, bytes);
        let (source, target) = (set.read(), along_x.write());
        // SAFETY: both images have one shape. Only voxels within it are read, and threads outside it return.
        unsafe { self.launch(launch, arguments![source, x, outside, inside, target, shape])? };
        let lower = |from: &Image, axis: i32, step: f32, to: &mut Image| {
            let launch = Launch::over_voxels(&kernels.distance_across_rows, set.shape, bytes);
            let (source, last, target) = (from.read(), i32::from(axis == 1), to.write());
            // SAFETY: as above. The two images are different ones.
            unsafe { self.launch(launch, arguments![source, axis, step, last, target, shape]) }
        };
        let mut along_z = Image::uninitialised(&self.device, set.shape)?;
        lower(&along_x, 2, z, &mut along_z)?;
        lower(&along_z, 1, y, &mut along_x)?;
        Ok(along_x)
    }
}
