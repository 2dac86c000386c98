//! The HTML page of one registration: its pictures, and the contents of its JSON record as text.

use std::path::Path;

use antsreg_core::{Transform, TransformChain};
use antsreg_kernels::apply::Interpolation;
use antsreg_register::{Registration, StageOutcome, linear};
use antsreg_report::{
    Chart, Compared, ComparisonPage, Curve, Curves, Facts, File, Pictures, Reference, Section, compare,
    comparison_page, curves, histograms,
};

use super::files::PairFiles;
use super::inputs::Inputs;
use super::record::{ImageRecord, LesionRecord, Record};
use crate::Error;
use crate::words::{self, stem};

/// Names of the pictures on the HTML page of a registration: the fixed image, the moving image at the start, and the
/// warped moving image.
const NAMES: [&str; 3] = ["Fixed", "Before", "After"];

/// Draws the pictures for the HTML page of a registration. The fixed image is drawn once for all registrations to it.
pub fn pictures(files: &PairFiles, inputs: &Inputs, found: &Registration) -> Result<Pictures, Error> {
    let side = &inputs.fixed.side;
    let drawn = &inputs.fixed.drawn;
    let reference = match drawn.get() {
        Some(reference) => reference,
        None => {
            let mask = side.mask.of_stage(0).map(AsRef::as_ref);
            let reference = Reference::new(inputs.shown(0)?, mask)?;
            drawn.get_or_init(|| reference)
        }
    };
    let before = TransformChain::from(vec![Transform::Affine(found.start)]);
    let compared = Compared {
        image: inputs.shown(1)?,
        before: Some(&before),
        after: &found.forward,
        warp: found.warp(),
        interpolation: Interpolation::Linear,
        labels: inputs.moving_labels.as_ref().map(|labels| (labels, files.labels.interpolation)),
    };
    Ok(compare(reference, &compared)?)
}

/// Makes the page of a registration as HTML.
pub fn page(record: &Record, found: &Registration, pictures: &Pictures) -> Result<String, Error> {
    let facts = facts(record);
    let charts = charts(found, pictures)?;
    let page = ComparisonPage { facts: &facts, pictures, names: NAMES, charts: &charts };
    Ok(comparison_page(&page)?.html)
}

/// The charts on the page of a registration: histograms of both images, the cost of each level of the affine stage, and
/// the energy of the deformable stage.
fn charts(found: &Registration, pictures: &Pictures) -> Result<Vec<Chart>, Error> {
    let mut charts = vec![Chart {
        title: "Intensities".into(),
        svg: histograms(["fixed", "moving, after"], &pictures.histograms)?,
        note: "Intensities in the slices that this page shows, without black pixels. Each image has its own range."
            .into(),
    }];
    let linear: Vec<&linear::Outcome> = found.outcomes.iter().filter_map(linear_outcome).collect();
    if let Some(first) = linear.first() {
        let levels: Vec<String> = first.levels.iter().map(|(mm, _)| mm.to_string()).collect();
        let x = format!("level: {} mm", levels.join(", "));
        let curves_of: Vec<Curve> = linear.iter().zip(1..).map(|(outcome, n)| cost_curve(outcome, n)).collect();
        let svg = curves(&Curves { x: &x, y: "cost", from_zero: false, curves: &curves_of })?;
        let note = "Cost at the end of each level of the affine stage, coarse to fine. A finer level can have a higher cost: it \
                    compares more detail.";
        charts.push(Chart { title: "Affine stage".into(), svg, note: note.into() });
    }
    let mut done = 0.0;
    let mut energies = Vec::new();
    for (n, level) in found.levels().enumerate().filter(|(_, level)| !level.energies.is_empty()) {
        let points: Vec<(f64, f64)> =
            level.energies.iter().zip(1..).map(|(energy, n)| (done + f64::from(n), *energy)).collect();
        done += points.len() as f64;
        energies.push(Curve {
            name: format!("{}: ÷ {}", n + 1, level.shrink),
            points,
            marks: level.energies.len() == 1,
        });
    }
    if !energies.is_empty() {
        let svg = curves(&Curves { x: "iteration", y: "energy", from_zero: false, curves: &energies })?;
        let note = "Energy of each iteration of the deformable stage, by level and its shrink factor; lower is better. Energies \
                    of different levels cannot be compared.";
        charts.push(Chart { title: "Deformable stage".into(), svg, note: note.into() });
    }
    Ok(charts)
}

fn linear_outcome(outcome: &StageOutcome) -> Option<&linear::Outcome> {
    match outcome {
        StageOutcome::Linear(outcome) => Some(outcome),
        StageOutcome::Deformable(_) => None,
    }
}

/// The curve of a chart: the cost of the nth linear stage at the end of each level.
fn cost_curve(outcome: &linear::Outcome, n: usize) -> Curve {
    let points = outcome.levels.iter().zip(1..).map(|((_, cost), level)| (f64::from(level), *cost)).collect();
    Curve { name: format!("stage {n}"), points, marks: true }
}

