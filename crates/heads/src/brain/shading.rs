//! Removes the shading of an image, which is estimated by the mean intensity of the brain around each voxel.
//!
//! This takes a few milliseconds, less than N4, because an affine registration already gives the position of the brain
//! to a few millimetres.

use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::Cpu;
use antsreg_kernels::ops::{Intensity, Memory};
use nalgebra::Point3;
use rayon::prelude::*;

use super::Error;

/// Edge length of the blocks of voxels over which intensities are averaged, mm.
const BLOCK_MM: f64 = 6.0;
/// Number of voxels along an axis of a block from which on only every second one is read.
const MANY: usize = 4;
/// Standard deviation of the Gaussian by which the blocks around a voxel are weighted, mm.
const SIGMA_MM: f64 = 30.0;
/// Largest factor by which the correction of shading multiplies an intensity; the smallest factor is its inverse.
const MOST: f32 = 3.0;

/// Divides an image by its shading: the mean intensity of the brain around each voxel, relative to the mean of the
/// whole brain. The brain is the mask of the template (above 0.5), mapped by an affine from points of the template to
/// points of the image, RAS mm. The weight of brain voxels decreases with distance by a Gaussian. An image whose mean
/// in the brain is not above zero does not change.
pub fn remove(image: &mut Volume, mask: &Volume, affine: &AffineTransform) -> Result<(), Error> {
    let Some(back) = affine.inverse() else { return Ok(()) };
    let [nx, ny, nz] = image.grid.shape;
    let spacing = image.grid.spacing;
    let size = [0, 1, 2].map(|axis| ((BLOCK_MM / spacing[axis]).round() as usize).max(1));
    let blocks = [0, 1, 2].map(|axis| image.grid.shape[axis].div_ceil(size[axis]));
    let [bx, by, _] = blocks;
    let to_mask = mask.grid.world_to_voxel().after(&back).after(&image.grid.voxel_to_world());
    // In blocks of many voxels, every second voxel along each axis is enough.
    let every = size.map(|voxels| if voxels < MANY { 1 } else { 2 });
    let step = to_mask.matrix.column(0) * every[0] as f64;
    let [mx, my, mz] = mask.grid.shape;
    let counts = |at: &Point3<f64>| {
        // Positions are rounded to whole voxels of the template. A negative position becomes 0; the template's brain
        // mask is 0 there, so the position does not count as brain.
        let [x, y, z] = [at.x, at.y, at.z].map(|index| (index + 0.5) as usize);
        x < mx && y < my && z < mz && mask.voxels[(z * my + y) * mx + x] > 0.5
    };
    // For each block of voxels: the sum of the intensities in the brain, and the number of these voxels, of the voxels
    // that are read; both divided by the number of voxels of the block.
    let mut sums = vec![[0.0_f32; 2]; blocks.iter().product()];
    sums.par_chunks_mut(bx).enumerate().for_each(|(row, out)| {
        let (y, z) = (row % by * size[1], row / by * size[2]);
        let mut added = vec![[0.0_f64; 2]; bx];
        let rows = |z| (y..ny.min(y + size[1])).step_by(every[1]).map(move |y| (z, y));
        for (z, y) in (z..nz.min(z + size[2])).step_by(every[2]).flat_map(rows) {
            let mut at = to_mask.apply(&Point3::new(0.0, y as f64, z as f64));
            for (x, value) in image.voxels[(z * ny + y) * nx..][..nx].iter().enumerate().step_by(every[0]) {
                if counts(&at) {
                    let sum = &mut added[x / size[0]];
                    *sum = [sum[0] + f64::from(*value), sum[1] + 1.0];
                }
                at += step;
            }
        }
        let unit = 1.0 / size.iter().product::<usize>() as f64;
        out.iter_mut().zip(added).for_each(|(out, sum)| *out = sum.map(|sum| (sum * unit) as f32));
    });
    let sigma = [0, 1, 2].map(|axis| SIGMA_MM / (size[axis] as f64 * spacing[axis]));
    let smoothed = |part: usize| -> Result<Vec<f32>, Error> {
        let voxels: Vec<f32> = sums.iter().map(|sum| sum[part]).collect();
        Ok(Cpu.download(&Cpu.smooth(&Cpu.upload(blocks, &voxels)?, sigma)?)?)
    };
    let (local, weight) = (smoothed(0)?, smoothed(1)?);
    let all = sums.iter().fold([0.0_f64; 2], |all, sum| [0, 1].map(|part| all[part] + f64::from(sum[part])));
    let mean = (all[0] / all[1]) as f32;
    // The mean intensity of the brain is NaN if the template's brain lies completely outside the image.
    if mean.is_nan() || mean <= 0.0 {
        return Ok(());
    }
    let factor = |(local, weight): (&f32, &f32)| {
        let factor = mean * weight / local;
        if factor.is_finite() { factor.clamp(1.0 / MOST, MOST) } else { 1.0 }
    };
    let factors: Vec<f32> = local.iter().zip(&weight).map(factor).collect();
    // Shading factors are known for blocks of voxels. For a voxel, this gives along one axis: the block before it, the
    // block after it, and its position between the centres of the two, 0 to 1.
    let between = |n: usize, axis: usize| {
        let at = ((n as f32 + 0.5) / size[axis] as f32 - 0.5).clamp(0.0, blocks[axis] as f32 - 1.0);
        (at as usize, (at as usize + 1).min(blocks[axis] - 1), at.fract())
    };
    let along: Vec<(usize, usize, f32)> = (0..nx).map(|x| between(x, 0)).collect();
    let line = || vec![0.0_f32; bx];
    image.voxels.par_chunks_mut(nx).enumerate().for_each_init(line, |line, (row, voxels)| {
        let ((y0, y1, fy), (z0, z1, fz)) = (between(row % ny, 1), between(row / ny, 2));
        let mix = |a: f32, b: f32, share: f32| a * (1.0 - share) + b * share;
        for (x, value) in line.iter_mut().enumerate() {
            let at = |y: usize, z: usize| factors[(z * by + y) * bx + x];
            *value = mix(mix(at(y0, z0), at(y1, z0), fy), mix(at(y0, z1), at(y1, z1), fy), fz);
        }
        for (voxel, (low, high, share)) in voxels.iter_mut().zip(&along) {
            *voxel *= mix(line[*low], line[*high], *share);
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    #[test]
    fn a_brain_of_one_intensity_becomes_flatter() {
        let mut grid = Grid::axis_aligned([70, 62, 40], [2.0, 2.0, 3.0]);
        grid.origin = Point3::from(-grid.centre().coords);
        let mut mask = Volume::filled(Grid::axis_aligned([30, 28, 26], [4.0; 3]), 0.0);
        let in_template = mask.grid.voxel_to_world();
        let centre = mask.grid.centre();
        for n in 0..mask.voxels.len() {
            let at = in_template.apply(&Point3::new((n % 30) as f64, (n / 30 % 28) as f64, (n / 840) as f64));
            mask.voxels[n] = if (at - centre).norm() < 42.0 { 1.0 } else { 0.0 };
        }
        // This affine moves the template's centre to the centre of the image.
        let affine = AffineTransform { translation: -centre.coords, ..AffineTransform::identity() };
        let to_world = grid.voxel_to_world();
        let place = |n: usize| to_world.apply(&Point3::new((n % 70) as f64, (n / 70 % 62) as f64, (n / 4340) as f64));
        let inside = |n: usize| place(n).coords.norm() < 42.0;
        let shade = |n: usize| 1.0 + 0.4 * (place(n).x / 60.0).sin() * (place(n).y / 80.0).cos();
        let of = |n: usize| (100.0 * shade(n) * if inside(n) { 1.0 } else { 0.3 }) as f32;
        let mut image = Volume { grid: grid.clone(), voxels: (0..grid.len()).map(of).collect() };
        let spread = |image: &Volume| {
            let values: Vec<f32> = (0..grid.len()).filter(|n| inside(*n)).map(|n| image.voxels[n]).collect();
            let least = values.iter().copied().fold(f32::INFINITY, f32::min);
            values.iter().copied().fold(0.0, f32::max) / least
        };
        let before = spread(&image);
        remove(&mut image, &mask, &affine).expect("smoothed");
        // The shading at a voxel is estimated from the brain voxels around it. At the edge of the brain these all lie
        // on the inner side of the voxel, so that a part of the shading remains.
        assert!(before > 1.6 && spread(&image) < 1.0 + 0.65 * (before - 1.0), "{before} and {}", spread(&image));
        let mut dark = Volume::filled(grid.clone(), -1.0);
        remove(&mut dark, &mask, &affine).expect("smoothed");
        assert!(dark.voxels.iter().all(|value| *value == -1.0));
    }
}
