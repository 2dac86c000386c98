//! Converts a request of `antsRegistration` to stages of this program, and lists the options of ANTs that this program
//! replaces by its own methods.

use std::path::PathBuf;

use antsreg_console::Refusal;
use antsreg_core::Grid;
use antsreg_register::linear::{self, AngleSearch, Cost, Search};
use antsreg_register::{Options, Stage, WarpedImages};

use super::request::{Landmark, MetricKind, MetricRequest, Request, StageRequest, StartRequest, TransformRequest};
use super::syn;

/// The plan of a registration: a request of `antsRegistration`, expressed in options of this program.
pub struct Plan {
    /// This program's options for the registration: its stages and the requested results. The initial transform is not
    /// included, because it is read later.
    pub options: Options,
    /// Paths of fixed and moving images: those of the first metric of the command line, then those of other metrics. The
    /// warps and warped images lie on the grids of the first pair.
    pub pairs: Vec<[PathBuf; 2]>,
    /// Masks of the fixed and the moving image: none, one pair for all stages, or one pair for each stage.
    pub masks: Vec<[Option<PathBuf>; 2]>,
    /// The linear transforms among the outputs of `antsRegistration`, in the order of the requested stages.
    pub linear: Vec<LinearStage>,
    /// Whether the request has a deformable stage.
    pub deformable: bool,
    /// Descriptions of the options of ANTs that this program replaces by its own methods.
    pub replaced: Vec<String>,
}

impl Plan {
    /// The shrink factor of the last level of the last SyN stage, if the level is coarser than the fixed image.
    pub fn last_shrink(&self) -> Option<usize> {
        let last = self.options.deformable().last().and_then(|options| options.levels.last());
        last.map(|level| level.shrink).filter(|shrink| *shrink > 1)
    }
}

/// A linear transform among the outputs of `antsRegistration`, computed by one or more of the requested stages.
pub struct LinearStage {
    /// Name of this linear transform in the names of output files, such as `Rigid`, if each linear transform gets a
    /// file of its own.
    pub name: &'static str,
    /// Index of the stage of this program that computes this linear transform; `None` if no level of the requested
    /// stages has an iteration, so that the transform is the identity.
    pub stage: Option<usize>,
}

/// Converts a command line of `antsRegistration` (`request`) to stages and options of this program, the plan. `grid` is
/// the grid of the first fixed image.
///
/// # Errors
/// Stages that cannot be combined; values out of range.
pub fn plan(request: &Request, grid: &Grid) -> Result<Plan, Refusal> {
    let first_deformable = request.stages.iter().position(|stage| !stage.is_linear()).unwrap_or(request.stages.len());
    let (linear, deformable) = request.stages.split_at(first_deformable);
    if let Some(stage) = deformable.iter().find(|stage| stage.is_linear()) {
        return Err(Refusal::new(format!("--transform {}", stage.text), "a linear stage after SyN is not supported")
            .instead("put all linear stages before the SyN stages"));
    }
    if deformable.len() > 1 && !request.collapse {
        let why =
            "several SyN stages compute one common transform, which cannot be written as one file for each stage";
        return Err(Refusal::new("--collapse-output-transforms 0", why).instead("leave it out"));
    }
    let mut plan = Plan {
        options: Options {
            stages: Vec::new(),
            scores: false,
            images: None,
            inverse_warp: true,
            ..Options::default()
        },
        pairs: vec![request.stages[0].metrics[0].images.clone()],
        masks: Vec::new(),
        linear: Vec::new(),
        deformable: !deformable.is_empty(),
        replaced: Vec::new(),
    };
    let mut masks_of = Vec::new();
    let mut compared = Vec::new();
    for run in runs(linear, request) {
        let running: Vec<&StageRequest> = run.iter().filter(|stage| stage.runs()).collect();
        let Some((last, _)) = running.split_last() else {
            plan.linear.push(LinearStage { name: name(&run[run.len() - 1]), stage: None });
            continue;
        };
        let is_first = plan.options.stages.is_empty();
        plan.linear.push(LinearStage { name: name(&run[run.len() - 1]), stage: Some(plan.options.stages.len()) });
        let options = linear_options(&running, searches(request) && is_first, grid);
        let names = running.iter().map(|stage| stage.text.as_str()).collect::<Vec<_>>().join(" and ");
        let (dof, cost) = (options.dof.number(grid.is_slice()), options.cost.words());
        plan.replaced.push(format!(
            "the schedule of {names} is replaced by one search over {dof} degrees of freedom with the cost {cost}"
        ));
        if running.iter().any(|stage| stage.metrics.len() > 1) {
            plan.replaced.push(format!("for the stages {names}, all metrics are replaced by the first metric"));
        }
        plan.options.stages.push(Stage::Linear(options));
        masks_of.push(position(request, last));
        compared.push(vec![number(&mut plan.pairs, &last.metrics[0])]);
    }
    for stage in deformable {
        let mut numbers: Vec<usize> = stage.metrics.iter().map(|metric| number(&mut plan.pairs, metric)).collect();
        numbers.sort_unstable();
        compared.push(numbers);
        let options = syn::options(request, stage, &plan.pairs, grid, &mut plan.replaced)?;
        plan.options.stages.push(Stage::Deformable(options));
        masks_of.push(position(request, stage));
    }
    plan.masks = match request.masks.as_slice() {
        each @ [_, _, ..] => masks_of.into_iter().map(|n| each[n].clone()).collect(),
        all => all.to_vec(),
    };
    plan.options.images = images(request);
    plan.options.pairs = lists(compared, &plan.options.stages, plan.pairs.len());
    Ok(plan)
}

