//! Segmentation of images into tissues by a finite mixture of Gaussians with a Markov random field: Atropos (Avants,
//! Tustison et al. 2011).
//!
//! Labels are updated by iterated conditional modes, in a random order of sets of voxels that are not neighbours, then by
//! the largest posterior probability. Each iteration ends with new Gaussians, weighted by the posteriors.

mod mixture;
mod random;

use antsreg_core::Grid;
use rayon::prelude::*;

use crate::{Error, threshold};
use mixture::Gaussian;
use random::Random;

/// Least probability and likelihood in a product.
const LEAST: f64 = 1e-10;

/// How the first labels are found.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// By k-means of the first image. The means start from these values, or else divide the range evenly.
    KMeans(Option<Vec<f64>>),
    /// By thresholds of Otsu's method on the first image.
    Otsu,
    /// By the largest of prior probabilities, one map for each class. The priors also weight the posteriors.
    Priors {
        /// The maps of the prior probabilities.
        maps: Vec<Vec<f32>>,
        /// Weight of the priors, 0 to 1.
        weight: f64,
        /// Voxels whose largest prior is not larger have no first label.
        threshold: f32,
    },
}

/// How prior and likelihood are combined to a posterior.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formulation {
    /// prior^w · (likelihood · field)^(1 − w), with the weight w of the priors.
    Socrates,
    /// As by `Socrates`, but where a prior is 1, likelihood and field count as 1.
    Plato,
    /// likelihood · field / (1 + e^(−w·(prior − 1/K))) for K classes.
    Sigmoid,
}

/// Options of a segmentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Number of classes.
    pub classes: usize,
    /// How the first labels are found.
    pub start: Start,
    /// How prior and likelihood are combined.
    pub formulation: Formulation,
    /// Whether the shares of the classes weight the priors; else all classes have the same share.
    pub uses_shares: bool,
    /// Largest number of iterations.
    pub iterations: usize,
    /// The iterations end when the mean of the largest posteriors grows by less than this.
    pub threshold: f64,
    /// Weight of the Markov random field; 0 for none.
    pub field_weight: f64,
    /// Radius of the neighbourhood of the Markov random field along each axis, voxels.
    pub field_radius: [usize; 3],
    /// Largest number of passes of iterated conditional modes in each iteration; 0 for none.
    pub icm_passes: usize,
    /// Temperature at the start, by whose inverse posteriors are raised; the factor from iteration to iteration; and the
    /// least temperature.
    pub annealing: [f64; 3],
    /// Seed of the random numbers.
    pub seed: u32,
}

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

struct State<'a> {
    images: &'a [&'a [f32]],
    options: &'a Options,
    shape: [usize; 3],
    /// Indices of the voxels of the mask.
    inside: Vec<usize>,
    labels: Vec<u8>,
    /// Prior probabilities of the classes, divided by their sum.
    priors: Option<Vec<Vec<f32>>>,
    gaussians: Vec<Gaussian>,
    shares: Vec<f64>,
    /// Number of voxels of each class.
    volumes: Vec<usize>,
    /// Offsets to the neighbours in the Markov random field, and the inverses of their distances in mm.
    neighbours: Vec<([isize; 3], f64)>,
    /// Sets of voxels that are not neighbours.
    sets: Vec<Vec<usize>>,
    random: Random,
}

