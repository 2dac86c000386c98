//! Means of the subjects' resampled images and warps on a template's grid.

use std::sync::Arc;

use antsreg_cohort::template::{Averaging, Coverage, ImageMean, WarpMean};
use antsreg_core::same_grid::GridMismatch;
use antsreg_core::{AffineTransform, DisplacementField, Grid, Volume};

use super::contribution::Contribution;
use super::reference::Reference;
use super::session::KEPT_VOXELS;

/// Number of subjects whose transforms and images are added to the sums in one sweep over the voxels, while other
/// subjects are still being registered. One sweep for several subjects needs less memory traffic than one sweep for
/// each.
const SEVERAL: usize = 6;

/// Means over the subjects of a pass: images, warp and foreground; also the affine transforms, from which the mean
/// stretch is computed.
pub struct Means {
    /// The mean image of each channel.
    pub images: Vec<Volume>,
    /// The mean warp; `None` if no subject has a warp.
    pub warp: Option<DisplacementField>,
    /// The affine transform of each subject.
    pub affines: Vec<AffineTransform>,
    /// Mask: 1 where at least half of the subjects have foreground, else 0.
    pub foreground: Volume,
}

/// Whether the transforms and resampled images of `subjects` subjects fit in memory together; `warps` says whether the
/// transforms contain warps.
pub fn fit(subjects: usize, reference: &Reference, warps: bool) -> bool {
    let scalars = reference.images.len() + 3 * usize::from(warps);
    subjects * scalars * reference.images[0].voxels.len() <= KEPT_VOXELS
}

impl Means {
    /// Computes the means over subjects whose transforms and resampled images are all in memory.
    ///
    /// # Errors
    /// Images on different grids.
    pub fn of(averaging: Averaging, reference: &Reference, all: &[&Contribution]) -> Result<Means, GridMismatch> {
        let grid = &reference.images[0].grid;
        let of_channel = |channel: usize| ImageMean::of(grid, averaging, &images(all, channel));
        let warps = warps(all);
        let ((images, foreground), warp) = rayon::join(
            || {
                let images = || (0..reference.images.len()).map(of_channel).collect::<Result<_, _>>();
                rayon::join(images, || Coverage::half_of(grid, &firsts(all)))
            },
            || if warps.is_empty() { Ok(None) } else { WarpMean::of(grid, &warps).map(Some) },
        );
        Ok(Means { images: images?, warp: warp?, affines: affines(all).collect(), foreground: foreground? })
    }
}

/// The resampled image of one channel from each subject, with its mean intensity.
fn images<'a>(all: &[&'a Contribution], channel: usize) -> Vec<(&'a Volume, f64)> {
    all.iter().map(|one| (&one.warped[channel], one.brightness[channel].mean)).collect()
}

fn warps<'a>(all: &[&'a Contribution]) -> Vec<&'a DisplacementField> {
    all.iter().filter_map(|one| one.warp.as_ref()).collect()
}

fn affines(all: &[&Contribution]) -> impl Iterator<Item = AffineTransform> {
    all.iter().map(|one| one.affine)
}

/// The resampled image of the first channel from each subject, with its foreground threshold.
fn firsts<'a>(all: &[&'a Contribution]) -> Vec<(&'a Volume, f32)> {
    all.iter().map(|one| (&one.warped[0], one.brightness[0].foreground)).collect()
}

/// Sums up the contributions of subjects, in the order of the subjects. The result has the same bits for any number
/// of contributions that are added in one sweep.
pub struct RunningMeans<'a> {
    averaging: Averaging,
    reference: &'a Reference,
    /// Transforms and images of registered subjects that have not been added to the sums for the average yet.
    waiting: Vec<Arc<Contribution>>,
    /// Number of subjects whose transforms and images are added to the sums in one sweep over the voxels.
    several: usize,
    sums: Option<Sums>,
}

