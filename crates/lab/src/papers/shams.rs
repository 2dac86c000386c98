//! Shams et al. 2010: throughput of transformations and of joint histograms, speed and error of rigid registrations.

use std::time::Instant;

use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::apply::{Interpolation, resample};
use antsreg_kernels::{Backend, Cpu, Cuda};
use antsreg_linear::{self as linear, Cost, Dof, Optimiser, Start};
use nalgebra::{Point3, Rotation3, Vector3};

use super::context::{Context, Rigid};
use super::registrations;
use super::shown::{Best, Form, Shown};
use super::timing::median_seconds;
use crate::error::Error;
use crate::histograms::Part;
use crate::histograms::subject::How;
use crate::schemes::{CrScheme, Settings};

/// The optimisers that are compared.
const OPTIMISERS: [(Optimiser, &str); 2] =
    [(Optimiser::Powell, "Powell, with resolution"), (Optimiser::Flirt, "FLIRT")];

fn resampling_seconds<B: Backend>(backend: &B, image: &Volume, map: &AffineTransform) -> Result<f64, Error> {
    let shape = image.grid.shape;
    let from = backend.upload(shape, &image.voxels)?;
    let mut out = backend.image(shape)?;
    // A resampled image has no result to wait for, so one correlation ends a group of several.
    const GROUP: usize = 8;
    let wait = median_seconds(|| {
        backend.correlation(&from, &from, None)?;
        Ok(())
    })?;
    let all = median_seconds(|| {
        for _ in 0..GROUP {
            backend.resample(&from, map, 0.0, &mut out)?;
        }
        backend.correlation(&from, &from, None)?;
        Ok(())
    })?;
    Ok(((all - wait) / GROUP as f64).max(1e-9))
}

/// Voxels that are transformed in a second.
pub fn transform(context: &Context<'_>) -> Result<Vec<Shown>, Error> {
    let moving = &context.scene.pair()[1];
    let turn = Rotation3::from_euler_angles(0.06, -0.04, 0.08).into_inner();
    let centre = Vector3::from_fn(|axis, _| (moving.grid.shape[axis] as f64 - 1.0) / 2.0);
    let map = AffineTransform { matrix: turn, translation: centre - turn * centre };
    let voxels = moving.voxels.len() as f64;
    let rate = |seconds: f64| Some(voxels / seconds / 1e6);
    let mut table = Shown::new("Throughput of affine transformations", "how", "10⁶ voxels/s", &["10⁶ voxels/s"])
        .drawn(Form::Bars);
    table.row("CPU", vec![rate(resampling_seconds(&Cpu, moving, &map)?)]);
    if let Some(cuda) = context.cuda() {
        table.row("GPU", vec![rate(resampling_seconds(cuda, moving, &map)?)]);
    }
    if let Some((setup, brain)) = context.gpu.as_ref().and_then(|gpu| Some((&gpu.setup, gpu.setup.brain.as_ref()?))) {
        let settings = Settings { blocks: None, ..Settings::default() };
        let voxels = brain.fixed.values().len() as f64;
        for (how, name) in
            [(How::Given, "GPU, sums alone"), (How::Exact, "GPU, sums"), (How::Filtered, "GPU, sums, texture")]
        {
            let pair = setup.histograms.pair(&brain.fixed, brain.values(how, 0.0), 256)?;
            let seconds = setup.time_cr(&pair, CrScheme::Slabs, &settings)?;
            table.row(name, vec![seconds.map(|s| voxels / s / 1e6)]);
        }
    }
    Ok(vec![table])
}

pub fn bins(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    let figures = context.figures("shams-bins", Part::ShamsBins)?;
    Ok(figures.map(|all| all.iter().map(|figure| Shown::of_figure(figure, Best::Highest)).collect()))
}

/// Known rigid maps: angles about x, y and z in degrees, and a translation in mm.
const TRUTHS: [([f64; 3], [f64; 3]); 3] = [
    ([8.0, -5.0, 12.0], [6.0, -9.0, 4.0]),
    ([-10.0, 7.0, -4.0], [-7.0, 3.0, 9.0]),
    ([3.0, 11.0, 6.0], [2.0, 8.0, -10.0]),
];

/// The image moved by a known rigid map about the centre of its grid, and the map from points of the image that was
/// not moved to points of the one that was.
fn moved(image: &Volume, (degrees, mm): &([f64; 3], [f64; 3])) -> (Volume, AffineTransform) {
    let [x, y, z] = degrees.map(f64::to_radians);
    let matrix = Rotation3::from_euler_angles(x, y, z).into_inner();
    let centre = image.grid.centre().coords;
    let truth = AffineTransform { matrix, translation: centre + Vector3::from(*mm) - matrix * centre };
    let back = AffineTransform { matrix: matrix.transpose(), translation: -(matrix.transpose() * truth.translation) };
    let chain = antsreg_core::TransformChain::from(vec![antsreg_core::Transform::Affine(back)]);
    (resample(image, &image.grid, &chain, Interpolation::Linear, 0.0), truth)
}