impl<'a> State<'a> {
    fn start(grid: &Grid, images: &'a [&'a [f32]], mask: &[bool], options: &'a Options) -> Result<State<'a>, Error> {
        let inside: Vec<usize> = (0..mask.len()).filter(|voxel| mask[*voxel]).collect();
        if inside.is_empty() {
            return Err(Error::EmptyRegion);
        }
        let mut random = Random::new(options.seed);
        let mut priors = None;
        let mut first = images[0].to_vec();
        let labels: Vec<u8> = match &options.start {
            Start::KMeans(means) => {
                let values = inside.iter().map(|voxel| first[*voxel]).collect();
                let means =
                    threshold::k_means_from(values, options.classes, means.clone()).ok_or(Error::EmptyRegion)?;
                let label = |voxel: usize| threshold::nearest(&means, f64::from(first[voxel])) as u8 + 1;
                (0..mask.len()).map(|voxel| if mask[voxel] { label(voxel) } else { 0 }).collect()
            }
            Start::Otsu => {
                threshold::otsu(&mut first, options.classes - 1, Some(mask))?;
                first.iter().map(|label| *label as u8).collect()
            }
            Start::Priors { maps, threshold, .. } => {
                let mut maps = maps.clone();
                let labels = from_priors(&mut maps, &inside, *threshold, &mut random);
                priors = Some(maps);
                labels
            }
        };
        let shape = grid.shape;
        let radius: [isize; 3] =
            std::array::from_fn(
                |axis| {
                    if axis < crate::dimensions(grid) { options.field_radius[axis] as isize } else { 0 }
                },
            );
        let mut neighbours = Vec::new();
        for z in -radius[2]..=radius[2] {
            for y in -radius[1]..=radius[1] {
                for offset in (-radius[0]..=radius[0]).map(|x| [x, y, z]).filter(|offset| *offset != [0; 3]) {
                    let square: f64 = (0..3).map(|axis| (offset[axis] as f64 * grid.spacing[axis]).powi(2)).sum();
                    neighbours.push((offset, 1.0 / square.sqrt()));
                }
            }
        }
        let mut state = State {
            images,
            options,
            shape,
            inside,
            labels,
            priors,
            gaussians: Vec::new(),
            shares: Vec::new(),
            volumes: Vec::new(),
            neighbours,
            sets: Vec::new(),
            random,
        };
        state.fit_first()?;
        if options.icm_passes > 0 {
            state.sets = state.independent_sets();
        }
        Ok(state)
    }

    /// Fits the Gaussians and shares to the first labels.
    fn fit_first(&mut self) -> Result<(), Error> {
        let of_class = |class: usize| {
            let own: Vec<usize> =
                self.inside.iter().copied().filter(|voxel| usize::from(self.labels[*voxel]) == class + 1).collect();
            let weight = |voxel: &usize| self.priors.as_ref().map_or(1.0, |priors| priors[class][*voxel]);
            let weights: Vec<f32> = own.iter().map(weight).collect();
            let sample = |n: usize, k: usize| f64::from(self.images[k][own[n]]);
            Ok((own.len(), Gaussian::of(class + 1, &weights, self.images.len(), sample)?))
        };
        let found = (0..self.options.classes).map(of_class).collect::<Result<Vec<_>, Error>>()?;
        let total: usize = found.iter().map(|(count, _)| count).sum();
        (self.volumes, self.gaussians) = found.into_iter().unzip();
        self.shares = self.volumes.iter().map(|count| self.share(*count as f64 / total as f64)).collect();
        Ok(())
    }

    /// The share of a class that is used: `found`, or the same for all classes.
    fn share(&self, found: f64) -> f64 {
        if self.options.uses_shares { found } else { 1.0 / self.options.classes as f64 }
    }

    /// One iteration; returns the mean of the largest posteriors.
    fn iterate(&mut self, iteration: usize) -> Result<f64, Error> {
        let (mut sum, mut before) = (0.0, -1.0);
        let mut passes = 0;
        while sum > before && passes < self.options.icm_passes {
            before = sum;
            sum = self.conditional_modes(iteration);
            passes += 1;
        }
        let posteriors = self.posteriors(iteration);
        let mut largest = vec![0.0f32; self.labels.len()];
        let mut labels = vec![0u8; self.labels.len()];
        for (class, posterior) in posteriors.iter().enumerate() {
            for voxel in self.inside.iter().copied() {
                let (value, label) = (posterior[voxel], labels[voxel]);
                if value > largest[voxel] {
                    (largest[voxel], labels[voxel]) = (value, class as u8 + 1);
                } else if almost_equal(value, largest[voxel])
                    && label >= 1
                    && self.volumes[class] < self.volumes[usize::from(label) - 1]
                {
                    labels[voxel] = class as u8 + 1;
                }
            }
        }
        let count = self.inside.len();
        let of_class = |class: usize| {
            let weights: Vec<f32> = self.inside.iter().map(|voxel| posteriors[class][*voxel]).collect();
            let sum: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
            let sample = |n: usize, k: usize| f64::from(self.images[k][self.inside[n]]);
            Ok((self.share(sum / count as f64), Gaussian::of(class + 1, &weights, self.images.len(), sample)?))
        };
        let found = (0..self.options.classes).into_par_iter().map(of_class).collect::<Result<Vec<_>, Error>>()?;
        (self.shares, self.gaussians) = found.into_iter().unzip();
        self.labels = labels;
        self.volumes = vec![0; self.options.classes];
        for voxel in &self.inside {
            if let Some(class) = usize::from(self.labels[*voxel]).checked_sub(1) {
                self.volumes[class] += 1;
            }
        }
        if let Some(class) = self.volumes.iter().position(|count| *count == 0) {
            return Err(Error::NoVoxelsOfClass { class: class + 1 });
        }
        if self.options.icm_passes == 0 {
            sum = self.inside.iter().map(|voxel| f64::from(largest[*voxel])).sum();
        }
        Ok(sum / count as f64)
    }

