//! Luo et al. 2015: FLIRT and SyN on CPU and GPU, and the correlation by textures and surfaces.

use antsreg_core::{Transform, TransformChain};
use antsreg_kernels::{CcDerivative, CcKernels, Cpu, Cuda};
use antsreg_linear::{Cost, Dof};

use super::context::{Context, DEFORMED};
use super::registrations::{self, RADIUS};
use super::shown::{Best, Form, Shown};
use crate::error::Error;

/// Radii of the correlation window: those of the tiled kernels, and the largest of the paper.
const RADII: [usize; 7] = [1, 2, 3, 4, 5, 6, 8];

/// Affine registration by the correlation ratio, by the number of voxels.
pub fn flirt(context: &Context<'_>) -> Result<Vec<Shown>, Error> {
    let columns = ["CPU, s", "GPU, s", "CPU / GPU"];
    let mut table =
        Shown::new("Affine registration by the correlation ratio", "voxels of the fixed image", "", &columns);
    let options = registrations::options(Cost::CorrelationRatio, Dof::Affine12);
    let last = context.scene.pairs.len() - 1;
    for (n, [fixed, moving]) in context.scene.pairs.iter().enumerate() {
        let [cpu, gpu] = if n == last {
            context.affine(0)?.each_ref().map(|run| run.as_ref().map(|run| run.seconds))
        } else {
            let on_gpu = |cuda: &Cuda| registrations::linear(cuda, true, [fixed, moving], &options);
            let cpu = registrations::linear(&Cpu, false, [fixed, moving], &options)?.seconds;
            [Some(cpu), context.cuda().map(on_gpu).transpose()?.map(|run| run.seconds)]
        };
        let ratio = cpu.zip(gpu).map(|(cpu, gpu)| cpu / gpu);
        table.row(fixed.voxels.len().to_string(), vec![cpu, gpu, ratio]);
    }
    Ok(vec![table])
}

/// SyN with the paper's radius, and one call of the correlation by radius, derivative and kernels.
pub fn syn(context: &Context<'_>) -> Result<Vec<Shown>, Error> {
    let title = format!("SyN with radius {RADIUS}");
    let mut whole = Shown::new(
        &title,
        "where",
        "",
        &["whole, s", "correlation, s", "correlation, %", "speedup", "speedup of the correlation"],
    );
    let all = context.deformed()?;
    let cpu = all[0].as_ref().map(|run| (run.seconds, run.cc_seconds));
    for (name, run) in DEFORMED.iter().zip(all) {
        let of = |value: fn(&registrations::Deformed) -> f64| run.as_ref().map(value);
        let (seconds, cc) = (of(|run| run.seconds), of(|run| run.cc_seconds));
        let share = cc.zip(seconds).map(|(cc, seconds)| 100.0 * cc / seconds);
        let faster = |own: Option<f64>, of_cpu: Option<f64>| Some(of_cpu? / own?);
        let speedups = [faster(seconds, cpu.map(|cpu| cpu.0)), faster(cc, cpu.map(|cpu| cpu.1))];
        whole.row(*name, [seconds, cc, share].into_iter().chain(speedups).collect());
    }
    let mut tables = vec![whole];
    let [fixed, moving] = context.scene.pair();
    let moving = super::scene::on(moving, &fixed.grid);
    for derivative in [CcDerivative::Centre, CcDerivative::Exact] {
        let title = format!("One call of the correlation, derivative `{derivative}`");
        let mut table = Shown::new(&title, "radius, voxels", "ms", &DEFORMED)
            .drawn(Form::Lines { log_x: false, log_y: true })
            .best(Best::Lowest);
        for radius in RADII {
            let parameters = |kernels| registrations::cc(radius, derivative, kernels);
            let pair = [fixed, &moving];
            let cpu = registrations::correlation(&Cpu, pair, &parameters(CcKernels::Tiled))?;
            let on_gpu = |kernels| {
                let fits = parameters(kernels).fits_a_gpu(false);
                let own =
                    kernels == CcKernels::Textures || radius <= antsreg_kernels::CcParameters::MOST_TILED_RADIUS;
                let cuda = context.cuda().filter(|_| fits && own);
                cuda.map(|cuda| registrations::correlation(cuda, pair, &parameters(kernels))).transpose()
            };
            let all = [Some(cpu), on_gpu(CcKernels::Tiled)?, on_gpu(CcKernels::Textures)?];
            table.row(radius.to_string(), all.map(|seconds| seconds.map(|s| 1e3 * s)).into());
        }
        tables.push(table);
    }
    Ok(tables)
}

/// A table with a column for each registration: after the affine alone, and by SyN on each device.
fn of_each(
    context: &Context<'_>,
    title: &str,
    row: &str,
    unit: &str,
    measure: impl Fn(&TransformChain) -> Result<f64, Error>,
) -> Result<Vec<Shown>, Error> {
    let columns = [["affine alone"].as_slice(), &DEFORMED].concat();
    let mut table = Shown::new(title, "", unit, &columns).drawn(Form::Bars);
    let affine = context.affine(0)?[0].as_ref().ok_or(Error::NotMeasured)?.transform;
    let mut values = vec![Some(measure(&TransformChain::from(vec![Transform::Affine(affine)]))?)];
    for run in context.deformed()? {
        values.push(run.as_ref().map(|run| measure(&run.chain)).transpose()?);
    }
    table.row(row, values);
    Ok(vec![table])
}

/// Jaccard index of labels after SyN.
pub fn overlap(context: &Context<'_>) -> Result<Vec<Shown>, Error> {
    let Some(labels) = &context.scene.labels else {
        return Ok(vec![Shown::new("No label maps were given", "", "", &[])]);
    };
    let title = format!("Jaccard index of labels, SyN with radius {RADIUS}");
    of_each(context, &title, "mean over labels", "Jaccard index", |chain| registrations::jaccard(labels, chain))
}

/// Mean absolute difference after SyN.
pub fn mad(context: &Context<'_>) -> Result<Vec<Shown>, Error> {
    let title = format!("Mean absolute difference, SyN with radius {RADIUS}");
    of_each(context, &title, "the pair", "MAD, % of the range", |chain| Ok(context.differences(chain)[1]))
}
