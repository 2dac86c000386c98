//! Sun 2010: one evaluation of mutual information on CPU and GPU, for slices and volumes, by interpolation and partial
//! volume.

use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::{Backend, Cpu, Cuda, JointParameters, JointSampling};
use nalgebra::{Rotation3, Vector3};

use super::context::Context;
use super::scene::on;
use super::shown::{Best, Form, Shown};
use super::timing::median_seconds;
use crate::error::Error;

/// The interpolation model of the paper.
pub const TRILINEAR: JointSampling = JointSampling::Trilinear;
/// The partial volume model of the paper.
pub const PARTIAL: JointSampling = JointSampling::PartialVolume;

/// Numbers of pixels along each side of the slices.
const SIDES: [usize; 4] = [64, 128, 256, 512];
/// Voxels of the volume.
const VOLUME: [usize; 3] = [256, 256, 64];
const BINS: usize = 64;

/// The image on a grid of this shape that covers the same part of the world. A slice goes through the middle.
fn reshaped(image: &Volume, shape: [usize; 3]) -> Volume {
    let own = &image.grid;
    let slice = shape[2] == 1;
    let extent: [f64; 3] = std::array::from_fn(|axis| own.shape[axis] as f64 * own.spacing[axis]);
    let spacing =
        Vector3::from_fn(
            |axis, _| if slice && axis == 2 { own.spacing[2] } else { extent[axis] / shape[axis] as f64 },
        );
    let half = Vector3::from_fn(|axis, _| 0.5 * (shape[axis] as f64 - 1.0) * spacing[axis]);
    let origin = own.centre() - own.direction * half;
    on(image, &Grid { shape, spacing, origin, direction: own.direction })
}

/// The time of one evaluation on a backend, s.
fn evaluation<B: Backend>(backend: &B, [fixed, moving]: [&Volume; 2], sampling: JointSampling) -> Result<f64, Error> {
    let range = |image: &Volume| image.range().map_or((0.0, 1.0), |(low, high)| (low, high.max(low + 1e-6)));
    let bins = backend.bin_fixed(&backend.upload(fixed.grid.shape, &fixed.voxels)?, None, range(fixed), BINS)?;
    let image = backend.upload(moving.grid.shape, &moving.voxels)?;
    let turn = Rotation3::from_euler_angles(0.0, 0.0, 0.05).into_inner();
    let centre = Vector3::from_fn(|axis, _| (fixed.grid.shape[axis] as f64 - 1.0) / 2.0);
    let map = AffineTransform { matrix: turn, translation: centre - turn * centre };
    let parameters = JointParameters { sampling, bins: BINS, low_high: range(moving) };
    median_seconds(|| {
        backend.joint_entropies(&bins, &image, None, [0.0; 3], &parameters, &[map])?;
        Ok(())
    })
}

/// Times on CPU and GPU, ms, and their ratio.
fn both(context: &Context<'_>, pair: [&Volume; 2], sampling: JointSampling) -> Result<[Option<f64>; 3], Error> {
    let cpu = 1e3 * evaluation(&Cpu, pair, sampling)?;
    let on_gpu = |cuda: &Cuda| evaluation(cuda, pair, sampling);
    let gpu = context.cuda().map(on_gpu).transpose()?.map(|seconds| 1e3 * seconds);
    Ok([Some(cpu), gpu, gpu.map(|gpu| cpu / gpu)])
}

fn contrasts<'s>(context: &'s Context<'_>, second: &str) -> Result<[&'s Volume; 2], Error> {
    let of = |wanted: &str| context.scene.contrasts.iter().find(|(name, _)| name == wanted).map(|(_, image)| image);
    // Where only two contrasts were given, the second serves for every other one.
    let other = of(second).or_else(|| context.scene.contrasts.get(1).map(|(_, image)| image));
    Ok([of("T1").ok_or(Error::NotMeasured)?, other.ok_or(Error::NotMeasured)?])
}

fn name(sampling: JointSampling) -> &'static str {
    if sampling == PARTIAL { "partial volume" } else { "interpolation" }
}

/// Slices of four sizes.
pub fn slices(context: &Context<'_>, second: &str, sampling: JointSampling) -> Result<Vec<Shown>, Error> {
    let pair = contrasts(context, second)?;
    let unit = format!("ms for one evaluation, {BINS} bins");
    let title = format!("T1 and {second}, 2D {}", name(sampling));
    let mut times = Shown::new(&title, "pixels along a side", &unit, &["CPU", "GPU"])
        .drawn(Form::Lines { log_x: false, log_y: false })
        .best(Best::Lowest);
    let mut ratio = Shown::new("CPU / GPU", "pixels along a side", "", &["CPU / GPU"]);
    for side in SIDES {
        let slices = pair.map(|image| reshaped(image, [side, side, 1]));
        let [cpu, gpu, of_both] = both(context, [&slices[0], &slices[1]], sampling)?;
        times.row(side.to_string(), vec![cpu, gpu]);
        ratio.row(side.to_string(), vec![of_both]);
    }
    Ok(vec![times, ratio])
}

/// The volume, by both ways to fill the histogram.
pub fn volumes(context: &Context<'_>) -> Result<Vec<Shown>, Error> {
    let pair = contrasts(context, "T2")?.map(|image| reshaped(image, VOLUME));
    let [x, y, z] = VOLUME;
    let title = format!("T1 and T2, {x}×{y}×{z}");
    let unit = format!("ms for one evaluation, {BINS} bins");
    let mut table = Shown::new(&title, "histogram", &unit, &["CPU", "GPU", "CPU / GPU"]);
    for sampling in [TRILINEAR, PARTIAL] {
        table.row(name(sampling), both(context, [&pair[0], &pair[1]], sampling)?.into());
    }
    Ok(vec![table])
}

/// Speed-up by the number of voxels.
pub fn speedup(context: &Context<'_>) -> Result<Vec<Shown>, Error> {
    let pair = contrasts(context, "T2")?;
    let mut table = Shown::new("Speed-up by interpolation", "image", "CPU / GPU", &["CPU / GPU"]).drawn(Form::Bars);
    let [x, y, z] = VOLUME;
    let shapes = SIDES.map(|side| ([side, side, 1], format!("{side}×{side}")));
    for (shape, name) in shapes.into_iter().chain([(VOLUME, format!("{x}×{y}×{z}"))]) {
        let images = pair.map(|image| reshaped(image, shape));
        table.row(name, vec![both(context, [&images[0], &images[1]], TRILINEAR)?[2]]);
    }
    Ok(vec![table])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::scene::Scene;

    #[test]
    fn slices_and_volumes_show_the_brain() {
        let (_, image) = &Scene::synthetic(4.0).contrasts[0];
        for shape in [[64, 64, 1], [32, 32, 16]] {
            let found = reshaped(image, shape);
            assert_eq!(found.grid.shape, shape);
            let bright = found.voxels.iter().filter(|value| **value > 400.0).count();
            assert!(bright > found.voxels.len() / 8, "{bright} of {}", found.voxels.len());
        }
    }
}
