//! Formats the plan and the outcome of a registration as text for the terminal.

use std::fmt::Write;

use antsreg_register::linear::Cost;
use antsreg_register::option::{self, Shown};
use antsreg_register::syn::{self, Metric};
use antsreg_register::{Options, PlannedMemory, Stage};
use antsreg_study::geometry;
use antsreg_study::pair::{Plan, Record, WhiteMatterRecord};
use antsreg_study::skulls::ExtractedRecord;

use super::command::command;
use crate::table;

/// Says that the brain of the fixed or the moving image is registered instead of the whole head.
pub fn brain(side: &str, brain: &ExtractedRecord, automatic: bool) -> String {
    let because = if automatic {
        "; the other image shows a brain without a skull; to register the whole head, give --brain none"
    } else {
        ""
    };
    format!("{side} image: its brain is registered instead of the whole head: {}{because}", found_brain(brain))
}

/// Describes the white matter that was found in the fixed image.
pub fn white_matter(found: &WhiteMatterRecord) -> String {
    let brain = found.brain.as_ref().map_or_else(String::new, |brain| format!(" (brain: {})", found_brain(brain)));
    format!(
        "white matter: {:.0} mL, found in the fixed image{brain}; to use another segmentation, give --white-matter",
        found.volume_ml
    )
}

/// Describes an extracted brain in a few words: its volume, and the contrast of the template.
pub fn found_brain(brain: &ExtractedRecord) -> String {
    format!("{:.0} cm³, found by {}", brain.volume_cm3, brain.found.contrast)
}

/// Describes the plan of a registration as text: inputs, device, stages, outputs, and the complete command line.
pub fn plan(plan: &Plan, threads: usize) -> String {
    let Plan { request: job, inputs, options, fitted, names, .. } = plan;
    let mut text = String::new();
    let [fixed, moving] = inputs.sides();
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "Fixed    {}: {}", job.files.fixed.display(), geometry::describe(fixed.grid()));
    let _ = writeln!(text, "Moving   {}: {}", job.files.moving.display(), geometry::describe(moving.grid()));
    let further = fixed.channels.iter().zip(&moving.channels).zip(job.recipe.syn.channels.iter().skip(1));
    for (files, ((fixed, moving), channel)) in job.files.channels.iter().zip(further) {
        let _ = writeln!(text, "Channel  {}: {}", files.fixed.display(), geometry::describe(fixed.grid()));
        let _ = writeln!(text, "         {}: {}", files.moving.display(), geometry::describe(moving.grid()));
        let _ = writeln!(text, "         {}, weight {}", option::name(&channel.metric), channel.weight);
    }
    for (what, path) in [
        ("Fixed mask", &job.files.fixed_mask),
        ("White matter", &job.files.white_matter),
        ("Moving mask", &job.files.moving_mask),
    ] {
        if let Some(path) = path {
            let _ = writeln!(text, "{what}  {}", path.display());
        }
    }
    for (what, paths) in [("Fixed lesion", &job.files.fixed_lesions), ("Moving lesion", &job.files.moving_lesions)] {
        for path in paths {
            let _ = writeln!(text, "{what}  {}", path.display());
        }
    }
    let _ = writeln!(text, "Start    {}", inputs.fixed.start_file);
    let _ = writeln!(text, "Device   {}, threads {threads}", fitted.device.description());
    let _ = writeln!(text, "Memory   about {}", gigabytes(options.host_bytes(&inputs.grids())));
    if let Some(PlannedMemory { planned_bytes, free_bytes }) = fitted.memory {
        let [planned, free] = [planned_bytes, free_bytes].map(|bytes| gigabytes(bytes as usize));
        let _ = writeln!(text, "         about {planned} on the device, which has {free} of free memory");
    }
    text.push_str(&stages(options, fixed.grid().is_slice()));
    if let Some(deformable) = options.deformable().next() {
        text.push_str(&levels(deformable, fixed.grid()));
    }
    let _ = writeln!(text, "\nOutput");
    for name in names.all() {
        let note = if name.exists() { "  (will be replaced)" } else { "" };
        let _ = writeln!(text, "  {}{note}", name.display());
    }
    let _ = writeln!(text, "\nCommand\n  {}", command(plan, threads));
    text
}

