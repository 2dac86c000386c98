//! The warped images of a registration and the correlation of the images, computed on a GPU or on the CPU.

use std::borrow::Cow;

use antsreg_core::compare::Comparison;
use antsreg_core::{AffineTransform, Grid, Transform, TransformChain, Volume};
use antsreg_kernels::ops::Memory as _;
use antsreg_kernels::{Backend, Cpu, apply};
use antsreg_syn as syn;
use antsreg_verdict as verdict;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::coarse::{coarsen, seen, seen_volume};
use crate::lesion::leave_out;
use crate::resample::{Kernel, Sampler};
use crate::{Error, Image, WarpedImages};

/// Pearson's correlation of the fixed image with the resampled moving image, over the voxels inside the moving image
/// and inside the fixed mask of the last stage. `None` without such voxels, or if either image is constant there.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Similarity {
    /// Correlation of the fixed image with the moving image under the initial affine.
    pub correlation_at_start: Option<f64>,
    /// Correlation of the fixed image with the moving image under the resulting transform.
    pub correlation: Option<f64>,
}

/// The warped images and the correlation of a registration. `I` is a volume in main memory, or an image of a backend.
#[derive(Debug, Clone)]
pub(crate) struct Images<I = Volume> {
    /// The moving image, resampled on the fixed grid, if requested.
    pub warped: Option<I>,
    /// The fixed image, resampled on the moving grid, if requested.
    pub inverse_warped: Option<I>,
    /// Correlation of the fixed and the moving image.
    pub similarity: Similarity,
    /// The pair on a coarse grid, from which the verdict is computed; `None` if the images could not be made on the
    /// device.
    pub coarse: Option<verdict::Pair>,
}

/// A fixed and a moving image with the initial and the found affine between them (fixed → moving, RAS mm).
#[derive(Debug, Clone)]
pub(crate) struct AlignedImages<'a> {
    pub fixed: &'a Image,
    /// Mask of the correlation, on the fixed grid: without the lesion of the fixed image.
    pub mask: Option<Cow<'a, Volume>>,
    pub moving: &'a Image,
    /// Lesion of the moving image, on its grid. The correlation does not count it.
    pub lesion: Option<&'a Volume>,
    /// The initial affine of the registration.
    pub start: AffineTransform,
    /// The affine that the registration has found, fixed → moving, RAS mm.
    pub affine: AffineTransform,
}

impl AlignedImages<'_> {
    /// The mask of the correlation after the moving image is resampled through a chain: without the lesion of the moving
    /// image.
    fn counted(&self, chain: &TransformChain) -> Option<Cow<'_, Volume>> {
        let Some(lesion) = self.lesion else { return self.mask.as_deref().map(Cow::Borrowed) };
        let grid = self.fixed.grid();
        let mut mask = self.mask.as_deref().map_or_else(|| Volume::filled(grid.clone(), 1.0), Volume::clone);
        leave_out(&mut mask.voxels, &apply::resample(lesion, grid, chain, apply::Interpolation::Linear, 0.0));
        Some(Cow::Owned(mask))
    }
}

