//! The fixed or moving images on the device: uploaded, smoothed for a level, and with their maps from the middle space.

use std::sync::Arc;

use antsreg_core::histogram_matching::Landmarks;
use antsreg_core::report::Observer;
use antsreg_core::{AffineTransform, Grid, Unit, Volume, intensity};
use antsreg_kernels::{Backend, ProfileBin};

use crate::contrast::{self, Curve};
use crate::error::go_on;
use crate::valid_data::{self, OnGrid};
use crate::{Channel, Counted, Error, Images, Metric, Options};

/// An image or mask, with the affine map from voxels of the middle space to voxels of the image.
pub(crate) struct Source<'a, B: Backend> {
    pub(crate) image: &'a B::Image,
    /// Affine map from voxels of the level's grid to voxels of the image.
    pub(crate) grid_to_image: AffineTransform,
}

/// The fixed or the moving images and their mask, as the metrics use them on one resolution level.
pub(crate) struct Sources<'a, B: Backend> {
    /// The images of all channels (pairs of images), followed by the edge images (gradient magnitudes) of the channels
    /// that also compare edges: the order of [`Options::channels_with_edges`].
    pub(crate) channels: Vec<Source<'a, B>>,
    pub(crate) mask: Option<Source<'a, B>>,
}

/// The mean gradient magnitude by intensity of a channel's image, if boundaries get more contrast.
type Profile = Option<Vec<ProfileBin>>;

/// The fixed or the moving images at full resolution, on the device.
pub(crate) struct Loaded<B: Backend> {
    /// Grid of the first fixed image or, for moving images, of the first moving image.
    grid: Grid,
    channels: Vec<OnGrid<B::Image>>,
    /// For each channel, what the boundaries of tissues are found from; `None` if the channel keeps its intensities.
    profiles: Vec<Profile>,
    /// Indices of the channels (pairs of images) that compare the edges (gradient magnitudes) of their images in
    /// addition to the images.
    edged: Vec<usize>,
    mask: Option<OnGrid<B::Image>>,
    /// The mask of valid data, which the metrics use in place of `mask`; `None` if it would not differ from `mask`.
    valid: Option<OnGrid<B::Image>>,
    /// Quantiles of each fixed image's intensities, to which the histogram of the moving image is matched. The list is
    /// empty for moving images, and if the options do not ask for histogram matching.
    landmarks: Vec<Landmarks>,
}

impl<B: Backend> Loaded<B> {
    /// Uploads each image, winsorises it and rescales it to 0…1. If `fixed` is given, these are the moving images;
    /// their histograms are matched to those of `fixed` if the options say so.
    pub(crate) fn new(
        backend: &B,
        images: Images<'_, B::Image>,
        fixed: Option<&Loaded<B>>,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        let side = if fixed.is_some() { "moving" } else { "fixed" };
        let (expected, found) = (options.channels.len(), images.channels.len());
        let Some(first) = images.channels.first().filter(|_| expected == found) else {
            return Err(Error::Channels { side, expected, found });
        };
        let (mut landmarks, mut copy) = (Vec::new(), images.copy);
        let channels = images.channels.iter().enumerate().map(|(n, input)| {
            let constant = || Error::Constant { side, channel: n + 1 };
            go_on(observer.poll())?;
            // The copy is that of the first channel.
            let mut image = copy.take().map_or_else(|| input.load(backend), Ok)?;
            go_on(observer.poll())?;
            let range = range(backend, &image, options)?.ok_or_else(constant)?;
            if !options.match_histograms {
                backend.clip(&mut image, range, range.0, 1.0 / (range.1 - range.0))?;
                return Ok((Arc::new(image), input.grid.clone()));
            }
            // Winsorising and rescaling run on the host. They run only once per image, and CPU and GPU get exactly the
            // same values.
            drop(image);
            let mut voxels = intensity::rescaled(&input.on_host(backend)?, range);
            let own = Landmarks::of(&voxels).ok_or_else(constant)?;
            match fixed {
                Some(fixed) => own.match_to(fixed.landmarks.get(n).ok_or_else(constant)?, &mut voxels),
                None => landmarks.push(own),
            }
            go_on(observer.poll())?;
            Ok((Arc::new(backend.upload(input.grid.shape, &voxels)?), input.grid.clone()))
        });
        let channels = channels.collect::<Result<Vec<_>, Error>>()?;
        let profile = |((image, grid), channel): (&OnGrid<B::Image>, &Channel)| -> Result<_, Error> {
            let wanted = channel.metric == Metric::Cc && options.boundary_contrast > 0.0;
            Ok(wanted.then(|| backend.gradient_profile(image, spacing_in_unit(grid))).transpose()?)
        };
        let profiles = channels.iter().zip(&options.channels).map(profile).collect::<Result<_, Error>>()?;
        let on_grid = |mask: &Volume| mask.grid.matches(first.grid, 1e-3 * first.grid.spacing.min());
        if ![images.mask, images.lesion].into_iter().flatten().all(on_grid) {
            return Err(Error::MaskGrid(side));
        }
        let upload = |mask: &Volume| -> Result<OnGrid<B::Image>, Error> {
            Ok((Arc::new(backend.upload(mask.grid.shape, &mask.voxels)?), mask.grid.clone()))
        };
        let mask = images.mask.map(upload).transpose()?;
        let valid = valid_data::mask(backend, &channels, mask.as_ref(), images.lesion, options)?;
        let edged = options.edged().map(|(n, _)| n).collect();
        Ok(Loaded { grid: first.grid.clone(), channels, profiles, edged, mask, valid, landmarks })
    }

