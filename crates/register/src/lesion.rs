//! Lesions: damaged tissue of one side (fixed or moving) without a counterpart in the image of the other side.
//!
//! Two things keep a lesion from having an effect. No stage compares its voxels, whose weight is 0. And its voxels get
//! intensities that continue those of the surrounding tissue, because smoothing would spread its own over the border, and
//! ranges and profiles of intensity are those of whole images.

use std::borrow::Cow;

use antsreg_core::{TransformChain, Volume};
use antsreg_kernels::apply;
use nalgebra::Vector3;

use crate::{Error, Image, Side};

/// Number of sweeps on each level of the pyramid in which each filled voxel becomes the mean of its neighbours.
const SWEEPS: usize = 8;

impl Side {
    /// This side (fixed or moving) as stages compare its images: in a lesion, intensities continue those of the
    /// surrounding tissue. Without a lesion, this is the side itself.
    ///
    /// # Errors
    /// A device that fails while an image is copied from it.
    pub fn compared(&self) -> Result<Cow<'_, Side>, Error> {
        let Some(lesion) = &self.lesion else { return Ok(Cow::Borrowed(self)) };
        let without = |image: &Image| -> Result<Image, Error> { Ok(filled(image.volume()?, lesion).into()) };
        let channels = self.channels.iter().map(without).collect::<Result<_, _>>()?;
        Ok(Cow::Owned(Side { image: without(&self.image)?, channels, ..self.clone() }))
    }

    /// The weights of the voxels of the first image in a linear stage: the mask of the stage without the lesion; `None`
    /// if all weights are 1.
    pub(crate) fn weight(&self, stage: usize) -> Option<Cow<'_, Volume>> {
        let mask = self.mask.of_stage(stage).map(AsRef::as_ref);
        let Some(lesion) = &self.lesion else { return mask.map(Cow::Borrowed) };
        let mut weight = mask.map_or_else(|| Volume::filled(lesion.grid.clone(), 1.0), Volume::clone);
        leave_out(&mut weight.voxels, lesion);
        Some(Cow::Owned(weight))
    }
}

/// Sets the weights of a lesion's voxels to 0.
pub(crate) fn leave_out(weights: &mut [f32], lesion: &Volume) {
    weights.iter_mut().zip(&lesion.voxels).filter(|(_, lesion)| **lesion > 0.5).for_each(|(weight, _)| *weight = 0.0);
}

/// An image whose intensities in a lesion continue those of the surrounding tissue. The lesion may have another grid.
fn filled(image: &Volume, lesion: &Volume) -> Volume {
    let on_grid = match lesion.grid == image.grid {
        true => Cow::Borrowed(lesion),
        false => Cow::Owned(apply::resample(
            lesion,
            &image.grid,
            &TransformChain::new(),
            apply::Interpolation::Nearest,
            0.0,
        )),
    };
    let missing: Vec<usize> = (0..image.voxels.len()).filter(|n| on_grid.voxels[*n] > 0.5).collect();
    let mut voxels = image.voxels.clone();
    fill(&mut voxels, image.grid.shape, &missing);
    Volume { voxels, grid: image.grid.clone() }
}

/// Gives the voxels with the indices `missing` values that continue those of all others smoothly: nearly the solution of
/// Laplace's equation, from the coarsest level of a pyramid to the finest. All values are 0 if all are missing.
fn fill(voxels: &mut [f32], shape: [usize; 3], missing: &[usize]) {
    if missing.is_empty() {
        return;
    }
    if missing.len() == voxels.len() {
        voxels.fill(0.0);
        return;
    }
    let half = shape.map(|n| n.div_ceil(2));
    let index = |[x, y, z]: [usize; 3], [nx, ny, _]: [usize; 3]| x + nx * (y + ny * z);
    let at = |n: usize| [n % shape[0], n / shape[0] % shape[1], n / (shape[0] * shape[1])];
    let mut known = vec![true; voxels.len()];
    missing.iter().for_each(|n| known[*n] = false);
    let (mut sums, mut counts) = (vec![0.0; half.iter().product()], vec![0.0; half.iter().product()]);
    for (n, value) in voxels.iter().enumerate().filter(|(n, _)| known[*n]) {
        let parent = index(at(n).map(|axis| axis / 2), half);
        sums[parent] += value;
        counts[parent] += 1.0;
    }
    let mut coarse: Vec<f32> =
        sums.iter().zip(&counts).map(|(sum, count): (&f32, &f32)| sum / count.max(1.0)).collect();
    let unknown: Vec<usize> = (0..counts.len()).filter(|n| counts[*n] == 0.0).collect();
    fill(&mut coarse, half, &unknown);
    for &n in missing {
        voxels[n] = between(&coarse, half, at(n).map(|axis| 0.5 * axis as f32 - 0.25));
    }
    let mut next = vec![0.0; missing.len()];
    for _ in 0..SWEEPS {
        for (next, &n) in next.iter_mut().zip(missing) {
            *next = mean_of_neighbours(voxels, shape, at(n));
        }
        missing.iter().zip(&next).for_each(|(n, value)| voxels[*n] = *value);
    }
}