impl<I: 'static> Images<I> {
    /// Computes the warped images of a registration on a backend (CPU or CUDA), in whose memory the images stay. `None`
    /// if the backend has no kernel for the interpolation.
    pub fn on_device<B: Backend<Image = I>>(
        backend: &B,
        pair: &AlignedImages,
        warps: Option<&syn::Warps<B>>,
        wanted: WarpedImages,
    ) -> Result<Option<Images<I>>, Error> {
        let AlignedImages { fixed, mask, moving, lesion, start, affine } = pair;
        let (Some(kernel), Some(back)) = (Kernel::of(wanted.interpolation), affine.inverse()) else {
            return Ok(None);
        };
        let (fixed, moving) = (fixed.input(backend)?, moving.input(backend)?);
        let fixed_voxels = fixed.load(backend)?;
        let sampler = Sampler::of(backend, moving.load(backend)?, moving.grid, kernel)?;
        // An image of ones on the grid of the moving image, 0 in its lesion. After resampling it is above 0 only where
        // the moving image lies.
        let mut ones = backend.image(moving.grid.shape)?;
        backend.clip(&mut ones, (1.0, 1.0), 0.0, 1.0)?;
        if let Some(lesion) = lesion {
            let mut counts = backend.download(&ones)?;
            leave_out(&mut counts, lesion);
            ones = backend.upload(moving.grid.shape, &counts)?;
        }
        let extent = Sampler::of(backend, ones, moving.grid, Kernel::Linear)?;
        let (mut out, mut both) = (backend.image(fixed.grid.shape)?, backend.image(fixed.grid.shape)?);
        let coarse_grid = verdict::coarse_grid(fixed.grid);
        let mut aligned = |field, affine| {
            sampler.read(backend, fixed.grid, field, affine, &mut out)?;
            extent.read(backend, fixed.grid, field, affine, &mut both)?;
            if let Some(mask) = mask {
                let mut counts = backend.download(&both)?;
                exclude(&mut counts, mask);
                both = backend.upload(fixed.grid.shape, &counts)?;
            }
            let correlation = backend.correlation(&fixed_voxels, &out, Some(&both))?;
            let seen = seen(backend, [&out, &both], fixed.grid, &coarse_grid)?;
            Ok::<_, Error>((correlation.is_finite().then_some(correlation), seen))
        };
        let (correlation_at_start, _) = aligned(None, start)?;
        let (mut correlation, straight) = aligned(None, affine)?;
        let mut curved = None;
        if let Some(warps) = warps {
            let (of_warp, seen) = aligned(Some(&warps.warp), affine)?;
            (correlation, curved) = (of_warp, Some(seen));
        }
        let similarity = Similarity { correlation_at_start, correlation };
        let of_fixed = coarsen(backend, &fixed_voxels, fixed.grid, &coarse_grid)?;
        let coarse = Some(verdict::Pair { grid: coarse_grid, fixed: of_fixed, affine: straight, warped: curved });
        drop((sampler, extent, both));
        let warped = wanted.warped.then_some(out);
        let inverse_warped = || {
            // Resamples the inverse warp on the moving grid. The displacements are then in voxels of the moving grid.
            let field = |warps: &syn::Warps<B>| {
                let [from, to] = [moving.grid, fixed.grid];
                let map = to.world_to_voxel().after(&back).after(&from.voxel_to_world());
                let to_moving_voxels = from.world_to_voxel().after(affine).after(&to.voxel_to_world()).matrix;
                let mut field = backend.field(moving.grid.shape)?;
                backend.resize_field(&warps.inverse_warp, &map, &to_moving_voxels, &mut field)?;
                Ok::<_, Error>(field)
            };
            let field = warps.map(field).transpose()?;
            let sampler = Sampler::of(backend, fixed_voxels, fixed.grid, kernel)?;
            let mut out = backend.image(moving.grid.shape)?;
            sampler.read(backend, moving.grid, field.as_ref(), &back, &mut out)?;
            Ok::<_, Error>(out)
        };
        let inverse_warped = wanted.inverse_warped.then(inverse_warped).transpose()?;
        Ok(Some(Images { warped, inverse_warped, similarity, coarse }))
    }

    /// Everything except the warped images.
    pub fn without_volumes(&self) -> Images<Volume> {
        let Images { similarity, coarse, .. } = self;
        Images { warped: None, inverse_warped: None, similarity: *similarity, coarse: coarse.clone() }
    }

    /// Downloads the warped images to main memory. `fixed` and `moving` are the grids of the fixed and of the moving
    /// image, onto which the images are warped.
    pub fn download<B: Backend<Image = I>>(
        &self,
        backend: &B,
        [fixed, moving]: [&Grid; 2],
    ) -> Result<Images<Volume>, Error> {
        let fetch = |image: &Option<I>, grid: &Grid| {
            let fetch = |image| Ok::<_, Error>(Volume { grid: grid.clone(), voxels: backend.download(image)? });
            image.as_ref().map(fetch).transpose()
        };
        Ok(Images {
            warped: fetch(&self.warped, fixed)?,
            inverse_warped: fetch(&self.inverse_warped, moving)?,
            similarity: self.similarity,
            coarse: self.coarse.clone(),
        })
    }
}

