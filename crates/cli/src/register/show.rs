//! The plan and the outcome in words.

use std::fmt::Write;
use std::path::Path;

use antsreg_linear::{self as linear, Search};
use antsreg_syn as syn;

use super::args::Args;
use super::channels;
use super::device_memory::DeviceMemory;
use super::files::Files;
use super::found::Wanted;
use super::inputs::Inputs;
use super::plan::Plan;
use super::record::Record;
use super::settings::{Derivative, Filling, Measure, Metric, Optimiser};
use crate::presets::per_level;
use crate::{geometry, table, values};

/// What would be done, ending in the command line that says all of it.
pub fn plan(
    args: &Args,
    inputs: &Inputs,
    plan: &Plan,
    on_device: Option<&DeviceMemory>,
    files: &Files,
    threads: usize,
) -> String {
    let mut text = String::new();
    let (fixed, moving) = (&inputs.fixed.grid, &inputs.moving.grid);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "Fixed    {}: {}", args.fixed.display(), geometry::describe(fixed));
    let _ = writeln!(text, "Moving   {}: {}", args.moving.display(), geometry::describe(moving));
    let further = inputs.fixed_channels.iter().zip(&inputs.moving_channels);
    for (files, (fixed, moving)) in args.channels.iter().zip(further) {
        let metric = Metric::from(channels::channel(&args.settings, files).metric);
        let _ = writeln!(text, "Channel  {}: {}", files.fixed.display(), geometry::describe(&fixed.grid));
        let _ = writeln!(text, "         {}: {}", files.moving.display(), geometry::describe(&moving.grid));
        let _ = writeln!(text, "         {metric}, weight {}", files.weight);
    }
    for (what, path) in [("Fixed mask", &args.fixed_mask), ("Moving mask", &args.moving_mask)] {
        if let Some(path) = path {
            let _ = writeln!(text, "{what}  {}", path.display());
        }
    }
    let _ = writeln!(text, "Start    {}", inputs.start);
    let _ = writeln!(text, "Device   {}, threads {threads}", plan.device);
    let bytes = inputs.request(plan, Wanted::WARP).bytes_here();
    let _ = writeln!(text, "Memory   about {}", gigabytes(bytes));
    if let Some(DeviceMemory { planned_bytes, free_bytes, .. }) = on_device {
        let [planned, free] = [planned_bytes, free_bytes].map(|bytes| gigabytes(*bytes as usize));
        let _ = writeln!(text, "         about {planned} on the device, of {free} free");
    }
    let mut options = Vec::new();
    if let Some(linear) = &plan.linear {
        let _ = writeln!(text, "\nAffine stage: {}", Measure::from(linear.cost).words());
        let parameters = linear_options(linear, plan.slices);
        text.push_str(&list(&parameters));
        options.extend(parameters);
    }
    if let Some(syn) = &plan.syn {
        let _ = writeln!(text, "\nSyN stage: {}", metrics(syn));
        let parameters = syn_options(syn);
        text.push_str(&list(&parameters));
        options.extend(parameters);
        let mut rows = vec![
            ["  Level", "Shrink", "Grid", "Spacing, mm", "Sigma, voxels", "Iterations"].map(String::from).to_vec(),
        ];
        for (index, level) in syn.levels.iter().enumerate() {
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
        text.push_str(&table::render(&rows));
    }
    let _ = writeln!(text, "\nOutput");
    for name in files.all() {
        let note = if name.exists() { "  (will be replaced)" } else { "" };
        let _ = writeln!(text, "  {}{note}", name.display());
    }
    let _ = writeln!(text, "\nCommand\n  {}", command(args, inputs, plan, options, threads));
    text
}

/// How it came out.
pub fn outcome(record: &Record) -> String {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if let (Some(start), Some(end)) = (record.similarity.correlation_at_start, record.similarity.correlation) {
        row("Correlation with the fixed image", format!("{start:.4} at the start, {end:.4} now"));
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
    // Sentences read better from the left.
    let width = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    rows.iter().map(|row| format!("{:<width$}  {}\n", row[0], row[1])).collect()
}

/// The parameters of the stages.
pub fn stages(plan: &Plan) -> String {
    let mut text = String::new();
    if let Some(linear) = &plan.linear {
        let cost = Measure::from(linear.cost).words();
        text.push_str(&format!("\nAffine stage: {cost}\n{}", list(&linear_options(linear, plan.slices))));
    }
    if let Some(syn) = &plan.syn {
        text.push_str(&format!("\nSyN stage: {}\n{}", metrics(syn), list(&syn_options(syn))));
    }
    text
}

fn list(parameters: &[(&str, String)]) -> String {
    parameters.iter().map(|(option, value)| format!("  {option} {value}\n").replace(" \n", "\n")).collect()
}

/// The parameters of the affine stage as options; a flag has an empty value.
fn linear_options(options: &linear::Options, slices: bool) -> Vec<(&'static str, String)> {
    let mut parameters = vec![("--dof", options.dof.number(slices).to_string())];
    match options.search {
        Search::Angles(angles) => {
            let [x, y, z] = angles.range_degrees;
            parameters.push(("--search-degrees", format!("{x},{y},{z}")));
            parameters.push(("--coarse-step-degrees", angles.coarse_step_degrees.to_string()));
            parameters.push(("--fine-step-degrees", angles.fine_step_degrees.to_string()));
            if !angles.principal_axes {
                parameters.push(("--no-principal-axes", String::new()));
            }
        }
        Search::None => parameters.push(("--no-search", String::new())),
    }
    parameters.push(("--optimiser", Optimiser::from(options.optimiser).to_string()));
    parameters.push(("--cost", Measure::from(options.cost).to_string()));
    if options.cost.has_joint_histogram() {
        parameters.push(("--histogram", Filling::from(options.histogram).to_string()));
    }
    if options.cost.has_bins() {
        parameters.push(("--bins", options.bins.to_string()));
    }
    parameters.push(("--finest-mm", options.finest_mm.to_string()));
    parameters.push(("--robust-range", options.robust_shares.map(|share| share.to_string()).join(",")));
    parameters
}

/// What the diffeomorphic stage maximises.
fn metrics(options: &syn::Options) -> &'static str {
    match [syn::Metric::Cc, syn::Metric::Mattes].map(|metric| options.uses(metric)) {
        [true, true] => "windowed cross-correlation and mutual information",
        [false, true] => "mutual information",
        _ => "windowed cross-correlation",
    }
}

