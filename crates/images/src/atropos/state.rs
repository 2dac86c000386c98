//! The labels, posteriors and Gaussians of a segmentation, and their updates.

use antsreg_core::Grid;
use rayon::prelude::*;

use super::field::Neighbours;
use super::mixture::Gaussian;
use super::options::{Formulation, Options, Start};
use super::priors::{almost_equal, from_priors};
use super::random::Random;
use crate::{Error, threshold};

/// Least probability and likelihood in a product.
const LEAST: f64 = 1e-10;

/// A segmentation between two iterations.
pub struct State<'a> {
    images: &'a [&'a [f32]],
    options: &'a Options,
    /// Indices of the voxels of the mask.
    inside: Vec<usize>,
    /// The class of each voxel, from 1; 0 outside the mask.
    pub labels: Vec<u8>,
    /// Prior probabilities of the classes, divided by their sum.
    priors: Option<Vec<Vec<f32>>>,
    gaussians: Vec<Gaussian>,
    shares: Vec<f64>,
    /// Number of voxels of each class.
    volumes: Vec<usize>,
    /// The neighbours of a voxel in the Markov random field.
    neighbours: Neighbours,
    /// Sets of voxels that are not neighbours.
    sets: Vec<Vec<usize>>,
    random: Random,
}

impl<'a> State<'a> {
    /// Finds the first labels, and fits the Gaussians to them.
    ///
    /// # Errors
    /// An empty mask; a class without voxels or without variance.
    pub fn start(
        grid: &Grid,
        images: &'a [&'a [f32]],
        mask: &[bool],
        options: &'a Options,
    ) -> Result<State<'a>, Error> {
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
        let mut state = State {
            images,
            options,
            inside,
            labels,
            priors,
            gaussians: Vec::new(),
            shares: Vec::new(),
            volumes: Vec::new(),
            neighbours: Neighbours::within(grid, options.field_radius),
            sets: Vec::new(),
            random,
        };
        state.fit_first()?;
        if options.icm_passes > 0 {
            state.sets = state.neighbours.independent_sets(&state.inside);
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
    ///
    /// # Errors
    /// A class without voxels or without variance.
    pub fn iterate(&mut self, iteration: usize) -> Result<f64, Error> {
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
    pub fn posteriors(&self, iteration: usize) -> Vec<Vec<f32>> {
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

    /// The probabilities of the classes of a voxel by the labels of its neighbours.
    fn field(&self, voxel: usize) -> Vec<f64> {
        self.neighbours.probabilities(voxel, &self.labels, self.options.classes, self.options.field_weight)
    }
}
