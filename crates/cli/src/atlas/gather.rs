//! What subjects on a template's grid add up to.

use antsreg_cohort::template::{Averaging, Coverage, ImageMean, WarpMean};
use antsreg_core::same_grid::GridMismatch;
use antsreg_core::{AffineTransform, DisplacementField, Grid, Volume};

use super::register_one::Contribution;
use super::session::KEPT_VOXELS;
use super::template::Template;

/// The means of contributions.
pub struct Means {
    /// Each channel.
    pub images: Vec<Volume>,
    /// None if no subject has one.
    pub warp: Option<DisplacementField>,
    /// All of them.
    pub affines: Vec<AffineTransform>,
    /// Where at least half of the subjects have brain.
    pub brain: Volume,
}

/// Whether there is memory for so many contributions at once.
pub fn fit(subjects: usize, template: &Template, warps: bool) -> bool {
    let scalars = template.images.len() + 3 * usize::from(warps);
    subjects * scalars * template.images[0].voxels.len() <= KEPT_VOXELS
}

impl Means {
    /// Of contributions that are all there.
    pub fn of(averaging: Averaging, template: &Template, all: &[&Contribution]) -> Result<Means, GridMismatch> {
        let grid = &template.images[0].grid;
        let of_channel = |channel: usize| {
            let images = all.iter().map(|one| (&one.warped[channel], one.brightness[channel].mean));
            ImageMean::of(grid, averaging, &images.collect::<Vec<_>>())
        };
        let warps: Vec<&DisplacementField> = all.iter().filter_map(|one| one.warp.as_ref()).collect();
        let first: Vec<_> = all.iter().map(|one| (&one.warped[0], one.brightness[0].foreground)).collect();
        Ok(Means {
            images: (0..template.images.len()).map(of_channel).collect::<Result<_, _>>()?,
            warp: if warps.is_empty() { None } else { Some(WarpMean::of(grid, &warps)?) },
            affines: all.iter().map(|one| one.affine).collect(),
            brain: Coverage::half_of(grid, &first)?,
        })
    }
}

/// Adds contributions up as they come, in the order of the subjects: the same bits, without memory for all.
pub struct Accumulator {
    grid: Grid,
    images: Vec<ImageMean>,
    warp: Option<WarpMean>,
    affines: Vec<AffineTransform>,
    coverage: Coverage,
}

impl Accumulator {
    /// On a template's grid.
    pub fn new(averaging: Averaging, template: &Template) -> Accumulator {
        let grid = template.images[0].grid.clone();
        Accumulator {
            images: template.images.iter().map(|_| ImageMean::new(&grid, averaging)).collect(),
            warp: None,
            affines: Vec::new(),
            coverage: Coverage::new(&grid),
            grid,
        }
    }

    /// Adds one.
    pub fn add(&mut self, contribution: &Contribution) -> Result<(), GridMismatch> {
        let Contribution { affine, warp, warped, brightness } = contribution;
        for ((mean, image), brightness) in self.images.iter_mut().zip(warped).zip(brightness) {
            mean.add(image, brightness.mean)?;
        }
        if let Some(warp) = warp {
            self.warp.get_or_insert_with(|| WarpMean::new(&self.grid)).add(warp)?;
        }
        self.affines.push(*affine);
        self.coverage.add(&warped[0], brightness[0].foreground)
    }

    /// The means.
    pub fn finish(self) -> Means {
        Means {
            images: self.images.into_iter().map(ImageMean::finish).collect(),
            warp: self.warp.map(WarpMean::finish),
            affines: self.affines,
            brain: self.coverage.half(),
        }
    }
}
