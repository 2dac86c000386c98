//! The images of one side on the device, and what a level reads of them.

use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::Backend;

use crate::{Error, Images, Options};

/// Something that is read in the middle space, and how that reaches it.
pub(crate) struct Source<'a, B: Backend> {
    pub(crate) image: &'a B::Image,
    /// Voxel of the level's grid → voxel of the image.
    pub(crate) grid_to_image: AffineTransform,
}

/// What one side brings to a level.
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
    /// The channels whose edges pull too.
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
    ) -> Result<Self, Error> {
        let (expected, found) = (options.channels.len(), images.channels.len());
        let Some(first) = images.channels.first().filter(|_| expected == found) else {
            return Err(Error::Channels { side, expected, found });
        };
        let channels = images.channels.iter().enumerate().map(|(n, volume)| {
            let image = rescaled(backend, volume, options.winsorise)?;
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

    /// The voxels of its grid that count.
    pub(crate) fn mask(&self) -> Option<&B::Image> {
        self.mask.as_ref().map(|(mask, _)| mask)
    }

    /// What pulls on a level: every channel smoothed, then the edges of those that have them.
    pub(crate) fn smoothed(&self, backend: &B, sigma_voxels: f64) -> Result<Smoothed<B>, Error> {
        let smooth = |(image, _): &(B::Image, Grid)| backend.smooth(image, [sigma_voxels; 3]);
        let mut smoothed = Smoothed { channels: Vec::new(), edges: Vec::new() };
        if sigma_voxels > 0.0 {
            smoothed.channels = self.channels.iter().map(smooth).collect::<Result<_, _>>()?;
        }
        for &n in &self.edged {
            let (image, grid) = (self.channel(&smoothed, n), &self.channels[n].1);
            smoothed.edges.push(backend.gradient_magnitude(image, grid.spacing.into())?);
        }
        Ok(smoothed)
    }

    fn channel<'a>(&'a self, smoothed: &'a Smoothed<B>, n: usize) -> &'a B::Image {
        smoothed.channels.get(n).unwrap_or(&self.channels[n].0)
    }

    /// What a level on `grid` reads; `from_fixed_world` maps the world of the middle space (the fixed one) to this side's.
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

/// The images of one side as a level reads them.
pub(crate) struct Smoothed<B: Backend> {
    /// Empty where nothing is smoothed: the images as they are loaded.
    channels: Vec<B::Image>,
    edges: Vec<B::Image>,
}

/// An image on the device, its voxels between two quantiles as 0…1; `None` where there is nothing between them.
fn rescaled<B: Backend>(
    backend: &B,
    volume: &Volume,
    winsorise: Option<(f64, f64)>,
) -> Result<Option<B::Image>, Error> {
    let mut image = backend.upload(volume.grid.shape, &volume.voxels)?;
    let (low, high) = winsorise.unwrap_or((0.0, 1.0));
    let Some((low, high)) = backend.quantiles(&image, low, high)?.low_high.filter(|(low, high)| low < high) else {
        return Ok(None);
    };
    backend.clip(&mut image, (low, high), low, 1.0 / (high - low))?;
    Ok(Some(image))
}
