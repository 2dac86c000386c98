//! The images of one side on the device: as loaded, smoothed for a level, and mapped to the middle space.

use antsreg_core::report::Observer;
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::Backend;

use crate::error::go_on;
use crate::{Error, Images, Options};

/// An image that is read in the middle space, and the map to it.
pub(crate) struct Source<'a, B: Backend> {
    pub(crate) image: &'a B::Image,
    /// Voxel of the level's grid → voxel of the image.
    pub(crate) grid_to_image: AffineTransform,
}

/// The images and the mask of one side, for a level.
pub(crate) struct Sources<'a, B: Backend> {
    /// One for each of [`Options::channels_with_edges`].
    pub(crate) channels: Vec<Source<'a, B>>,
    pub(crate) mask: Option<Source<'a, B>>,
}

/// One side at full resolution.
pub(crate) struct Loaded<B: Backend> {
    /// Of the first image.
    grid: Grid,
    channels: Vec<(B::Image, Grid)>,
    /// Indices of the channels whose edges are compared as well.
    edged: Vec<usize>,
    mask: Option<(B::Image, Grid)>,
}

impl<B: Backend> Loaded<B> {
    /// Uploads each image, winsorises it and rescales it to 0…1.
    pub(crate) fn new(
        backend: &B,
        side: &'static str,
        images: &Images<'_>,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        let (expected, found) = (options.channels.len(), images.channels.len());
        let Some(first) = images.channels.first().filter(|_| expected == found) else {
            return Err(Error::Channels { side, expected, found });
        };
        let channels = images.channels.iter().enumerate().map(|(n, volume)| {
            let image = rescaled(backend, volume, options.winsorise, observer)?;
            Ok((image.ok_or(Error::Constant { side, channel: n + 1 })?, volume.grid.clone()))
        });
        let channels = channels.collect::<Result<_, Error>>()?;
        let mask = images.mask.map(|mask| {
            if !mask.grid.matches(&first.grid, 1e-3 * first.grid.spacing.min()) {
                return Err(Error::MaskGrid(side));
            }
            Ok((backend.upload(mask.grid.shape, &mask.voxels)?, mask.grid.clone()))
        });
        let edged = options.edged().map(|(n, _)| n).collect();
        Ok(Loaded { grid: first.grid.clone(), channels, edged, mask: mask.transpose()? })
    }

    /// The grid of the side's first image.
    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The mask, on its grid.
    pub(crate) fn mask(&self) -> Option<&B::Image> {
        self.mask.as_ref().map(|(mask, _)| mask)
    }

    /// Every channel smoothed, and the edges of those that have them.
    pub(crate) fn smoothed(
        &self,
        backend: &B,
        sigma_voxels: f64,
        observer: &mut dyn Observer,
    ) -> Result<Smoothed<B>, Error> {
        let smooth = |(image, _): &(B::Image, Grid)| -> Result<B::Image, Error> {
            go_on(observer.poll())?;
            Ok(backend.smooth(image, [sigma_voxels; 3])?)
        };
        let mut smoothed = Smoothed { channels: Vec::new(), edges: Vec::new() };
        if sigma_voxels > 0.0 {
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

    /// The images that a level on `grid` reads; `from_fixed_world` maps the world of the middle space (the fixed one) to this side's.
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

/// The images of one side, smoothed for a level.
pub(crate) struct Smoothed<B: Backend> {
    /// Empty where the level does not smooth and reads the images as loaded.
    channels: Vec<B::Image>,
    edges: Vec<B::Image>,
}

/// An image on the device, its voxels between two quantiles as 0…1; `None` where there is nothing between them.
fn rescaled<B: Backend>(
    backend: &B,
    volume: &Volume,
    winsorise: Option<(f64, f64)>,
    observer: &mut dyn Observer,
) -> Result<Option<B::Image>, Error> {
    go_on(observer.poll())?;
    let mut image = backend.upload(volume.grid.shape, &volume.voxels)?;
    go_on(observer.poll())?;
    let (low, high) = winsorise.unwrap_or((0.0, 1.0));
    let Some((low, high)) = backend.quantiles(&image, low, high)?.low_high.filter(|(low, high)| low < high) else {
        return Ok(None);
    };
    backend.clip(&mut image, (low, high), low, 1.0 / (high - low))?;
    Ok(Some(image))
}
