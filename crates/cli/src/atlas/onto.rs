//! Images brought onto a template's grid, where an engine works.

use antsreg_cohort::template::{Brightness, foreground_on};
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::{Backend, Error};

use crate::interpolation::ImageInterpolation;
use crate::on_device::{Kernel, Source};

/// Images of one space, and how they come onto a grid.
#[derive(Debug, Clone, Copy)]
pub struct Onto<'a> {
    /// What is read.
    pub images: &'a [Volume],
    /// Where to.
    pub grid: &'a Grid,
    /// Between voxels.
    pub how: ImageInterpolation,
}

/// An image on a grid.
pub struct Seen {
    /// What was read.
    pub image: Volume,
    /// What is brighter is foreground.
    pub foreground: f32,
}

impl Seen {
    /// Images, and how bright each is.
    pub fn brightness(seen: Vec<Seen>) -> (Vec<Volume>, Vec<Brightness>) {
        let of = |Seen { image, foreground }: Seen| {
            let brightness = Brightness::with(&image, foreground);
            (image, brightness)
        };
        seen.into_iter().map(of).unzip()
    }
}

impl Onto<'_> {
    /// Reads them: points of the grid are moved by a field in its voxels, if there is one, then taken to the images' world by
    /// `affine`; zero beyond them. Smooth interpolation overshoots at edges: what comes out stays within each image's range.
    pub fn read<B: Backend>(
        &self,
        backend: &B,
        field: Option<&B::Field>,
        affine: &AffineTransform,
    ) -> Result<Vec<Seen>, Error> {
        let Onto { images, grid, how } = self;
        let mut out = backend.image(grid.shape)?;
        let read = |image: &Volume| {
            let voxels = backend.upload(image.grid.shape, &image.voxels)?;
            let (low, high) = backend.quantiles(&voxels, 0.0, 1.0)?.low_high.unwrap_or_default();
            Source::of(backend, voxels, &image.grid, (*how).into())?.read(backend, grid, field, affine, &mut out)?;
            // Beyond an image there is zero.
            backend.clip(&mut out, (low.min(0.0), high.max(0.0)), 0.0, 1.0)?;
            let foreground = foreground_on(backend, &out)?;
            Ok(Seen { image: Volume { grid: (*grid).clone(), voxels: backend.download(&out)? }, foreground })
        };
        images.iter().map(read).collect()
    }

    /// Scalars on a GPU that it takes at once, beside the field.
    pub fn scalars(&self) -> usize {
        let largest = self.images.iter().map(|image| image.voxels.len()).max().unwrap_or(0);
        let coefficients = usize::from(Kernel::from(self.how) == Kernel::Spline);
        self.grid.len() + largest * (1 + coefficients)
    }
}