/// Reads voxels at a position by trilinear interpolation; outside, the nearest voxel counts.
fn between(voxels: &[f32], shape: [usize; 3], position: [f32; 3]) -> f32 {
    let last = shape.map(|n| n - 1);
    let clamped = Vector3::from_fn(|axis, _| position[axis].clamp(0.0, last[axis] as f32));
    let (mut sum, first) = (0.0, clamped.map(|at| at as usize));
    for corner in 0..8 {
        let (mut weight, mut index, mut stride) = (1.0, 0, 1);
        for axis in 0..3 {
            let (upper, share) = (corner >> axis & 1, clamped[axis] - first[axis] as f32);
            weight *= if upper == 1 { share } else { 1.0 - share };
            index += stride * (first[axis] + upper).min(last[axis]);
            stride *= shape[axis];
        }
        sum += weight * voxels[index];
    }
    sum
}

/// The mean of the up to six neighbours of a voxel.
fn mean_of_neighbours(voxels: &[f32], shape: [usize; 3], at: [usize; 3]) -> f32 {
    let strides = [1, shape[0], shape[0] * shape[1]];
    let n: usize = at.iter().zip(strides).map(|(at, stride)| at * stride).sum();
    let (mut sum, mut count) = (0.0, 0.0);
    for axis in 0..3 {
        let (before, after) = (at[axis] > 0, at[axis] + 1 < shape[axis]);
        for index in [before.then(|| n - strides[axis]), after.then(|| n + strides[axis])].into_iter().flatten() {
            sum += voxels[index];
            count += 1.0;
        }
    }
    if count > 0.0 { sum / count } else { voxels[n] }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    /// An image whose intensities rise along each axis, and a ball inside.
    fn scene() -> (Volume, Volume) {
        let grid = Grid::axis_aligned([24, 20, 18], [1.0; 3]);
        let at = |n: usize| [n % 24, n / 24 % 20, n / 480].map(|index| index as f32);
        let ramp = |n: usize| 10.0 + 2.0 * at(n)[0] + at(n)[1] - at(n)[2];
        let inside = |n: usize| f32::from(u8::from(at(n).iter().map(|x| (x - 9.0).powi(2)).sum::<f32>() < 36.0));
        let volume = |value: &dyn Fn(usize) -> f32| Volume {
            voxels: (0..grid.len()).map(value).collect(),
            grid: grid.clone(),
        };
        (volume(&ramp), volume(&inside))
    }

    #[test]
    fn intensities_in_a_lesion_continue_those_around() {
        let (ramp, lesion) = scene();
        let mut harmed = ramp.clone();
        harmed
            .voxels
            .iter_mut()
            .zip(&lesion.voxels)
            .filter(|(_, inside)| **inside > 0.5)
            .for_each(|(v, _)| *v = 900.0);
        let side = Side { channels: vec![harmed.clone().into()], ..Side::new(harmed).with_lesion(lesion.clone()) };
        let compared = side.compared().expect("images in main memory");
        for image in [&compared.image, &compared.channels[0]] {
            let found = &image.volume().expect("in main memory").voxels;
            for ((found, expected), inside) in found.iter().zip(&ramp.voxels).zip(&lesion.voxels) {
                // A linear ramp solves Laplace's equation; a few sweeps on each level come near it.
                let most = if *inside > 0.5 { 1.0 } else { 0.0 };
                assert!((found - expected).abs() <= most, "{found} in the place of {expected}");
            }
        }
        assert_eq!(side.image.volume().expect("in main memory").voxels.iter().copied().fold(0.0, f32::max), 900.0);
    }

    #[test]
    fn weights_are_those_of_the_mask_outside_the_lesion() {
        let (ramp, lesion) = scene();
        let mask =
            Volume { voxels: ramp.voxels.iter().map(|v| f32::from(u8::from(*v > 30.0))).collect(), ..lesion.clone() };
        let side = Side::new(ramp);
        assert!(side.weight(0).is_none());
        let expected = |masked: bool| -> Vec<f32> {
            let both = mask.voxels.iter().zip(&lesion.voxels);
            both.map(|(mask, lesion)| if masked { mask * (1.0 - lesion) } else { 1.0 - lesion }).collect()
        };
        let side = side.with_lesion(lesion.clone());
        assert_eq!(side.weight(0).expect("weights").voxels, expected(false));
        assert_eq!(side.with_mask(mask.clone()).weight(0).expect("weights").voxels, expected(true));
    }

    #[test]
    fn an_image_that_is_all_lesion_is_filled_with_zeros() {
        let (ramp, _) = scene();
        let everything = Volume::filled(ramp.grid.clone(), 1.0);
        assert!(filled(&ramp, &everything).voxels.iter().all(|value| *value == 0.0));
    }
}
