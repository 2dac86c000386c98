//! Converts the SyN stages of a request of `antsRegistration` to options of the SyN library.

use std::path::PathBuf;

use antsreg_console::Refusal;
use antsreg_core::Grid;
use antsreg_core::schedule::{Convergence, Level};
use antsreg_register::LEAST_VOXELS;
use antsreg_register::syn::{Channel, Counted, Metric, Options};

use super::request::{MetricKind, MetricRequest, Request, StageRequest, TransformRequest};

/// Radius of the window of CC in ANTs if the command line gives none, voxels.
const RADIUS: usize = 4;
/// Number of bins of mutual information in ANTs if the command line gives none.
const BINS: usize = 32;

/// Returns this program's options for a SyN stage that the command line requests.
///
/// # Errors
/// Metrics of one stage that differ in their radius or bins; values out of range.
pub fn options(
    request: &Request,
    stage: &StageRequest,
    pairs: &[[PathBuf; 2]],
    grid: &Grid,
    replaced: &mut Vec<String>,
) -> Result<Options, Refusal> {
    let TransformRequest::Syn { step, update_variance, total_variance, meshes: [update_mesh, total_mesh] } =
        stage.transform
    else {
        return Err(Refusal::new(&stage.text, "this transform is not SyN"));
    };
    let mut metrics: Vec<&MetricRequest> = stage.metrics.iter().collect();
    // The similarity metrics of a stage are sorted in the order of the image pairs that they compare.
    metrics.sort_by_key(|metric| pairs.iter().position(|pair| *pair == metric.images));
    if metrics.iter().any(|metric| metric.weight == 0.0) {
        let option = format!("--metric of {}", stage.text);
        return Err(
            Refusal::new(option, "a metric with the weight 0 is not supported").instead("leave this metric out")
        );
    }
    for metric in metrics.iter().filter(|metric| !matches!(metric.kind, MetricKind::Cc | MetricKind::Mattes)) {
        replaced.push(format!(
            "the metric {} of {} is replaced by CC of radius {RADIUS}",
            metric.kind.name(),
            stage.text
        ));
    }
    let sized = |mutual: bool, default: usize, what: &str| {
        let of_kind = metrics.iter().filter(|metric| (metric.kind == MetricKind::Mattes) == mutual);
        let mut sizes = of_kind.map(|metric| metric.size.unwrap_or(default));
        let first = sizes.next();
        match sizes.find(|size| Some(*size) != first) {
            None => Ok(first.unwrap_or(default)),
            Some(other) => {
                let why = format!(
                    "the metrics of this stage have different values of the {what}: {} and {other}",
                    first.unwrap_or(0)
                );
                Err(Refusal::new(format!("--metric of {}", stage.text), why)
                    .instead(format!("give all metrics of this stage the same {what}")))
            }
        }
    };
    let channel = |metric: &&MetricRequest| Channel {
        metric: if metric.kind == MetricKind::Mattes { Metric::Mattes } else { Metric::Cc },
        weight: metric.weight,
    };
    for level in &stage.levels {
        let fits = fitting_shrink(level.shrink, grid);
        if fits != level.shrink {
            let shape = grid.shape;
            replaced.push(format!(
                "shrink factor {} of {} is replaced by {fits}, because the image has {shape:?} voxels",
                level.shrink, stage.text
            ));
        }
    }
    let level = |level: &super::request::LevelRequest| Level {
        shrink: fitting_shrink(level.shrink, grid),
        sigma_voxels: if stage.sigmas_in_mm { level.sigma / grid.spacing.min() } else { level.sigma },
        iterations: level.iterations,
        reinvert_every: 1,
    };
    for mesh in [update_mesh, total_mesh].into_iter().flatten().filter(|mesh| mesh.is_too_coarse(grid)) {
        replaced.push(format!(
            "the mesh {mesh} of {} is replaced by one of at least 4 elements along each axis",
            stage.text
        ));
    }
    let most = stage.levels.iter().map(|level| level.iterations).max().unwrap_or(0);
    let options = Options {
        channels: metrics.iter().map(channel).collect(),
        gradient_step: step,
        update_variance,
        total_variance,
        update_mesh,
        total_mesh,
        radius: sized(false, RADIUS, "radius")?,
        bins: sized(true, BINS, "number of bins")?,
        restrict: restriction(stage),
        levels: stage.levels.iter().map(level).collect(),
        sigmas_mm: stage.sigmas_in_mm.then(|| stage.levels.iter().map(|level| level.sigma).collect()),
        convergence: match stage.threshold {
            // A negative threshold switches the convergence test off. For this, the window of the test gets more
            // iterations than any level has.
            threshold if threshold < 0.0 => Convergence { window: most.max(1) + 1, threshold: 0.0 },
            threshold => Convergence { window: stage.window.max(2), threshold },
        },
        winsorise: request.winsorise,
        winsorise_over: Counted::All,
        match_histograms: request.match_histograms,
        ..Options::default()
    };
    options.check().map_err(|error| Refusal::new(format!("--transform {}", stage.text), error))?;
    Ok(options)
}

/// Returns the weights for the components of updates. ITK's axes are the axes of this program with some signs changed,
/// which does not affect weights.
fn restriction(stage: &StageRequest) -> [f64; 3] {
    match stage.restrict.as_deref() {
        Some([x, y, z]) => [*x, *y, *z],
        // Displacements of slices have no third component, so its weight has no effect.
        Some([x, y]) => [*x, *y, 1.0],
        _ => [1.0; 3],
    }
}

/// The largest shrink factor up to `shrink` that leaves enough voxels along each axis of the grid.
fn fitting_shrink(shrink: usize, grid: &Grid) -> usize {
    let axes = if grid.is_slice() { 2 } else { 3 };
    let extent = grid.shape.into_iter().take(axes).min().unwrap_or(1);
    shrink.min((extent / LEAST_VOXELS).max(1))
}