    /// Gives each voxel the label of the largest posterior, one set of voxels after the other, in random order. Returns
    /// the sum of the largest posteriors.
    fn conditional_modes(&mut self, iteration: usize) -> f64 {
        let mut order: Vec<usize> = (0..self.sets.len()).collect();
        for n in (1..order.len()).rev() {
            order.swap(n, self.random.up_to(n as u32) as usize);
        }
        let mut sum = 0.0;
        for set in order {
            let best = |voxel: &usize| {
                let field = self.field(*voxel);
                let (mut best, mut all) = ((0u8, 0.0f64), 0.0);
                for class in 0..self.options.classes {
                    let prior = self.priors.as_ref().map_or(1.0, |priors| f64::from(priors[class][*voxel]));
                    let posterior = self.posterior(class, *voxel, prior, field[class], iteration);
                    all += posterior;
                    if posterior > best.1 {
                        best = (class as u8 + 1, posterior);
                    }
                }
                (best.0, if all > 0.0 { best.1 / all } else { 0.0 })
            };
            let found: Vec<(u8, f64)> = self.sets[set].par_iter().map(best).collect();
            for (voxel, (label, share)) in self.sets[set].iter().zip(found) {
                // A random label remains if no posterior is positive.
                let chosen = self.random.up_to(self.options.classes as u32 - 1) as u8 + 1;
                self.labels[*voxel] = if label == 0 { chosen } else { label };
                sum += share;
            }
        }
        sum
    }

    /// The posterior probabilities of all classes from the current labels, Gaussians and shares.
    fn posteriors(&self, iteration: usize) -> Vec<Vec<f32>> {
        let classes = self.options.classes;
        let of_voxel = |voxel: &usize| {
            let field = self.field(*voxel);
            let prior = |class: usize| self.priors.as_ref().map_or(0.0, |priors| f64::from(priors[class][*voxel]));
            let sum: f64 = (0..classes).map(|class| self.shares[class] * prior(class)).sum();
            let weighted =
                |class: usize| if sum > 0.0 { prior(class) * self.shares[class] / sum } else { prior(class) };
            let values: Vec<f32> = (0..classes)
                .map(|class| self.posterior(class, *voxel, weighted(class), field[class], iteration) as f32)
                .collect();
            let sum: f32 = values.iter().sum();
            if sum > 0.0 { values.into_iter().map(|value| value / sum).collect() } else { values }
        };
        let found: Vec<Vec<f32>> = self.inside.par_iter().map(of_voxel).collect();
        let mut posteriors = vec![vec![0.0; self.labels.len()]; classes];
        for (voxel, values) in self.inside.iter().zip(found) {
            values.into_iter().enumerate().for_each(|(class, value)| posteriors[class][*voxel] = value);
        }
        posteriors
    }

    fn posterior(&self, class: usize, voxel: usize, prior: f64, field: f64, iteration: usize) -> f64 {
        let likelihood = self.gaussians[class].density(|k| f64::from(self.images[k][voxel]));
        let [mut prior, mut field, mut likelihood] = [prior, field, likelihood].map(|value| value.max(LEAST));
        let weight = match &self.options.start {
            Start::Priors { weight, .. } => *weight,
            _ => 0.0,
        };
        let is_certain = || self.priors.as_ref().is_some_and(|priors| almost_equal(priors[class][voxel], 1.0));
        if self.options.formulation == Formulation::Plato && is_certain() {
            (prior, field, likelihood) = (1.0, 1.0, 1.0);
        }
        let mut posterior = match self.options.formulation {
            Formulation::Sigmoid => {
                let offset = 1.0 / self.options.classes as f64;
                likelihood * field / (1.0 + (-(prior - offset) * weight).exp())
            }
            _ => prior.powf(weight) * (likelihood * field).powf(1.0 - weight),
        };
        let [start, rate, least] = self.options.annealing;
        if start != 1.0 {
            posterior = posterior.powf(1.0 / (start * rate.powi(iteration as i32)).max(least));
        }
        if posterior.is_finite() { posterior } else { 0.0 }
    }