    /// The curves that give boundaries more contrast, for these fixed and for moving images: one for each channel;
    /// `None` for a channel that keeps its intensities.
    pub(crate) fn curves(&self, moving: &Loaded<B>, share: f64) -> [Vec<Option<Curve>>; 2] {
        let both = self.profiles.iter().zip(&moving.profiles);
        let curves = both.map(|(fixed, moving)| contrast::curves([fixed.as_deref()?, moving.as_deref()?], share));
        let (fixed, moving) = curves.map(|curves| curves.map(|[fixed, moving]| (fixed, moving)).unzip()).unzip();
        [fixed, moving]
    }

    /// These images with their intensities mapped by curves, one for each channel. An image that nothing else uses is
    /// overwritten, others are copied.
    pub(crate) fn mapped(mut self, backend: &B, curves: Vec<Option<Curve>>) -> Result<Loaded<B>, Error> {
        let map = |((image, grid), curve): (OnGrid<B::Image>, Option<Curve>)| {
            let Some(curve) = curve else { return Ok((image, grid)) };
            let mut own = Arc::try_unwrap(image).or_else(|shared| backend.copy(&shared))?;
            backend.map_intensities(&mut own, &curve)?;
            Ok((Arc::new(own), grid))
        };
        self.channels = self.channels.into_iter().zip(curves).map(map).collect::<Result<_, Error>>()?;
        Ok(self)
    }

    /// The same images, not copied.
    pub(crate) fn shared(&self) -> Loaded<B> {
        let Loaded { grid, channels, profiles, edged, mask, valid, landmarks } = self;
        Loaded {
            grid: grid.clone(),
            channels: channels.clone(),
            profiles: profiles.clone(),
            edged: edged.clone(),
            mask: mask.clone(),
            valid: valid.clone(),
            landmarks: landmarks.clone(),
        }
    }

    /// Returns an error if the images were taken.
    pub(crate) fn check_channels(&self, options: &Options) -> Result<(), Error> {
        let (expected, found) = (options.channels.len(), self.channels.len());
        if found == expected { Ok(()) } else { Err(Error::Channels { side: "fixed", expected, found }) }
    }

    /// These images, of which only the grid and the mask stay here.
    pub(crate) fn taken(&mut self) -> Loaded<B> {
        let taken = self.shared();
        self.channels.clear();
        taken
    }

    /// The grid of the first of these (fixed or moving) images.
    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The uploaded mask, on the grid of the first image; `None` without a mask.
    pub(crate) fn mask(&self) -> Option<&B::Image> {
        self.mask.as_ref().map(|(mask, _)| mask.as_ref())
    }

    /// The fixed or the moving images of all channels (pairs of images), smoothed for a resolution level, and the edges
    /// (gradient magnitudes) for channels that use edges.
    pub(crate) fn smoothed(
        &self,
        backend: &B,
        options: &Options,
        level: usize,
        observer: &mut dyn Observer,
    ) -> Result<Smoothed<B>, Error> {
        let smooth = |(image, grid): &OnGrid<B::Image>| -> Result<B::Image, Error> {
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
            smoothed.edges.push(backend.gradient_magnitude(image, spacing_in_unit(grid))?);
        }
        Ok(smoothed)
    }

    fn channel<'a>(&'a self, smoothed: &'a Smoothed<B>, n: usize) -> &'a B::Image {
        smoothed.channels.get(n).unwrap_or(&self.channels[n].0)
    }

    /// The images, each with its affine map from voxels of the level's grid (`grid`) to voxels of the image.
    /// `from_fixed_world` maps the world of the fixed image to the world of these images.
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
            mask: self.valid.as_ref().or(self.mask.as_ref()).map(|(mask, own)| source(mask, own)),
        }
    }
}

