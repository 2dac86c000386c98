//! Li et al. 2015: schemes of the correlation ratio, the whole application, sorting, weighting.

use antsreg_core::{AffineTransform, Transform, TransformChain, Volume};
use antsreg_kernels::{Backend, Cpu};
use nalgebra::Rotation3;

use super::context::{COSTS, Context};
use super::shown::{Best, Form, Shown};
use super::timing::median_seconds;
use crate::error::Error;
use crate::histograms::Part;
use crate::histograms::plot::Figure;
use crate::histograms::reference::Reference;
use crate::histograms::subject::How;
use crate::histograms::table::mi_settings;
use crate::schemes::{CrScheme, MiScheme, Settings};

/// The schemes of the paper, in its order.
const SCHEMES: [CrScheme; 6] = [
    CrScheme::GlobalAtomic,
    CrScheme::GlobalMerge,
    CrScheme::SharedAtomic,
    CrScheme::SharedMerge,
    CrScheme::SharedWarp,
    CrScheme::ConflictFree,
];

/// The settings at which a scheme is compared: those of the paper's figures, and its best segment on Kepler.
fn settings(scheme: CrScheme) -> Settings {
    let usual = Settings::default();
    match scheme {
        CrScheme::GlobalMerge => Settings { blocks: Some(128), ..usual },
        CrScheme::Slabs | CrScheme::Skipping => Settings { blocks: None, ..usual },
        _ => usual,
    }
}

fn shown(figures: Option<Vec<Figure<'static>>>) -> Option<Vec<Shown>> {
    figures.map(|all| all.iter().map(|figure| Shown::of_figure(figure, Best::Lowest)).collect())
}

pub fn scene(context: &Context<'_>) -> Vec<Shown> {
    let columns = ["voxels along x", "y", "z", "mm along x", "y", "z"];
    let title = format!("Images: {}", context.scene.name);
    let mut table = Shown::new(&title, "image", "", &columns);
    let [fixed, moving] = context.scene.pair();
    let all = [("fixed", fixed), ("moving", moving)].into_iter().map(|(name, image)| (name.to_owned(), image));
    for (name, image) in all.chain(context.scene.contrasts.iter().map(|(name, image)| (name.clone(), image))) {
        let shape = image.grid.shape.map(|n| Some(n as f64));
        let spacing = (0..3).map(|axis| Some(image.grid.spacing[axis]));
        table.row(name, shape.into_iter().chain(spacing).collect());
    }
    vec![table]
}

pub fn blocks(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    context.figures("li-blocks", Part::LiBlocks).map(shown)
}

pub fn threads(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    context.figures("li-threads", Part::LiThreads).map(shown)
}

pub fn bins(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    context.figures("li-bins", Part::LiBins).map(shown)
}

pub fn segment(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    context.figures("li-segment", Part::LiSegment).map(shown)
}

pub fn weighting(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    context.figures("li-weighting", Part::LiWeighting).map(shown)
}

pub fn accuracy(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    let figures = context.figures("li-accuracy", Part::LiAccuracy)?;
    Ok(figures.map(|all| all.iter().map(|figure| Shown::of_figure(figure, Best::None)).collect()))
}

/// One evaluation by each scheme of the paper and by ours, with its deviation from double precision.
pub fn schemes(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    let Some((setup, brain)) = context.gpu.as_ref().and_then(|gpu| Some((&gpu.setup, gpu.setup.brain.as_ref()?)))
    else {
        return Ok(None);
    };
    let filtered = setup.histograms.pair(&brain.fixed, brain.values(How::Filtered, 0.0), 256)?;
    let exact = setup.histograms.pair(&brain.fixed, brain.values(How::Exact, 0.0), 256)?;
    let reference = Reference::new(brain, How::Exact, 256);
    let mut table =
        Shown::new("One evaluation, 256 bins", "scheme", "µs; share of the largest sum", &["µs", "deviation"]);
    for scheme in SCHEMES.into_iter().chain([CrScheme::Slabs, CrScheme::Skipping]) {
        let seconds = setup.time_cr(&filtered, scheme, &settings(scheme))?;
        let deviation = reference.compare_sums(scheme, &setup.sums(&exact, scheme, &settings(scheme))?).0;
        table.row(scheme.name(), vec![seconds.map(|s| 1e6 * s), Some(deviation)]);
    }
    Ok(Some(vec![table]))
}

/// The number of threads and of blocks with the shortest time, from the sweeps of Figures 6 to 11.
pub fn settings_of_the_sweeps(threads: &Figure<'_>, blocks: &Figure<'_>) -> Shown {
    let best = |figure: &Figure<'_>, scheme: CrScheme| {
        let curve = figure.curves.iter().find(|curve| curve.name == scheme.name())?;
        curve.points.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|point| point.0)
    };
    let mut table = Shown::new("Settings with the shortest time", "scheme", "", &["threads", "blocks"]);
    for scheme in SCHEMES {
        let of_blocks = if scheme == CrScheme::ConflictFree { None } else { best(blocks, scheme) };
        table.row(scheme.name(), vec![best(threads, scheme), of_blocks]);
    }
    table
}