/// Returns the index of a stage among all stages of the command line.
fn position(request: &Request, stage: &StageRequest) -> usize {
    request.stages.iter().position(|other| std::ptr::eq(other, stage)).unwrap_or(0)
}

/// Returns groups of linear stages. The stages of a group are run as one stage. All linear stages are one group, unless
/// each needs an output file of its own.
fn runs<'a>(linear: &'a [StageRequest], request: &Request) -> Vec<&'a [StageRequest]> {
    match request.collapse || request.per_stage || linear.is_empty() {
        true => Some(linear).filter(|run| !run.is_empty()).into_iter().collect(),
        false => linear.chunks(1).collect(),
    }
}

/// Whether all initial transforms are translations between the centres of the images. Then the first linear stage also
/// searches for the orientation.
fn searches(request: &Request) -> bool {
    let guessed = |start: &StartRequest| matches!(start, StartRequest::Between(_, Landmark::Centre | Landmark::Mass));
    !request.starts.is_empty() && request.starts.iter().all(guessed)
}

/// Returns the options of the one linear stage that this program runs instead of the requested linear stages `stages`.
fn linear_options(stages: &[&StageRequest], search: bool, grid: &Grid) -> linear::Options {
    let dofs = stages.iter().filter_map(|stage| match stage.transform {
        TransformRequest::Linear(dof) => Some(dof),
        TransformRequest::Syn { .. } => None,
    });
    let metric = stages.last().map(|stage| stage.metrics[0].kind);
    let cost = match metric {
        Some(MetricKind::Gc) => Cost::NormalisedCorrelation,
        Some(MetricKind::MeanSquares | MetricKind::Demons) => Cost::LeastSquares,
        Some(MetricKind::Cc) => Cost::CorrelationRatio,
        Some(MetricKind::Mattes) | None => Cost::NormalisedMutualInformation,
    };
    let angles = if grid.is_slice() { AngleSearch::of_slices() } else { AngleSearch::default() };
    // Voxel size of the finest level that has iterations, mm.
    let levels = stages.iter().flat_map(|stage| &stage.levels).filter(|level| level.iterations > 0);
    let finest = levels.map(|level| level.shrink).min().unwrap_or(1) as f64 * grid.spacing.min();
    let finest_mm = linear::Options::LEVELS_MM.into_iter().find(|mm| *mm <= finest + 0.01).unwrap_or(1.0);
    linear::Options {
        dof: dofs.max().unwrap_or(linear::Dof::Affine12),
        search: if search { Search::Angles(angles) } else { Search::None },
        finest_mm,
        ..linear::Options::of(cost)
    }
}

/// Returns the name of a linear transform in the names of output files, such as `Translation`.
fn name(stage: &StageRequest) -> &'static str {
    use linear::Dof;
    match stage.transform {
        TransformRequest::Linear(Dof::Translation3) => "Translation",
        TransformRequest::Linear(Dof::Rigid6) => "Rigid",
        TransformRequest::Linear(Dof::Similarity7) => "Similarity",
        TransformRequest::Linear(_) | TransformRequest::Syn { .. } => "Affine",
    }
}

/// Returns the number of the pair of images that a metric compares, and adds the pair if it is new.
fn number(pairs: &mut Vec<[PathBuf; 2]>, metric: &MetricRequest) -> usize {
    pairs.iter().position(|pair| *pair == metric.images).unwrap_or_else(|| {
        pairs.push(metric.images.clone());
        pairs.len() - 1
    })
}

/// Returns the lists of the pairs that the stages compare, or none if linear stages compare the first pair and
/// deformable stages all `pairs` pairs.
fn lists(compared: Vec<Vec<usize>>, stages: &[Stage], pairs: usize) -> Vec<Vec<usize>> {
    let usual = |(numbers, stage): (&Vec<usize>, &Stage)| match stage {
        Stage::Linear(_) => *numbers == [0],
        Stage::Deformable(_) => numbers.iter().copied().eq(0..pairs),
    };
    if compared.iter().zip(stages).all(usual) { Vec::new() } else { compared }
}

/// The requested warped images, if the registration supports the requested interpolation. With other interpolations,
/// the warped images are computed after the registration.
fn images(request: &Request) -> Option<WarpedImages> {
    use antsreg_kernels::apply;
    use antsreg_register::Interpolation;
    let interpolation = match request.interpolation {
        apply::Interpolation::Linear => Interpolation::Linear,
        apply::Interpolation::BSpline => Interpolation::Bspline,
        apply::Interpolation::WindowedSinc(apply::Window::Lanczos) => Interpolation::Sinc,
        _ => return None,
    };
    let (warped, inverse_warped) = (request.output.warped.is_some(), request.output.inverse_warped.is_some());
    (warped || inverse_warped).then_some(WarpedImages { interpolation, warped, inverse_warped })
}