impl<'a> RunningMeans<'a> {
    /// Creates empty sums of the subjects' transforms and images, on a template's grid. `memory` says whether memory
    /// suffices to keep several subjects and to add them in one sweep over the voxels. If not, each subject is added
    /// when it arrives.
    pub fn new(averaging: Averaging, reference: &'a Reference, memory: bool) -> RunningMeans<'a> {
        let several = if memory { SEVERAL } else { 1 };
        RunningMeans { averaging, reference, waiting: Vec::new(), several, sums: None }
    }

    /// Adds the contribution of a subject to the sums, at once or later together with others. `is_near_end` says that
    /// nearly all subjects of the pass are done. Then contributions are kept until [`RunningMeans::finish`] adds all
    /// of them in one sweep over the voxels.
    ///
    /// # Errors
    /// Images on different grids.
    pub fn add(&mut self, contribution: Arc<Contribution>, is_near_end: bool) -> Result<(), GridMismatch> {
        self.waiting.push(contribution);
        if self.several == 1 || self.waiting.len() >= self.several && !is_near_end {
            let RunningMeans { averaging, reference, .. } = *self;
            let all: Vec<&Contribution> = self.waiting.iter().map(Arc::as_ref).collect();
            self.sums.get_or_insert_with(|| Sums::new(averaging, reference)).add(&all)?;
            self.waiting.clear();
        }
        Ok(())
    }

    /// Returns the mean images, the mean warp and the affine transforms of all subjects that were added.
    ///
    /// # Errors
    /// Images on different grids.
    pub fn finish(self) -> Result<Means, GridMismatch> {
        let RunningMeans { averaging, reference, waiting, sums, .. } = self;
        let last: Vec<&Contribution> = waiting.iter().map(Arc::as_ref).collect();
        match sums {
            Some(sums) => sums.finish(&last),
            None => Means::of(averaging, reference, &last),
        }
    }
}

/// Sums over the subjects of a template, for their average: resampled images, warps and affine transforms.
struct Sums {
    grid: Grid,
    images: Vec<ImageMean>,
    warp: Option<WarpMean>,
    affines: Vec<AffineTransform>,
    coverage: Coverage,
}

impl Sums {
    fn new(averaging: Averaging, reference: &Reference) -> Sums {
        let grid = reference.images[0].grid.clone();
        Sums {
            images: reference.images.iter().map(|_| ImageMean::new(&grid, averaging)).collect(),
            warp: None,
            affines: Vec::new(),
            coverage: Coverage::new(&grid),
            grid,
        }
    }

    fn add(&mut self, all: &[&Contribution]) -> Result<(), GridMismatch> {
        for (channel, mean) in self.images.iter_mut().enumerate() {
            mean.add(&images(all, channel))?;
        }
        let warps = warps(all);
        if !warps.is_empty() {
            self.warp.get_or_insert_with(|| WarpMean::new(&self.grid)).add(&warps)?;
        }
        self.affines.extend(affines(all));
        self.coverage.add(&firsts(all))
    }

    /// Adds the transforms and images in `last`, of subjects that are not in the sums for the average yet. Returns the
    /// means over all subjects.
    fn finish(self, last: &[&Contribution]) -> Result<Means, GridMismatch> {
        let Sums { images: means, warp, coverage, .. } = self;
        let finish = |(channel, mean): (usize, ImageMean)| mean.finish(&images(last, channel));
        let ((images, foreground), warp) = rayon::join(
            || {
                let images = || means.into_iter().enumerate().map(finish).collect::<Result<_, _>>();
                rayon::join(images, || coverage.half(&firsts(last)))
            },
            || warp.map(|mean| mean.finish(&warps(last))).transpose(),
        );
        let affines = self.affines.into_iter().chain(affines(last)).collect();
        Ok(Means { images: images?, warp: warp?, affines, foreground: foreground? })
    }
}

#[cfg(test)]
mod tests {
    use antsreg_cohort::template::Brightness;

    use super::*;

    fn contribution(grid: &Grid, of: usize) -> Arc<Contribution> {
        let wave = |n: usize| (0.37 * (n * (of + 2) % 1013) as f32).sin();
        let image = Volume { grid: grid.clone(), voxels: (0..grid.len()).map(|n| 1.0 + wave(n)).collect() };
        let vectors = (0..grid.len()).map(|n| [wave(n), wave(n + 5), wave(n + 9)]).collect();
        let translation = [of as f64, 0.0, 1.0].into();
        Arc::new(Contribution {
            affine: AffineTransform { translation, ..AffineTransform::identity() },
            warp: Some(DisplacementField { grid: grid.clone(), vectors }),
            brightness: vec![Brightness::of(&image)],
            warped: vec![image],
        })
    }

    #[test]
    fn means_have_the_same_bits_however_many_are_added_at_once() {
        let grid = Grid::axis_aligned([11, 7, 5], [1.0; 3]);
        let all: Vec<_> = (0..2 * SEVERAL + 3).map(|of| contribution(&grid, of)).collect();
        let reference = Reference::new(all[0].warped.clone());
        for averaging in [Averaging::Mean, Averaging::Trimmed] {
            let whole: Vec<&Contribution> = all.iter().map(Arc::as_ref).collect();
            let expected = Means::of(averaging, &reference, &whole).expect("one grid");
            // Each test case has three values. First, the index of the first subject for which the pass counts as
            // nearly done. Second, whether memory suffices to keep the transforms and images of several subjects.
            // Third, the expected number of subjects that are kept and not yet in the sums after the last subject.
            for (near, memory, left) in
                [(100, true, 3), (SEVERAL + 2, true, SEVERAL + 3), (2, true, 15), (2, false, 0)]
            {
                let mut means_so_far = RunningMeans::new(averaging, &reference, memory);
                for (n, one) in all.iter().enumerate() {
                    means_so_far.add(one.clone(), n >= near).expect("one grid");
                }
                assert_eq!(means_so_far.waiting.len(), left);
                let found = means_so_far.finish().expect("one grid");
                assert_eq!((&found.images, &found.warp), (&expected.images, &expected.warp));
                assert_eq!((&found.affines, &found.foreground), (&expected.affines, &expected.foreground));
            }
        }
    }
}