pub fn settings_table(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    let threads = context.figures("li-threads", Part::LiThreads)?;
    let blocks = context.figures("li-blocks", Part::LiBlocks)?;
    let first = |figures: Option<Vec<Figure<'static>>>| figures.and_then(|all| all.into_iter().next());
    Ok(first(threads).zip(first(blocks)).map(|(threads, blocks)| vec![settings_of_the_sweeps(&threads, &blocks)]))
}

/// Time of one cost at the finest level on a backend, µs.
fn cost_seconds<B: Backend>(backend: &B, [fixed, moving]: [&Volume; 2]) -> Result<f64, Error> {
    let range = fixed.range().unwrap_or((0.0, 1.0));
    let bins = backend.bin_fixed(&backend.upload(fixed.grid.shape, &fixed.voxels)?, None, range, 256)?;
    let image = backend.upload(moving.grid.shape, &moving.voxels)?;
    let turn = Rotation3::from_euler_angles(0.06, -0.04, 0.08).into_inner();
    let centre = |volume: &Volume| volume.centre_of_mass().unwrap_or_else(|| volume.grid.centre()).coords;
    let world = AffineTransform { matrix: turn, translation: centre(moving) - turn * centre(fixed) };
    let map = moving.grid.world_to_voxel().after(&world.after(&fixed.grid.voxel_to_world()));
    median_seconds(|| {
        backend.correlation_ratio(&bins, &image, None, [0.0; 3], &[map])?;
        Ok(())
    })
}

/// Whole affine registrations by each cost and device, and one evaluation by each scheme.
pub fn application(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    let mut whole =
        Shown::new("Whole affine registration", "cost", "s", &["CPU", "GPU"]).drawn(Form::Bars).best(Best::Lowest);
    for (n, (_, name)) in COSTS.iter().enumerate() {
        whole.row(*name, context.affine(n)?.iter().map(|run| run.as_ref().map(|run| run.seconds)).collect());
    }
    let mut tables = vec![whole];
    if let Some((setup, brain)) = context.gpu.as_ref().and_then(|gpu| Some((&gpu.setup, gpu.setup.brain.as_ref()?))) {
        let pair = setup.histograms.pair(&brain.fixed, brain.values(How::Filtered, 0.0), 256)?;
        let mut table =
            Shown::new("One evaluation at the finest level, 256 bins", "scheme", "µs", &["µs"]).drawn(Form::Bars);
        let mi = [
            (MiScheme::WarpShadows, "MI_Sham"),
            (MiScheme::SortCount, "MI_sort"),
            (MiScheme::Rows, "MI_Chen"),
            (MiScheme::Adaptive, "MI_Vetter"),
        ];
        for (scheme, name) in mi {
            let seconds = setup.time_joint(&pair, scheme, &mi_settings(setup, scheme))?;
            table.row(name, vec![seconds.map(|s| 1e6 * s)]);
        }
        for scheme in SCHEMES.into_iter().chain([CrScheme::Skipping]) {
            let seconds = setup.time_cr(&pair, scheme, &settings(scheme))?;
            table.row(scheme.name(), vec![seconds.map(|s| 1e6 * s)]);
        }
        tables.push(table);
    }
    Ok(Some(tables))
}

/// Time of one evaluation on the CPU divided by that of each scheme.
pub fn speedup(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    let [fixed, moving] = context.scene.pair();
    let cpu = cost_seconds(&Cpu, [fixed, moving])?;
    let mut table = Shown::new("Speedup of one evaluation over this machine's CPU", "scheme", "", &["ms", "speedup"]);
    table.row("CPU", vec![Some(1e3 * cpu), Some(1.0)]);
    if let Some((setup, brain)) = context.gpu.as_ref().and_then(|gpu| Some((&gpu.setup, gpu.setup.brain.as_ref()?))) {
        let pair = setup.histograms.pair(&brain.fixed, brain.values(How::Filtered, 0.0), 256)?;
        for scheme in SCHEMES.into_iter().chain([CrScheme::Skipping]) {
            let seconds = setup.time_cr(&pair, scheme, &settings(scheme))?;
            table.row(scheme.name(), vec![seconds.map(|s| 1e3 * s), seconds.map(|s| cpu / s)]);
        }
    }
    if let Some(cuda) = context.cuda() {
        let seconds = cost_seconds(cuda, [fixed, moving])?;
        table.row("in use, with the wait for the result", vec![Some(1e3 * seconds), Some(cpu / seconds)]);
    }
    Ok(Some(vec![table]))
}

