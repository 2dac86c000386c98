//! The warped images of a registration, and how similar the images are: on a GPU, or on the CPU.

use antsreg_core::compare::Comparison;
use antsreg_core::{AffineTransform, Grid, Transform, TransformChain, Volume};
use antsreg_kernels::{Backend, Error, apply};
use antsreg_syn as syn;

use crate::resample::{Kernel, Sampler};
use crate::{Similarity, WarpedImages};

/// The images that a registration makes.
#[derive(Debug)]
pub(crate) struct Images {
    /// The moving image on the fixed grid, if wanted.
    pub warped: Option<Volume>,
    /// The fixed image on the moving grid, if wanted.
    pub inverse_warped: Option<Volume>,
    /// Correlation of the fixed and the moving image.
    pub similarity: Similarity,
}

/// Two images and the affines between them, fixed → moving, RAS mm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub fixed: &'a Volume,
    /// Fixed voxels that count in the similarity.
    pub mask: Option<&'a Volume>,
    pub moving: &'a Volume,
    /// The start of the registration.
    pub start: AffineTransform,
    /// The affine of its result.
    pub affine: AffineTransform,
}

impl Images {
    /// Computed by a backend; `None` where it has no kernel for the interpolation.
    pub fn on_device<B: Backend>(
        backend: &B,
        pair: &Pair,
        warps: Option<&syn::Warps<B>>,
        wanted: WarpedImages,
    ) -> Result<Option<Images>, Error> {
        let Pair { fixed, mask, moving, start, affine } = pair;
        let (Some(kernel), Some(back)) = (Kernel::of(wanted.interpolation), affine.inverse()) else {
            return Ok(None);
        };
        let upload = |volume: &Volume| backend.upload(volume.grid.shape, &volume.voxels);
        let (fixed_voxels, mask) = (upload(fixed)?, mask.map(upload).transpose()?);
        let sampler = Sampler::new(backend, moving, kernel)?;
        let mut out = backend.image(fixed.grid.shape)?;
        let mut correlation = |field, affine| {
            sampler.read(backend, &fixed.grid, field, affine, &mut out)?;
            let correlation = backend.correlation(&fixed_voxels, &out, mask.as_ref())?;
            Ok::<_, Error>(correlation.is_finite().then_some(correlation))
        };
        let similarity = Similarity {
            correlation_at_start: correlation(None, start)?,
            correlation: correlation(warps.map(|warps| &warps.warp), affine)?,
        };
        let fetch = |out: &B::Image, grid: &Grid| {
            Ok::<_, Error>(Volume { grid: grid.clone(), voxels: backend.download(out)? })
        };
        let warped = wanted.warped.then(|| fetch(&out, &fixed.grid)).transpose()?;
        drop((sampler, out, mask));
        let inverse_warped = || {
            // The inverse warp on the moving grid, in its voxels.
            let field = |warps: &syn::Warps<B>| {
                let [from, to] = [&moving.grid, &fixed.grid];
                let map = to.world_to_voxel().after(&back).after(&from.voxel_to_world());
                let to_moving_voxels = from.world_to_voxel().after(affine).after(&to.voxel_to_world()).matrix;
                let mut field = backend.field(moving.grid.shape)?;
                backend.resize_field(&warps.inverse_warp, &map, &to_moving_voxels, &mut field)?;
                Ok::<_, Error>(field)
            };
            let field = warps.map(field).transpose()?;
            let sampler = Sampler::of(backend, fixed_voxels, &fixed.grid, kernel)?;
            let mut out = backend.image(moving.grid.shape)?;
            sampler.read(backend, &moving.grid, field.as_ref(), &back, &mut out)?;
            fetch(&out, &moving.grid)
        };
        let inverse_warped = wanted.inverse_warped.then(inverse_warped).transpose()?;
        Ok(Some(Images { warped, inverse_warped, similarity }))
    }

    /// Computed by the CPU in double precision, through the chains of the result: moving → fixed, fixed → moving.
    pub fn on_cpu(pair: &Pair, [forward, backward]: [&TransformChain; 2], wanted: WarpedImages) -> Images {
        let Pair { fixed, mask, moving, start, .. } = pair;
        let read =
            |image: &Volume, onto, chain: &_| apply::resample(image, onto, chain, wanted.interpolation.into(), 0.0);
        let start = TransformChain::from(vec![Transform::Affine(*start)]);
        let correlation_at_start = correlation(fixed, &read(moving, &fixed.grid, &start), *mask);
        let warped = read(moving, &fixed.grid, forward);
        let correlation = correlation(fixed, &warped, *mask);
        let inverse_warped = wanted.inverse_warped.then(|| read(fixed, &moving.grid, backward));
        let warped = wanted.warped.then_some(warped);
        Images { warped, inverse_warped, similarity: Similarity { correlation_at_start, correlation } }
    }
}

/// Pearson's correlation of two images on one grid; `None` where there is none.
fn correlation(first: &Volume, second: &Volume, mask: Option<&Volume>) -> Option<f64> {
    let compared = Comparison::between(first, second, mask).ok()?;
    Some(compared.correlation).filter(|correlation| correlation.is_finite())
}

#[cfg(test)]
mod tests;