/// Texts and measures that the HTML page shows, from the JSON record of the registration.
fn facts(record: &Record) -> Facts {
    let Record { inputs, similarity, .. } = record;
    let mut highlights = Vec::new();
    let mut highlight = |value: String, what: &str| highlights.push([value, what.to_owned()]);
    if let Some(verdict) = &record.verdict {
        highlight(verdict.judgement.to_string(), "verdict");
    }
    if let (Some(start), Some(now)) = (similarity.correlation_at_start, similarity.correlation) {
        highlight(format!("{start:.3} → {now:.3}"), "correlation, before → after");
    }
    if let Some(overlap) = &record.overlap {
        highlight(format!("{:.3}", overlap.mean_dice), "mean Dice of the labels");
    }
    if let Some(head) = &record.head {
        highlight(format!("{:.0} cm³", head.brain_cm3), "volume of the brain");
    }
    if let Some(jacobian) = &record.jacobian {
        highlight(format!("{:.2} to {:.2}", jacobian.warp.minimum, jacobian.warp.maximum), "Jacobian of the warp");
        highlight(jacobian.warp.folded.to_string(), "folded voxels");
    }
    if let Some(now) = record.coverage.now {
        highlight(format!("{:.0} %", 100.0 * now), "share of the fixed image covered by the moving image");
    }
    highlight(format!("{:.1} s", record.seconds.total), "in all");
    let name = |image: &ImageRecord| stem(&image.path);
    Facts {
        title: format!("{} onto {}", name(&inputs.moving), name(&inputs.fixed)),
        subtitle: format!("Registration on {}", record.device),
        highlights,
        warnings: record
            .verdict
            .iter()
            .flat_map(|verdict| &verdict.reasons)
            .chain(&record.warnings)
            .cloned()
            .collect(),
        sections: sections(record),
        command: words::command(&record.command_line),
        files: files(record),
        details: details(record),
        program: format!("{} {}", record.program, record.version),
    }
}

fn sections(record: &Record) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut section = |title: &str, rows: Vec<Option<(&str, String)>>| {
        let rows: Vec<[String; 2]> =
            rows.into_iter().flatten().map(|(name, value)| [name.to_owned(), value]).collect();
        if !rows.is_empty() {
            sections.push(Section { title: title.into(), rows });
        }
    };
    let four = |value: f64| format!("{value:.4}");
    let percent = |value: f64| format!("{:.1} %", 100.0 * value);
    let seconds = |value: f64| format!("{value:.2} s");
    let Record { inputs, similarity, coverage, linear, jacobian, syn, overlap, seconds: times, .. } = record;
    section(
        "Agreement",
        vec![
            similarity.correlation_at_start.map(|value| ("correlation before", four(value))),
            similarity.correlation.map(|value| ("correlation after", four(value))),
            coverage.at_start.map(|value| ("fixed image inside moving image, before registration", percent(value))),
            coverage.now.map(|value| ("fixed image inside moving image, after registration", percent(value))),
            linear.as_ref().map(|linear| ("cost of the affine stage", four(linear.cost))),
            overlap.as_ref().map(|overlap| ("labels scored", overlap.labels.to_string())),
            overlap.as_ref().map(|overlap| ("mean Dice", four(overlap.mean_dice))),
            overlap.as_ref().map(|overlap| ("mean Jaccard", four(overlap.mean_jaccard))),
            overlap.as_ref().map(|overlap| ("total Dice", four(overlap.total_dice))),
        ],
    );
    if let Some(verdict) = &record.verdict {
        let measures = verdict.measures.iter().flat_map(|measures| measures.named());
        let measures = measures.map(|(name, value)| Some((name, format!("{value:.3}"))));
        let probability = Some(("probability that the result is right", format!("{:.3}", verdict.probability)));
        section("Verdict", std::iter::once(probability).chain(measures).collect());
    }
    let brain = record.head.as_ref().and_then(|head| head.found.as_ref());
    section(
        "Brain",
        vec![
            record.head.as_ref().map(|head| ("volume", format!("{:.0} cm³", head.brain_cm3))),
            brain.map(|brain| {
                ("surface area, relative to a ball of equal volume", format!("{:.2}", brain.surface_ratio))
            }),
            brain.map(|brain| ("correlation with the template's head", four(brain.correlation))),
            brain.map(|brain| ("overlap with the template's brain", four(brain.agreement))),
        ],
    );
    let extracted = ["fixed image", "moving image"].into_iter().zip(&record.brains);
    let extracted = extracted.map(|(side, brain)| {
        let brain = brain.as_ref()?;
        Some((side, format!("{:.0} cm³, found by {}", brain.volume_cm3, brain.found.contrast)))
    });
    section("Brains registered in the place of heads", extracted.collect());
    let lesion = |lesion: &LesionRecord| format!("{:.1} cm³, not compared", lesion.volume_cm3);
    section(
        "Lesions",
        vec![
            inputs.fixed_lesion.as_ref().map(|found| ("fixed image", lesion(found))),
            inputs.moving_lesion.as_ref().map(|found| ("moving image", lesion(found))),
        ],
    );
    let white_matter = record.white_matter.as_ref().map(|found| ("volume", format!("{:.0} mL", found.volume_ml)));
    section("White matter found in the fixed image", vec![white_matter]);
    let jacobian = jacobian.as_ref();
    section(
        "Deformation",
        vec![
            jacobian.map(|found| ("Jacobian of the warp", found.warp.to_string())),
            jacobian.map(|found| ("Jacobian of the inverse warp", found.inverse_warp.to_string())),
            jacobian
                .map(|found| ("inverse consistency: warp, then inverse warp", found.warp_then_inverse.to_string())),
            jacobian
                .map(|found| ("inverse consistency: inverse warp, then warp", found.inverse_then_warp.to_string())),
            syn.as_ref().map(|syn| ("rounds of relaxing", syn.relaxing_rounds.to_string())),
            syn.as_ref()
                .map(|syn| ("voxels that fold or are inconsistent after relaxation", syn.beyond_limits.to_string())),
            syn.as_ref().map(|syn| ("levels", syn.levels.iter().map(level).collect::<Vec<_>>().join("; "))),
        ],
    );
    let gigabytes = |bytes: f64| format!("{:.2} GB", bytes / 1e9);
    let on_device = record.device_memory.and_then(|memory| memory.taken_bytes);
    section(
        "Time and memory",
        vec![
            Some(("in all", seconds(times.total))),
            Some(("reading", seconds(times.read))),
            times.preparing.map(|value| ("shading, brain", seconds(value))),
            times.linear.map(|value| ("affine stage", seconds(value))),
            times.syn.map(|value| ("deformable stage", seconds(value))),
            Some(("outputs", seconds(times.outputs))),
            Some(("device", record.device.to_string())),
            Some(("threads", record.threads.to_string())),
            record.peak_memory_bytes.map(|bytes| ("peak memory", gigabytes(bytes as f64))),
            on_device.map(|bytes| ("memory used on the device", gigabytes(bytes as f64))),
        ],
    );
    sections
}