impl Images<Volume> {
    /// Computes the warped images on the CPU in double precision. The chain `forward` maps fixed to moving points, the
    /// chain `backward` maps moving to fixed points.
    ///
    /// # Errors
    /// An image is on a device, and the device fails.
    pub fn on_cpu(
        pair: &AlignedImages,
        [forward, backward]: [&TransformChain; 2],
        wanted: WarpedImages,
    ) -> Result<Images, Error> {
        let AlignedImages { fixed, moving, start, affine, .. } = pair;
        let (fixed, moving) = (fixed.volume()?, moving.volume()?);
        let read = |image: &Volume, onto, chain: &_, outside| {
            apply::resample(image, onto, chain, wanted.interpolation.into(), outside)
        };
        let start = TransformChain::from(vec![Transform::Affine(*start)]);
        // The voxels of input images are never NaN, so a NaN in the resampled image marks a voxel outside the moving
        // image.
        let at_start = pair.counted(&start);
        let correlation_at_start =
            correlation(fixed, &read(moving, &fixed.grid, &start, f32::NAN), at_start.as_deref());
        let coarse_grid = verdict::coarse_grid(&fixed.grid);
        let mut warped = read(moving, &fixed.grid, forward, f32::NAN);
        let counted = pair.counted(forward);
        let correlation = correlation(fixed, &warped, counted.as_deref());
        let mut straight = seen_volume(&warped, counted.as_deref(), &coarse_grid)?;
        let mut curved = None;
        if forward.displacement().is_some() {
            let affine = TransformChain::from(vec![Transform::Affine(*affine)]);
            let image = read(moving, &fixed.grid, &affine, f32::NAN);
            let counted = pair.counted(&affine);
            let seen = seen_volume(&image, counted.as_deref(), &coarse_grid)?;
            curved = Some(std::mem::replace(&mut straight, seen));
        }
        let of_fixed = coarsen(&Cpu, &Cpu.upload(fixed.grid.shape, &fixed.voxels)?, &fixed.grid, &coarse_grid)?;
        let coarse = Some(verdict::Pair { grid: coarse_grid, fixed: of_fixed, affine: straight, warped: curved });
        warped.voxels.par_iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
        let inverse_warped = wanted.inverse_warped.then(|| read(fixed, &moving.grid, backward, 0.0));
        let warped = wanted.warped.then_some(warped);
        let similarity = Similarity { correlation_at_start, correlation };
        Ok(Images { warped, inverse_warped, similarity, coarse })
    }
}

/// Pearson's correlation of two images on one grid, over the voxels where the second image is not NaN and the mask is
/// above 0.5; `None` if there are no such voxels.
fn correlation(first: &Volume, second: &Volume, mask: Option<&Volume>) -> Option<f64> {
    let mut both = Volume {
        grid: second.grid.clone(),
        voxels: second.voxels.par_iter().map(|value| if value.is_nan() { 0.0 } else { 1.0 }).collect(),
    };
    if let Some(mask) = mask {
        exclude(&mut both.voxels, mask);
    }
    let compared = Comparison::between(first, second, Some(&both)).ok()?;
    Some(compared.correlation).filter(|correlation| correlation.is_finite())
}

/// Sets the weights `counts` of voxels outside a mask to 0. Voxels with a mask value of at most 0.5 are outside.
fn exclude(counts: &mut [f32], mask: &Volume) {
    counts.iter_mut().zip(&mask.voxels).filter(|(_, mask)| **mask <= 0.5).for_each(|(count, _)| *count = 0.0);
}

#[cfg(test)]
mod tests;
