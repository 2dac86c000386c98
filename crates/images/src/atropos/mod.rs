//! Segmentation of images into tissues by a finite mixture of Gaussians with a Markov random field: Atropos (Avants,
//! Tustison et al. 2011).
//!
//! Labels are updated by iterated conditional modes, in a random order of sets of voxels that are not neighbours, then by
//! the largest posterior probability. Each iteration ends with new Gaussians, weighted by the posteriors.

mod field;
mod mixture;
mod options;
mod priors;
mod random;
mod state;

pub use options::{Formulation, Options, Start};

use antsreg_core::Grid;

use crate::Error;
use state::State;

/// A segmentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Segmentation {
    /// The class of each voxel, from 1; 0 outside the mask.
    pub labels: Vec<u8>,
    /// The posterior probabilities of each class.
    pub posteriors: Vec<Vec<f32>>,
    /// Mean of the largest posteriors after each iteration.
    pub course: Vec<f64>,
}

/// Divides the voxels of a mask into classes, by the intensities of one or more images on one grid. `observe` is called
/// before each iteration with its number, from 0, and the mean of the largest posteriors so far.
///
/// # Errors
/// An empty mask; a class without voxels or without variance.
pub fn segment(
    grid: &Grid,
    images: &[&[f32]],
    mask: &[bool],
    options: &Options,
    mut observe: impl FnMut(usize, f64),
) -> Result<Segmentation, Error> {
    let mut state = State::start(grid, images, mask, options)?;
    let mut course: Vec<f64> = Vec::new();
    for iteration in 0..options.iterations {
        let before = course.last().copied();
        observe(iteration, before.unwrap_or(0.0));
        let found = state.iterate(iteration)?;
        course.push(found);
        if before.is_some_and(|before| found - before < options.threshold) {
            break;
        }
    }
    let posteriors = state.posteriors(course.len());
    Ok(Segmentation { labels: state.labels, posteriors, course })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(start: Start) -> Options {
        Options {
            classes: 3,
            start,
            formulation: Formulation::Socrates,
            uses_shares: true,
            iterations: 5,
            threshold: 0.0,
            field_weight: 0.1,
            field_radius: [1; 3],
            icm_passes: 1,
            annealing: [1.0, 1.0, 0.1],
            seed: 19650218,
        }
    }

    /// Three layers with noise, and their classes.
    fn layers() -> (Grid, Vec<f32>, Vec<u8>) {
        let grid = Grid::axis_aligned([12, 12, 6], [1.0, 1.0, 2.0]);
        let class = |voxel: usize| (voxel % 12 / 4) as u8 + 1;
        let noise = |voxel: usize| ((voxel * 7919) % 211) as f32 / 211.0 * 30.0 - 15.0;
        let image = (0..864).map(|voxel| f32::from(class(voxel)) * 40.0 + noise(voxel)).collect();
        (grid, image, (0..864).map(class).collect())
    }

    #[test]
    fn layers_are_found_from_every_start() {
        let (grid, image, classes) = layers();
        let mask: Vec<bool> = (0..864).map(|voxel| voxel > 30).collect();
        let map = |class: u8| classes.iter().map(|own| if *own == class { 0.6 } else { 0.2 }).collect::<Vec<f32>>();
        let priors = Start::Priors { maps: vec![map(1), map(2), map(3)], weight: 0.25, threshold: 0.0 };
        for start in [Start::KMeans(None), Start::Otsu, priors] {
            let found = segment(&grid, &[&image], &mask, &options(start.clone()), |_, _| {}).unwrap();
            let wrong =
                (0..864).filter(|voxel| found.labels[*voxel] != if mask[*voxel] { classes[*voxel] } else { 0 });
            assert_eq!(wrong.count(), 0, "{start:?}");
            let sums = (0..864).map(|voxel| found.posteriors.iter().map(|map| map[voxel]).sum::<f32>());
            assert!(sums.enumerate().all(|(voxel, sum)| (sum - f32::from(u8::from(mask[voxel]))).abs() < 1e-5));
            assert!(found.course.windows(2).all(|pair| pair[1] > pair[0] - 0.02), "{:?}", found.course);
        }
    }

    #[test]
    fn classes_without_variance_are_errors() {
        let (grid, image, classes) = layers();
        let flat: Vec<f32> = classes.iter().map(|class| f32::from(*class)).collect();
        let mask = vec![true; 864];
        let segment = |image: &[f32], mask: &[bool]| {
            segment(&grid, &[image], mask, &options(Start::KMeans(None)), |_, _| {}).map(|found| found.labels)
        };
        assert_eq!(segment(&flat, &mask), Err(Error::NoVariance { class: 1 }));
        assert_eq!(segment(&image, &[false; 864]), Err(Error::EmptyRegion));
    }
}
