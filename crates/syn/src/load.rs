//! The images of one side on the device: as uploaded, smoothed for a level, and with their maps from the middle
//! space.

use antsreg_core::histogram_matching::Landmarks;
use antsreg_core::report::Observer;
use antsreg_core::{AffineTransform, Grid, intensity};
use antsreg_kernels::Backend;

use crate::error::go_on;
use crate::{Error, Images, Options};

/// An image or mask, with the affine map from voxels of the middle space to voxels of the image.
pub(crate) struct Source<'a, B: Backend> {
    pub(crate) image: &'a B::Image,
    /// Maps voxels of the level's grid to voxels of the image.
    pub(crate) grid_to_image: AffineTransform,
}

/// The images and the mask of one side (fixed or moving), as used on one level.
pub(crate) struct Sources<'a, B: Backend> {
    /// One image for each of [`Options::channels_with_edges`].
    pub(crate) channels: Vec<Source<'a, B>>,
    pub(crate) mask: Option<Source<'a, B>>,
}

/// One side at full resolution.
pub(crate) struct Loaded<B: Backend> {
    /// Grid of the first image.
    grid: Grid,
    channels: Vec<(B::Image, Grid)>,
    /// Indices of the channels whose edges are compared as well.
    edged: Vec<usize>,
    mask: Option<(B::Image, Grid)>,
    /// Quantiles of the fixed intensities, to which moving intensities are matched if the options ask for it; only on
    /// the fixed side.
    landmarks: Vec<Landmarks>,
}

impl<B: Backend> Loaded<B> {
    /// Uploads each image, winsorises it and rescales it to 0…1. With `fixed`, this side is the moving side; its
    /// intensities are matched to those of `fixed` if the options say so.
    pub(crate) fn new(
        backend: &B,
        images: &Images<'_, B::Image>,
        fixed: Option<&Loaded<B>>,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        let side = if fixed.is_some() { "moving" } else { "fixed" };
        let (expected, found) = (options.channels.len(), images.channels.len());
        let Some(first) = images.channels.first().filter(|_| expected == found) else {
            return Err(Error::Channels { side, expected, found });
        };
        let mut landmarks = Vec::new();
        let channels = images.channels.iter().enumerate().map(|(n, input)| {
            let constant = || Error::Constant { side, channel: n + 1 };
            go_on(observer.poll())?;
            let mut image = input.load(backend)?;
            go_on(observer.poll())?;
            let range = range(backend, &image, options.winsorise)?.ok_or_else(constant)?;
            if !options.match_histograms {
                backend.clip(&mut image, range, range.0, 1.0 / (range.1 - range.0))?;
                return Ok((image, input.grid.clone()));
            }
            // Winsorising and rescaling run on the host: they run once per image, and CPU and GPU get the same bits.
            drop(image);
            let mut voxels = intensity::rescaled(&input.on_host(backend)?, range);
            let own = Landmarks::of(&voxels).ok_or_else(constant)?;
            match fixed {
                Some(fixed) => own.match_to(fixed.landmarks.get(n).ok_or_else(constant)?, &mut voxels),
                None => landmarks.push(own),
            }
            go_on(observer.poll())?;
            Ok((backend.upload(input.grid.shape, &voxels)?, input.grid.clone()))
        });
        let channels = channels.collect::<Result<_, Error>>()?;
        let mask = images.mask.map(|mask| {
            if !mask.grid.matches(first.grid, 1e-3 * first.grid.spacing.min()) {
                return Err(Error::MaskGrid(side));
            }
            Ok((backend.upload(mask.grid.shape, &mask.voxels)?, mask.grid.clone()))
        });
        let edged = options.edged().map(|(n, _)| n).collect();
        Ok(Loaded { grid: first.grid.clone(), channels, edged, mask: mask.transpose()?, landmarks })
    }

    /// The grid of the side's first image.
    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The uploaded mask of this side, on the mask's own grid; `None` without a mask.
    pub(crate) fn mask(&self) -> Option<&B::Image> {
        self.mask.as_ref().map(|(mask, _)| mask)
    }

    /// All channels smoothed, and the edges of the channels that use edges.
    pub(crate) fn smoothed(
        &self,
        backend: &B,
        options: &Options,
        level: usize,
        observer: &mut dyn Observer,
    ) -> Result<Smoothed<B>, Error> {
        let smooth = |(image, grid): &(B::Image, Grid)| -> Result<B::Image, Error> {
            go_on(observer.poll())?;
            Ok(backend.smooth(image, options.sigma_voxels(level, grid))?)
        };
        let mut smoothed = Smoothed { channels: Vec::new(), edges: Vec::new() };
        if options.sigma_voxels(level, &self.grid)[0] > 0.0 {
            smoothed.channels = self.channels.iter().map(smooth).collect::<Result<_, _>>()?;
        }
        for &n in &self.edged {
            go_on(observer.poll())?;
            let (image, grid) = (self.channel(&smoothed, n), &self.channels[n].1);
            smoothed.edges.push(backend.gradient_magnitude(image, grid.spacing.into())?);
        }
        Ok(smoothed)
    }

    fn channel<'a>(&'a self, smoothed: &'a Smoothed<B>, n: usize) -> &'a B::Image {
        smoothed.channels.get(n).unwrap_or(&self.channels[n].0)
    }

    /// The images for a level on `grid`. `from_fixed_world` maps the world of the middle space (the fixed world) to
    /// the world of this side.
    pub(crate) fn sources<'a>(
        &'a self,
        smoothed: &'a Smoothed<B>,
        grid: &Grid,
        from_fixed_world: &AffineTransform,
    ) -> Sources<'a, B> {
        let to_world = from_fixed_world.after(&grid.voxel_to_world());
        let source =
            |image: &'a B::Image, own: &Grid| Source { image, grid_to_image: own.world_to_voxel().after(&to_world) };
        let channels = (0..self.channels.len()).map(|n| (self.channel(smoothed, n), n));
        let edges = smoothed.edges.iter().zip(self.edged.iter().copied());
        Sources {
            channels: channels.chain(edges).map(|(image, n)| source(image, &self.channels[n].1)).collect(),
            mask: self.mask.as_ref().map(|(mask, own)| source(mask, own)),
        }
    }
}

/// The images of one side (fixed or moving), smoothed for one level.
pub(crate) struct Smoothed<B: Backend> {
    /// The smoothed images, one a channel; empty if the level does not smooth and uses the uploaded images.
    channels: Vec<B::Image>,
    edges: Vec<B::Image>,
}

/// The range of intensities that an image is clipped to; `None` if the image has no range.
fn range<B: Backend>(
    backend: &B,
    image: &B::Image,
    winsorise: Option<(f64, f64)>,
) -> Result<Option<(f32, f32)>, Error> {
    let (low, high) = winsorise.unwrap_or((0.0, 1.0));
    Ok(backend.quantiles(image, low, high)?.low_high.filter(|(low, high)| low < high))
}
