//! Runs the operations that process the fields of the fixed and of the moving image in one call, so that their results
//! can be compared between devices.

use antsreg_core::AffineTransform;
use antsreg_kernels::{Backend, Error, InversionLimits, Sampling};

use crate::operations::{EXACT, Outcomes, SUMS};
use crate::world::World;

/// Runs all operations that process two displacement fields in one call, with images of two shapes and with two affine
/// maps.
pub fn sides<B: Backend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let (backend, shape) = (out.backend, world.shape);
    both(out, "field_pair", EXACT, &backend.field_pair(shape)?)?;
    let first = backend.upload(world.other_shape, &World::image(world.other_shape, 3))?;
    let second = backend.upload(shape, &World::image(shape, 5))?;
    moved(out, shape, [&first, &second], [&world.map(0.15), &AffineTransform::identity()])?;

    for variance in [0.0, 0.3, 1.0, 3.0, 6.0, 9.0, 16.0] {
        for reversed in [false, true] {
            let (mut fields, mut scratch) = (pair(backend, shape, [7, 11], 1.5)?, backend.field_pair(shape)?);
            // The operation takes two fields. If they are passed in reversed order, the second no longer follows the
            // first in memory.
            if reversed {
                fields.reverse();
            }
            backend.smooth_both_fields(fields.each_mut(), variance, scratch.each_mut())?;
            both(out, &format!("smooth_both_fields {variance}, reversed {reversed}"), SUMS, &fields)?;
        }
    }

    let (fields, mut inverses) = (pair(backend, shape, [7, 11], 2.0)?, backend.field_pair(shape)?);
    let limits = InversionLimits { steps: 20, tolerance_voxels: 0.03, untouched_voxels: 0.0 };
    backend.invert_both(fields.each_ref(), inverses.each_mut(), &limits)?;
    both(out, "invert_both", EXACT, &inverses)?;
    smoothed_updates(out, shape, world.spacing, &[0.0, 0.3, 1.0, 3.0, 6.0, 9.0, 16.0])
}

/// Runs the operations that warp two images in one call, and that advance two fields along their updates.
pub fn moved<B: Backend>(
    out: &mut Outcomes<'_, B>,
    shape: [usize; 3],
    images: [&B::Image; 2],
    maps: [&AffineTransform; 2],
) -> Result<(), Error> {
    let backend = out.backend;
    let (fields, updates) = (pair(backend, shape, [7, 11], 2.0)?, pair(backend, shape, [13, 17], 4.0)?);
    let mut targets = [backend.image(shape)?, backend.image(shape)?];
    for sampling in [Sampling::Linear, Sampling::Nearest] {
        backend.warp_both(images, fields.each_ref(), maps, sampling, targets.each_mut())?;
        out.image(format!("warp_both {sampling:?}, first"), EXACT, &targets[0])?;
        out.image(format!("warp_both {sampling:?}, second"), EXACT, &targets[1])?;
    }
    let mut moved = pair(backend, shape, [7, 11], 2.0)?;
    backend.advance_both(moved.each_mut(), updates.each_ref(), -0.3)?;
    both(out, "advance_both", EXACT, &moved)?;
    let nothing = backend.field(shape)?;
    backend.advance_both(moved.each_mut(), [&nothing, &updates[1]], 0.7)?;
    both(out, "advance_both, one by nothing", EXACT, &moved)?;
    backend.advance(&mut moved[0], &updates[0], 0.4)?;
    out.field("advance", EXACT, &moved[0])
}

/// Computes an update from derivatives, smoothed with each of the given variances.
pub fn smoothed_updates<B: Backend>(
    out: &mut Outcomes<'_, B>,
    shape: [usize; 3],
    spacing: [f64; 3],
    variances: &[f64],
) -> Result<(), Error> {
    let backend = out.backend;
    let image = backend.upload(shape, &World::image(shape, 19))?;
    let mut update = backend.field(shape)?;
    for variance in variances {
        let mut derivative = backend.upload(shape, &World::image(shape, 23))?;
        backend.smoothed_update(&image, &mut derivative, spacing, *variance, &mut update)?;
        out.field(format!("smoothed_update {variance} {shape:?}"), SUMS, &update)?;
    }
    Ok(())
}

/// Two test fields that are allocated as a pair, with displacements of up to about `voxels` voxels.
pub fn pair<B: Backend>(
    backend: &B,
    shape: [usize; 3],
    seeds: [u32; 2],
    voxels: f64,
) -> Result<[B::Field; 2], Error> {
    let mut pair = backend.field_pair(shape)?;
    for (field, seed) in pair.iter_mut().zip(seeds) {
        backend.add_scaled(field, &backend.upload_field(shape, &World::field(shape, voxels, seed))?, 1.0)?;
    }
    Ok(pair)
}

pub fn both<B: Backend>(
    out: &mut Outcomes<'_, B>,
    operation: &str,
    rule: (f64, &'static str),
    fields: &[B::Field; 2],
) -> Result<(), Error> {
    out.field(format!("{operation}, first"), rule, &fields[0])?;
    out.field(format!("{operation}, second"), rule, &fields[1])
}