/// RMS difference after affine registrations.
pub fn rms(context: &Context<'_>) -> Result<Vec<Shown>, Error> {
    let unit = "RMS difference, % of the range";
    let mut table = Shown::new("RMS difference after affine registration", "cost", unit, &["CPU", "GPU"])
        .drawn(Form::Bars)
        .best(Best::Lowest);
    for (n, (_, name)) in COSTS.iter().enumerate() {
        let of = |transform| context.differences(&TransformChain::from(vec![Transform::Affine(transform)]))[0];
        table.row(*name, context.affine(n)?.iter().map(|run| run.as_ref().map(|run| of(run.transform))).collect());
    }
    Ok(vec![table])
}

/// Voxels of the fixed image in each of 8 bins.
pub fn shares(context: &Context<'_>) -> Vec<Shown> {
    const BINS: usize = 8;
    let fixed = &context.scene.pair()[0];
    let (low, high) = fixed.range().unwrap_or((0.0, 1.0));
    let mut counts = [0_usize; BINS];
    for value in &fixed.voxels {
        let bin = (BINS as f32 * (value - low) / (high - low).max(f32::MIN_POSITIVE)) as usize;
        counts[bin.min(BINS - 1)] += 1;
    }
    let mut table = Shown::new("Voxels of the fixed image by bin", "bin", "", &["voxels", "%"]);
    for (bin, count) in counts.iter().enumerate() {
        let share = 100.0 * *count as f64 / fixed.voxels.len() as f64;
        table.row((bin + 1).to_string(), vec![Some(*count as f64), Some(share)]);
    }
    vec![table]
}

/// Every `step`-th voxel along each axis.
fn thinned(image: &Volume, step: usize) -> ([usize; 3], Vec<f32>) {
    let [nx, ny, nz] = image.grid.shape;
    let shape = image.grid.shape.map(|n| n.div_ceil(step));
    let rows = (0..nz).step_by(step).flat_map(|z| (0..ny).step_by(step).map(move |y| (z * ny + y) * nx));
    let voxels = rows.flat_map(|row| (0..nx).step_by(step).map(move |x| image.voxels[row + x])).collect();
    (shape, voxels)
}

fn sorting_seconds<B: Backend>(
    backend: &B,
    shape: [usize; 3],
    voxels: &[f32],
    range: (f32, f32),
) -> Result<f64, Error> {
    let image = backend.upload(shape, voxels)?;
    median_seconds(|| {
        backend.bin_fixed(&image, None, range, 256)?;
        Ok(())
    })
}

/// Time in which the voxels of each stage are assigned to bins.
pub fn sorting(context: &Context<'_>) -> Result<Vec<Shown>, Error> {
    let fixed = &context.scene.pair()[0];
    let range = fixed.range().unwrap_or((0.0, 1.0));
    let columns = ["voxels", "CPU, µs", "CPU, voxels/µs", "GPU, µs", "GPU, voxels/µs"];
    let mut table = Shown::new("Voxels assigned to bins for each stage", "stage", "", &columns);
    for (stage, step) in [8, 4, 2, 1].into_iter().enumerate() {
        let (shape, voxels) = thinned(fixed, step);
        let both =
            |seconds: Option<f64>| [seconds.map(|s| 1e6 * s), seconds.map(|s| voxels.len() as f64 / (1e6 * s))];
        let cpu = both(Some(sorting_seconds(&Cpu, shape, &voxels, range)?));
        let gpu = both(context.cuda().map(|cuda| sorting_seconds(cuda, shape, &voxels, range)).transpose()?);
        let values = [Some(voxels.len() as f64)].into_iter().chain(cpu).chain(gpu).collect();
        table.row((stage + 1).to_string(), values);
    }
    Ok(vec![table])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histograms::plot::Curve;
    use crate::papers::scene::Scene;

    #[test]
    fn the_best_settings_are_those_of_the_shortest_times() {
        let curve =
            |scheme: CrScheme, points: &[(f64, f64)]| Curve { name: scheme.name().into(), points: points.into() };
        let figure = |curves| Figure { name: "", title: String::new(), x: "", y: "", log: [true; 2], curves };
        let threads = figure(vec![curve(CrScheme::GlobalAtomic, &[(32.0, 3.0), (64.0, 1.0), (128.0, 2.0)])]);
        let blocks = figure(vec![curve(CrScheme::GlobalAtomic, &[(64.0, 1.0), (128.0, 2.0)])]);
        let table = settings_of_the_sweeps(&threads, &blocks);
        assert_eq!(table.rows[0].values, [Some(64.0), Some(64.0)]);
        assert_eq!(table.rows[5].values, [None, None]);
    }

    #[test]
    fn shares_of_bins_add_up() {
        let context = Context::new(Scene::synthetic(8.0), None);
        let table = &shares(&context)[0];
        let sum = |column: usize| table.rows.iter().filter_map(|row| row.values[column]).sum::<f64>();
        assert_eq!(sum(0), context.scene.pair()[0].voxels.len() as f64);
        assert!((sum(1) - 100.0).abs() < 1e-9);
        let every_other = thinned(&context.scene.pair()[0], 2);
        assert_eq!(every_other.0.iter().product::<usize>(), every_other.1.len());
        assert_eq!(every_other.1[1], context.scene.pair()[0].voxels[2]);
    }
}
