//! Resampling of images on a template's grid, on a device.

use antsreg_cohort::template::{Brightness, foreground_on};
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::{Backend, Error};
use antsreg_register::Interpolation;
use antsreg_register::resample::{Kernel, Sampler};

/// Images that share their world coordinates, and the grid on which they will be resampled.
#[derive(Debug, Clone)]
pub struct Resampling<'a> {
    /// The images.
    pub images: Vec<&'a Volume>,
    /// The grid.
    pub grid: &'a Grid,
    /// Interpolation of the images.
    pub interpolation: Interpolation,
}

/// An image that was resampled on a template's grid.
pub struct Resampled {
    /// The image.
    pub image: Volume,
    /// Intensity above which a voxel is foreground (head or brain).
    pub foreground: f32,
}

impl Resampled {
    /// Computes the mean intensity of each image. Returns the images, and for each image its mean intensity and
    /// foreground threshold.
    pub fn brightness(resampled: Vec<Resampled>) -> (Vec<Volume>, Vec<Brightness>) {
        let of = |Resampled { image, foreground }: Resampled| {
            let brightness = Brightness::with(&image, foreground);
            (image, brightness)
        };
        resampled.into_iter().map(of).unzip()
    }
}

impl Resampling<'_> {
    /// Resamples the images. A point of the grid is mapped by `field` (voxels of the grid), if given, then by `affine`
    /// (RAS mm) to the world coordinates of the images. The result is 0 outside the images. Values are clamped to the
    /// intensity range of each image, because smooth interpolation overshoots at edges.
    ///
    /// # Errors
    /// A device that fails.
    pub fn run<B: Backend>(
        &self,
        backend: &B,
        field: Option<&B::Field>,
        affine: &AffineTransform,
    ) -> Result<Vec<Resampled>, Error> {
        let Resampling { images, grid, interpolation } = self;
        let mut out = backend.image(grid.shape)?;
        let resample = |image: &&Volume| {
            let voxels = backend.upload(image.grid.shape, &image.voxels)?;
            let (low, high) = backend.quantiles(&voxels, 0.0, 1.0)?.low_high.unwrap_or_default();
            let sampler = Sampler::of(backend, voxels, &image.grid, (*interpolation).into())?;
            sampler.read(backend, grid, field, affine, &mut out)?;
            // The resampled image is 0 outside the input image, so the range to which values are clamped must contain
            // 0.
            backend.clip(&mut out, (low.min(0.0), high.max(0.0)), 0.0, 1.0)?;
            let foreground = foreground_on(backend, &out)?;
            Ok(Resampled { image: Volume { grid: (*grid).clone(), voxels: backend.download(&out)? }, foreground })
        };
        images.iter().map(resample).collect()
    }

    /// Number of values of 32 bits that resampling keeps in the memory of a GPU at the same time, without the
    /// displacement field.
    pub fn scalars(&self) -> usize {
        let largest = self.images.iter().map(|image| image.voxels.len()).max().unwrap_or(0);
        let coefficients = usize::from(Kernel::from(self.interpolation) == Kernel::Spline);
        self.grid.len() + largest * (1 + coefficients)
    }
}