/// Describes a level of the deformable stage as text.
fn level(level: &super::SynLevel) -> String {
    let end = match (level.undone, level.converged) {
        (true, _) => ", undone",
        (false, true) => ", converged",
        (false, false) => "",
    };
    format!("÷ {}: {} iterations{end}", level.shrink, level.iterations)
}

/// Lists all files that a registration read and wrote.
fn files(record: &Record) -> Vec<File> {
    let inputs = &record.inputs;
    let file = |role: &str, path: &Path, detail: String| File {
        role: role.into(),
        path: path.display().to_string(),
        detail,
    };
    let bias = record.parameters.bias;
    let image = |role: &str, image: &ImageRecord, corrected: bool| {
        let (shape, spacing) =
            (image.shape.map(|n| n.to_string()), image.spacing_mm.map(|mm| crate::geometry::rounded(mm).to_string()));
        let corrected = if corrected { ", shading removed" } else { "" };
        let (shape, spacing) = (shape.join(" × "), spacing.join(" × "));
        let detail = format!("{shape} voxels of {spacing} mm, {}{corrected}", image.orientation);
        file(role, &image.path, detail)
    };
    let mut files =
        vec![image("fixed image", &inputs.fixed, bias.fixed()), image("moving image", &inputs.moving, bias.moving())];
    for [fixed, moving] in &inputs.channels {
        files.extend([image("fixed channel", fixed, bias.fixed()), image("moving channel", moving, bias.moving())]);
    }
    let carried = record.head.iter().flat_map(|head| &head.carried);
    files.extend(carried.map(|image| file("brought along", &image.path, String::new())));
    let others = [
        ("fixed mask", &inputs.fixed_mask),
        ("white matter", &inputs.white_matter),
        ("moving mask", &inputs.moving_mask),
        ("fixed labels", &inputs.fixed_labels),
        ("moving labels", &inputs.moving_labels),
    ];
    files.extend(others.into_iter().filter_map(|(role, path)| Some(file(role, path.as_deref()?, String::new()))));
    for (role, lesion) in [("fixed lesion", &inputs.fixed_lesion), ("moving lesion", &inputs.moving_lesion)] {
        let paths = lesion.iter().flat_map(|lesion| &lesion.paths);
        files.extend(paths.map(|path| file(role, path, String::new())));
    }
    let written = record.files_written.iter().map(|written| file("written", &written.path, size(written.bytes)));
    files.extend(written);
    files
}

/// A number of bytes as text, with its unit.
fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes < 1e3 => format!("{bytes} bytes"),
        bytes if bytes < 1e6 => format!("{:.1} kB", bytes / 1e3),
        bytes => format!("{:.1} MB", bytes / 1e6),
    }
}

/// The affine transform and all parameters of a registration, as text for the page.
fn details(record: &Record) -> Vec<[String; 2]> {
    let row = |row: &[f64; 4]| row.map(|value| format!("{value:>14.8}")).join(" ");
    let affine = record.affine_ras.iter().map(row).collect::<Vec<_>>().join("\n");
    let mut details = vec![["Affine transform, fixed → moving, RAS mm".into(), affine]];
    // The parameters of a registration contain only numbers and names, so writing them as JSON cannot fail.
    details.extend(serde_json::to_string_pretty(&record.parameters).ok().map(|json| ["All parameters".into(), json]));
    details
}