/// The parameters of the diffeomorphic stage as options, but for those that no metric looks at.
fn syn_options(options: &syn::Options) -> Vec<(&'static str, String)> {
    let metric = options.channels.first().map_or_else(Metric::default, |channel| channel.metric.into());
    let mut parameters = vec![
        ("--shrink-factors", per_level(&options.levels, |level| level.shrink)),
        ("--smoothing-sigmas", per_level(&options.levels, |level| level.sigma_voxels)),
        ("--iterations", per_level(&options.levels, |level| level.iterations)),
        ("--gradient-step", options.gradient_step.to_string()),
        ("--update-variance", options.update_variance.to_string()),
        ("--total-variance", options.total_variance.to_string()),
        ("--metric", metric.to_string()),
        ("--metric-bins", options.bins.to_string()),
        ("--cc-radius", options.radius.to_string()),
        ("--cc-derivative", Derivative::from(options.derivative).to_string()),
        ("--convergence-window", options.convergence.window.to_string()),
        ("--convergence-threshold", options.convergence.threshold.to_string()),
        ("--reinvert-every", per_level(&options.levels, |level| level.reinvert_every)),
        ("--noise", options.noise.to_string()),
        ("--edge-weight", options.edge_weight.to_string()),
        ("--inverse-limit", options.largest_residual_voxels.to_string()),
        ("--winsorise", options.winsorise.map_or("none".into(), |(low, high)| format!("{low},{high}"))),
    ];
    parameters.retain(|(option, _)| match *option {
        "--cc-radius" | "--cc-derivative" | "--noise" | "--edge-weight" => options.uses(syn::Metric::Cc),
        "--metric-bins" => options.uses(syn::Metric::Mattes),
        _ => true,
    });
    parameters
}

/// The command line that asks for exactly this.
fn command(
    args: &Args,
    inputs: &Inputs,
    plan: &Plan,
    mut options: Vec<(&'static str, String)>,
    threads: usize,
) -> String {
    let shown = |path: &Path| path.display().to_string();
    let settings = &args.settings;
    let mut words =
        vec![("--fixed", shown(&args.fixed)), ("--moving", shown(&args.moving)), ("--output", args.output.clone())];
    for files in &args.channels {
        let metric = Metric::from(channels::channel(settings, files).metric);
        let pair = format!("{},{},{metric},{}", shown(&files.fixed), shown(&files.moving), files.weight);
        words.push(("--channel", pair));
    }
    let optional = [
        ("--fixed-mask", &args.fixed_mask),
        ("--moving-mask", &args.moving_mask),
        ("--fixed-labels", &args.fixed_labels),
        ("--moving-labels", &args.moving_labels),
    ];
    words.extend(optional.into_iter().filter_map(|(option, path)| Some((option, shown(path.as_deref()?)))));
    words.extend(args.label_list.clone().map(|list| ("--label-list", list)));
    words.push(("--transform", settings.model().to_string()));
    words.push(("--initial-transform", inputs.start.to_string()));
    words.push(("--device", plan.device.choice().to_string()));
    if !matches!(settings.model(), super::settings::Model::Syn) {
        // The other models say the degrees of freedom themselves.
        options.retain(|(option, _)| *option != "--dof");
    }
    words.extend(options);
    // What would do nothing is refused.
    if !args.writing.no_warped {
        words.push(("--interpolation", values::name(&args.writing.interpolation)));
    }
    if args.moving_labels.is_some() {
        words.push(("--label-interpolation", values::name(&args.label_interpolation)));
    }
    words.push(("--format", values::name(&args.writing.format)));
    let flags = [
        ("--no-warped", args.writing.no_warped),
        ("--no-inverse", args.writing.no_inverse),
        ("--profile", args.profile),
    ];
    words.extend(flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| (flag, String::new())));
    words.push(("--threads", threads.to_string()));
    let words = words.iter().map(|(option, value)| match value.as_str() {
        "" => (*option).to_owned(),
        value => format!("{option} {}", quoted(value)),
    });
    format!("antsreg-gpu register {}", words.collect::<Vec<_>>().join(" "))
}

/// A word as a shell wants it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-,:+=@%".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn gigabytes(bytes: usize) -> String {
    format!("{:.2} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(super::quoted("a/b_1.nii.gz"), "a/b_1.nii.gz");
        assert_eq!(super::quoted("[a.mat,1]"), "'[a.mat,1]'");
        assert_eq!(super::quoted("it's"), r"'it'\''s'");
    }
}