/// The fixed or the moving images, smoothed for one resolution level of a deformable stage.
pub(crate) struct Smoothed<B: Backend> {
    /// The smoothed images, one for each channel. The list is empty if the level does not smooth and uses the uploaded
    /// images.
    channels: Vec<B::Image>,
    edges: Vec<B::Image>,
}

/// The spacing of a grid in the unit of its field of view. Gradients per unit instead of per mm do not depend on the size
/// of the head.
fn spacing_in_unit(grid: &Grid) -> [f64; 3] {
    (grid.spacing / Unit::of_field(grid).mm()).into()
}

/// The range of intensities to which an image is clipped; `None` if the image is constant.
fn range<B: Backend>(backend: &B, image: &B::Image, options: &Options) -> Result<Option<(f32, f32)>, Error> {
    let found = match (options.winsorise, options.winsorise_over) {
        (None, _) => backend.quantiles(image, 0.0, 1.0),
        (Some((low, high)), Counted::All) => backend.quantiles(image, low, high),
        (Some((low, high)), Counted::Foreground) => backend.foreground_quantiles(image, low, high),
    };
    Ok(found?.low_high.filter(|(low, high)| low < high))
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::Cpu;
    use antsreg_kernels::ops::Memory;

    use super::*;

    #[test]
    fn boundaries_get_more_contrast_where_the_metric_is_correlation() {
        let grid = Grid::axis_aligned([24, 20, 16], [1.0; 3]);
        let ball = |n: usize| {
            let from_middle = [n % 24, n / 24 % 20, n / 480].map(|index| index as f32 - 9.3);
            1.0 / (1.0 + (from_middle.iter().map(|mm| mm * mm).sum::<f32>().sqrt() - 6.0).exp())
        };
        let volume = Volume { voxels: (0..grid.len()).map(ball).collect(), grid: grid.clone() };
        for match_histograms in [false, true] {
            let metrics = [Metric::Cc, Metric::Mattes].map(|metric| Channel { metric, weight: 1.0 });
            let options = Options { channels: metrics.into(), match_histograms, ..Options::default() };
            let images = || Images::from(vec![&volume; 2]);
            let fixed = Loaded::new(&Cpu, images(), None, &options, &mut ()).expect("images");
            let moving = Loaded::new(&Cpu, images(), Some(&fixed), &options, &mut ()).expect("images");
            let voxels = |loaded: &Loaded<Cpu>, n: usize| Cpu.download(&loaded.channels[n].0).expect("voxels");
            let kept = voxels(&fixed, 0);
            let [of_fixed, of_moving] = fixed.curves(&moving, 0.5);
            let copied = fixed.shared().mapped(&Cpu, of_fixed).expect("memory");
            let moving = moving.mapped(&Cpu, of_moving).expect("memory");
            assert_eq!(voxels(&fixed, 0), kept, "the fixed images serve other registrations");
            for mapped in [&copied, &moving] {
                assert_eq!(voxels(mapped, 1), voxels(&fixed, 1));
                let mut pairs: Vec<(f32, f32)> = kept.iter().copied().zip(voxels(mapped, 0)).collect();
                pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
                assert!(pairs.is_sorted_by(|a, b| a.1 <= b.1), "the order of intensities changed");
                let slope = |low: f32, high: f32| {
                    let within: Vec<_> = pairs.iter().filter(|(kept, _)| (low..=high).contains(kept)).collect();
                    let [first, last] = [within[0], within[within.len() - 1]];
                    (last.1 - first.1) / (last.0 - first.0)
                };
                assert!(slope(0.45, 0.55) > 2.0 && slope(0.8, 0.95) < 0.7, "{}", slope(0.45, 0.55));
            }
        }
    }

    #[test]
    fn a_copy_on_the_device_is_read_instead_of_the_first_image() {
        let grid = Grid::axis_aligned([9, 8, 7], [1.0; 3]);
        let volume = |step: usize| {
            let voxels = (0..grid.len()).map(|n| (n * step % 101) as f32).collect();
            Volume { voxels, grid: grid.clone() }
        };
        let (first, other) = (volume(7), volume(13));
        let options = Options { channels: vec![Default::default(); 2], ..Options::default() };
        let loaded = |volumes: [&Volume; 2], copy| {
            let images = Images { copy, ..Vec::from(volumes).into() };
            let loaded = Loaded::new(&Cpu, images, None, &options, &mut ()).expect("two images");
            [0, 1].map(|n| Cpu.download(&loaded.channels[n].0).expect("voxels"))
        };
        let copy = Cpu.upload(grid.shape, &other.voxels).expect("an image");
        assert_eq!(loaded([&first, &first], Some(copy)), loaded([&other, &first], None));
    }
}