/// Median distance, over points of a lattice within the grid, between where the found map and the true map take them,
/// mm.
fn error(grid: &Grid, found: &AffineTransform, truth: &AffineTransform) -> f64 {
    let to_world = grid.voxel_to_world();
    let mut distances: Vec<f64> = (0..125)
        .map(|n| {
            let share = [n % 5, n / 5 % 5, n / 25].map(|k| 0.2 + 0.15 * k as f64);
            let index = Point3::from(Vector3::from_fn(|axis, _| share[axis] * grid.shape[axis] as f64));
            let world = to_world.apply(&index);
            (found.apply(&world) - truth.apply(&world)).norm()
        })
        .collect();
    distances.sort_by(f64::total_cmp);
    distances[distances.len() / 2]
}

/// Mean time and median error of rigid registrations by mutual information.
fn rigid<B: Backend>(
    backend: &B,
    gpu: bool,
    [fixed, moving]: [&Volume; 2],
    optimiser: Optimiser,
) -> Result<[f64; 2], Error> {
    let options = linear::Options { optimiser, ..registrations::options(Cost::MutualInformation, Dof::Rigid6) };
    let (mut seconds, mut errors) = (0.0, Vec::new());
    for (n, truth) in TRUTHS.iter().enumerate() {
        let (moving, truth) = moved(moving, truth);
        let run = || linear::register(backend, fixed, &moving, None, None, &options, Start::CentreOfMass, &mut ());
        if gpu && n == 0 {
            run()?;
        }
        let start = Instant::now();
        let found = run()?;
        seconds += start.elapsed().as_secs_f64() / TRUTHS.len() as f64;
        errors.push(error(&fixed.grid, &found.transform, &truth));
    }
    errors.sort_by(f64::total_cmp);
    Ok([seconds, errors[errors.len() / 2]])
}

/// Rigid registrations of all pairs of contrasts by each optimiser on each device.
fn all_rigid(context: &Context<'_>) -> Result<Vec<Rigid>, Error> {
    let mut all = Vec::new();
    let contrasts = &context.scene.contrasts;
    for (n, (first, fixed)) in contrasts.iter().enumerate() {
        for (second, moving) in &contrasts[n + 1..] {
            let mut values = Vec::new();
            for (optimiser, _) in OPTIMISERS {
                values.push(Some(rigid(&Cpu, false, [fixed, moving], optimiser)?));
            }
            for (optimiser, _) in OPTIMISERS {
                let on_gpu = |cuda: &Cuda| rigid(cuda, true, [fixed, moving], optimiser);
                values.push(context.cuda().map(on_gpu).transpose()?);
            }
            all.push((format!("{first}-{second}"), values));
        }
    }
    Ok(all)
}

/// A table of the rigid registrations: of their times (`what` is 0) or errors (1).
fn table_of_rigid(context: &Context<'_>, title: &str, unit: &str, what: usize) -> Result<Vec<Shown>, Error> {
    let columns: Vec<String> =
        ["CPU", "GPU"].iter().flat_map(|device| OPTIMISERS.map(|(_, name)| format!("{device}, {name}"))).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Shown::new(title, "fixed-moving", unit, &columns).drawn(Form::Bars).best(Best::Lowest);
    for (name, values) in context.rigid(|| all_rigid(context))? {
        table.row(name, values.iter().map(|both| both.map(|both| both[what])).collect());
    }
    Ok(vec![table])
}

pub fn speed(context: &Context<'_>) -> Result<Vec<Shown>, Error> {
    table_of_rigid(context, "Rigid registration by mutual information, mean of three", "s", 0)
}

pub fn tre(context: &Context<'_>) -> Result<Vec<Shown>, Error> {
    table_of_rigid(context, "Error of rigid registration by mutual information, median of three", "TRE, mm", 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::scene::Scene;

    #[test]
    fn the_error_is_that_of_the_map() {
        let (_, image) = &Scene::synthetic(6.0).contrasts[0];
        let (moving, truth) = moved(image, &TRUTHS[0]);
        assert_eq!(error(&image.grid, &truth, &truth), 0.0);
        let off = AffineTransform { translation: truth.translation + Vector3::new(3.0, 0.0, 4.0), ..truth };
        assert!((error(&image.grid, &off, &truth) - 5.0).abs() < 1e-9);
        // The centre of mass moves as the truth says.
        let centres = [image, &moving].map(|image| image.centre_of_mass().expect("a centre"));
        assert!((truth.apply(&centres[0]) - centres[1]).norm() < 1.0);
    }
}