/// Formats the parameters of all stages of a registration as text for the terminal.
pub fn stages(options: &Options, slices: bool) -> String {
    options
        .stages
        .iter()
        .map(|stage| {
            let title = match stage {
                Stage::Linear(options) => format!("Affine stage: {}", cost_in_words(options.cost)),
                Stage::Deformable(options) => format!("SyN stage: {}", metrics_in_words(options)),
            };
            format!("\n{title}\n{}", list(&option::shown(stage, slices)))
        })
        .collect()
}

/// Name, in words, of the cost that the affine stage minimises.
fn cost_in_words(cost: Cost) -> &'static str {
    match cost {
        Cost::CorrelationRatio => "correlation ratio",
        Cost::MutualInformation => "mutual information",
        Cost::NormalisedMutualInformation => "normalised mutual information",
        Cost::NormalisedCorrelation => "normalised correlation",
        Cost::LeastSquares => "least squares",
    }
}

/// Names of the similarity metrics that the SyN stage maximises.
fn metrics_in_words(options: &syn::Options) -> &'static str {
    match [Metric::Cc, Metric::Mattes].map(|metric| options.uses(metric)) {
        [true, true] => "windowed cross-correlation and mutual information",
        [false, true] => "mutual information",
        _ => "windowed cross-correlation",
    }
}

fn list(parameters: &[Shown]) -> String {
    parameters.iter().map(|(option, value)| format!("  {option} {value}\n").replace(" \n", "\n")).collect()
}

/// Formats the resolution levels of a deformable stage as a table: grid, voxel size, smoothing and iterations.
fn levels(options: &syn::Options, fixed: &antsreg_core::Grid) -> String {
    let header = ["  Level", "Shrink", "Grid", "Spacing, mm", "Sigma, voxels", "Iterations"];
    let mut rows = vec![header.map(String::from).to_vec()];
    for (index, level) in options.levels.iter().enumerate() {
        let grid = fixed.shrink([level.shrink; 3]);
        rows.push(vec![
            format!("  {}", index + 1),
            level.shrink.to_string(),
            grid.shape.map(|n| n.to_string()).join(" × "),
            grid.spacing.map(geometry::rounded).iter().map(f64::to_string).collect::<Vec<_>>().join(" × "),
            level.sigma_voxels.to_string(),
            level.iterations.to_string(),
        ]);
    }
    table::render(&rows)
}

/// Formats the result of a registration as a table: correlation, overlap, Jacobian determinants and times.
pub fn outcome(record: &Record) -> String {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if let Some(verdict) = &record.verdict {
        row("Verdict", verdict.to_string());
    }
    if let (Some(start), Some(end)) = (record.similarity.correlation_at_start, record.similarity.correlation) {
        row("Correlation with the fixed image", format!("{start:.4} at the start, {end:.4} at the end"));
    }
    if let Some(jacobian) = &record.jacobian {
        for (name, summary) in
            [("Jacobian of the warp", &jacobian.warp), ("Jacobian of its inverse", &jacobian.inverse_warp)]
        {
            row(name, summary.to_string());
        }
        row("Warp, then its inverse", jacobian.warp_then_inverse.to_string());
        row("The inverse, then the warp", jacobian.inverse_then_warp.to_string());
    }
    if let Some(overlap) = &record.overlap {
        row(
            "Overlap",
            format!(
                "mean Jaccard {:.4}, mean Dice {:.4} over {} labels",
                overlap.mean_jaccard, overlap.mean_dice, overlap.labels
            ),
        );
    }
    let seconds = &record.seconds;
    let stage = |name: &str, value: Option<f64>| value.map_or(String::new(), |s| format!(", {name} {s:.1}"));
    row(
        "Seconds",
        format!(
            "{:.1}: read {:.1}{}{}, outputs {:.1}",
            seconds.total,
            seconds.read,
            stage("affine", seconds.linear),
            stage("syn", seconds.syn),
            seconds.outputs
        ),
    );
    if let Some(bytes) = record.peak_memory_bytes {
        let taken = record.device_memory.and_then(|memory| memory.taken_bytes);
        let on_device = taken.map_or(String::new(), |bytes| format!(", on the device {}", gigabytes(bytes as usize)));
        row("Peak memory", gigabytes(bytes) + &on_device);
    }
    // The table of the registration's results has two columns. Both are aligned to the left, because the second column
    // contains sentences.
    let width = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    rows.iter().map(|row| format!("{:<width$}  {}\n", row[0], row[1])).collect()
}

fn gigabytes(bytes: usize) -> String {
    format!("{:.2} GB", bytes as f64 / 1e9)
}