    /// The probabilities of the classes of a voxel by the labels of its neighbours: proportional to e^(β·Σ 1/d) over the
    /// neighbours of the class at distances d.
    fn field(&self, voxel: usize) -> Vec<f64> {
        let (classes, weight) = (self.options.classes, self.options.field_weight);
        if weight <= 0.0 || self.neighbours.is_empty() {
            return vec![1.0; classes];
        }
        let mut sums = vec![0.0; classes];
        for (neighbour, inverse) in self.around(voxel) {
            if let Some(class) = usize::from(self.labels[neighbour]).checked_sub(1) {
                sums[class] += inverse;
            }
        }
        let powers: Vec<f64> = sums.into_iter().map(|sum| (weight * sum).exp()).collect();
        let all: f64 = powers.iter().sum();
        powers.into_iter().map(|power| power / all).collect()
    }

    /// The neighbours of a voxel, with the inverses of their distances.
    fn around(&self, voxel: usize) -> impl Iterator<Item = (usize, f64)> {
        let [nx, ny, _] = self.shape;
        let place = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)];
        self.neighbours.iter().filter_map(move |(offset, inverse)| {
            let mut other = 0;
            for axis in (0..3).rev() {
                let at = place[axis].checked_add_signed(offset[axis]).filter(|at| *at < self.shape[axis])?;
                other = other * self.shape[axis] + at;
            }
            Some((other, *inverse))
        })
    }

    /// Divides the voxels of the mask into sets without neighbours: each set takes, in order, the voxels that have no
    /// neighbour in it.
    fn independent_sets(&self) -> Vec<Vec<usize>> {
        let mut codes = vec![0u32; self.labels.len()];
        let mut left = self.inside.clone();
        let mut sets = Vec::new();
        while !left.is_empty() {
            let code = sets.len() as u32 + 1;
            let (mut set, mut rest) = (Vec::new(), Vec::new());
            for voxel in left {
                if self.around(voxel).any(|(other, _)| codes[other] == code) {
                    rest.push(voxel);
                } else {
                    codes[voxel] = code;
                    set.push(voxel);
                }
            }
            sets.push(set);
            left = rest;
        }
        sets
    }
}

/// Labels voxels by the largest prior, and divides the priors by their sum. Voxels whose largest prior does not exceed
/// the threshold get no label and no priors. Of equally large priors, chance decides.
fn from_priors(maps: &mut [Vec<f32>], inside: &[usize], threshold: f32, random: &mut Random) -> Vec<u8> {
    let voxels = maps.first().map_or(0, Vec::len);
    let (mut labels, mut largest) = (vec![0u8; voxels], vec![0.0f32; voxels]);
    for (class, map) in maps.iter().enumerate() {
        for voxel in inside.iter().copied() {
            if map[voxel] > largest[voxel] {
                (largest[voxel], labels[voxel]) = (map[voxel], class as u8 + 1);
            } else if almost_equal(map[voxel], largest[voxel]) && (class == 0 || random.up_to(1) == 1) {
                labels[voxel] = class as u8 + 1;
            }
        }
    }
    for voxel in inside.iter().copied() {
        let sum: f32 = maps.iter().map(|map| map[voxel]).sum();
        let none = largest[voxel] <= threshold || crate::is_zero(sum);
        if none {
            labels[voxel] = 0;
        }
        maps.iter_mut().for_each(|map| map[voxel] = if none { 0.0 } else { map[voxel] / sum });
    }
    labels
}

/// Whether two numbers are equal but for rounding: ITK's `FloatAlmostEqual`.
fn almost_equal(a: f32, b: f32) -> bool {
    (a - b).abs() <= 0.1 * f32::EPSILON
        || (a.is_sign_negative() == b.is_sign_negative() && a.to_bits().abs_diff(b.to_bits()) <= 4)
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
