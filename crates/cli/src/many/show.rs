//! Formats, as text, the plan and the outcome of a study (the registrations of many subjects to one fixed image).

use std::fmt::Write;

use antsreg_register::verdict::Judgement;
use antsreg_register::{Description, Grids};
use antsreg_study::batch::{Outcome, Plan, Status};
use antsreg_study::geometry;
use antsreg_study::pair::{Record, Seconds};

use crate::pair;

/// Describes, as text, what a study would do: its fixed image, subjects, options and devices.
pub fn plan<S>(plan: &Plan<S>, devices: &[Description]) -> String {
    let Plan { study, fixed, options, threads, rows, .. } = plan;
    let (mut text, grid) = (String::new(), fixed.side.grid());
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "Fixed    {}: {}", study.shared.fixed.display(), geometry::describe(grid));
    let weights = study.recipe.syn.channels.iter().skip(1);
    for ((further, files), channel) in fixed.side.channels.iter().zip(&study.shared.channels).zip(weights) {
        let described = geometry::describe(further.grid());
        let _ = writeln!(text, "Channel  {}: {described}, weight {}", files.fixed.display(), channel.weight);
    }
    let _ = writeln!(text, "Start    {}", fixed.start_file);
    for device in devices {
        let _ = writeln!(text, "Worker   {device}");
    }
    // The memory needed is estimated as if the images of all subjects had the grid of the fixed image.
    let channels = fixed.side.channel_grids();
    let subject = (1 + channels.len()) * subject_bytes(grid.len(), fixed.labels.is_some());
    let most = threads.most_jobs(devices.len());
    let grids = Grids { images: [grid, grid], channels: [channels.clone(), channels], masked: [false; 2] };
    let bytes = options.host_bytes(&grids) + most * subject;
    let _ = writeln!(text, "Memory   about {:.2} GB, for up to {most} subjects at once", bytes as f64 / 1e9);
    text.push_str(&pair::stages(options, grid.is_slice()));
    let _ = writeln!(text, "\nSubjects");
    for row in rows {
        let note = match row.status {
            Status::Skipped => "  (done already)",
            _ if row.names.record.exists() => "  (will be replaced)",
            _ => "",
        };
        let _ = writeln!(text, "  {}: {}{note}", row.subject, row.names.record.with_file_name("").display());
        let Some(job) = study.jobs.iter().find(|job| job.name == row.subject) else { continue };
        let further = job.files.channels.iter().map(|channel| &channel.moving).chain(&job.files.carried);
        for image in std::iter::once(&job.files.moving).chain(further) {
            let _ = writeln!(text, "    reads {}", image.display());
        }
    }
    text
}

/// Main memory for each further subject that is processed at the same time, bytes: its image, both warps, three
/// warped images, and labels.
fn subject_bytes(voxels: usize, labels: bool) -> usize {
    const SCALAR: usize = 4;
    voxels * SCALAR * (1 + 2 * 3 + 3 + 2 * usize::from(labels))
}

/// A function that returns the seconds of one part of a subject's processing; `None` if the part was not run.
type Part = fn(&Seconds) -> Option<f64>;

/// Names and times of the timed parts of a subject's processing: reading, shading and brain, affine stage,
/// SyN stage and outputs.
const PARTS: [(&str, Part); 5] = [
    ("read", |seconds| Some(seconds.read)),
    ("prepare", |seconds| seconds.preparing.filter(|seconds| *seconds >= 0.005)),
    ("affine", |seconds| seconds.linear),
    ("syn", |seconds| seconds.syn),
    ("outputs", |seconds| Some(seconds.outputs)),
];

/// Describes a finished subject in one line: total time and times of the parts.
pub fn done(record: &Record) -> String {
    let mut text = format!("{:.2} s", record.seconds.total);
    for (name, part) in PARTS {
        if let Some(seconds) = part(&record.seconds) {
            text.push_str(&format!(", {name} {seconds:.2}"));
        }
    }
    let cost = record.linear.as_ref().map(|linear| linear.cost);
    let jaccard = record.overlap.as_ref().map(|overlap| overlap.mean_jaccard);
    for (name, value) in [("cost", cost), ("mean Jaccard", jaccard)] {
        if let Some(value) = value {
            text.push_str(&format!("; {name} {value:.4}"));
        }
    }
    if let Some(verdict) = record.verdict.as_ref().filter(|verdict| verdict.judgement != Judgement::Sound) {
        text.push_str(&format!("; verdict {verdict}"));
    }
    if record.head.as_ref().is_some_and(|head| head.without_skull) {
        text.push_str("; no skull: the image is a brain alone");
    }
    for (side, brain) in ["fixed", "moving"].into_iter().zip(&record.brains) {
        if let Some(brain) = brain {
            text.push_str(&format!("; {side} image: its brain, {}", pair::found_brain(brain)));
        }
    }
    text
}

/// Summarises the outcome of all subjects as text: their number, speed, and mean times.
pub fn outcome(outcome: &Outcome) -> String {
    let Outcome { rows, wall, busy } = outcome;
    let count = |wanted: fn(&Status) -> bool| rows.iter().filter(|row| wanted(&row.status)).count();
    let done = count(|status| *status == Status::Done);
    let (skipped, failed) = (count(|status| *status == Status::Skipped), count(|s| matches!(s, Status::Failed(_))));
    let mut text = format!("Subjects  {done} done, {skipped} skipped, {failed} failed\n");
    if done > 0 {
        let rate = done as f64 / wall;
        let pace = match done {
            1 => String::new(),
            _ if rate < 1.0 => format!("{:.1} s a subject, ", rate.recip()),
            _ => format!("{rate:.2} subjects a second, "),
        };
        text.push_str(&format!(
            "Seconds   {wall:.2}: {pace}workers computing for {:.0} % of this time\n",
            100.0 * busy
        ));
        let records: Vec<&Record> =
            rows.iter().filter(|row| row.status == Status::Done).filter_map(|row| row.record.as_ref()).collect();
        let mean = |(name, part): &(&str, Part)| {
            let values: Vec<f64> = records.iter().filter_map(|record| part(&record.seconds)).collect();
            // The mean time of a part of the processing is over the subjects for which this part was run.
            (!values.is_empty()).then(|| format!("{name} {:.2}", values.iter().sum::<f64>() / values.len() as f64))
        };
        let means: Vec<String> = PARTS.iter().filter_map(mean).collect();
        text.push_str(&format!("On average {} s a subject\n", means.join(", ")));
    }
    text
}
