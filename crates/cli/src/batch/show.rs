//! The plan and the outcome of `batch` in words.

use std::fmt::Write;

use antsreg_pool::StageThreads;
use serde_json::Value;

use super::args::Args;
use super::summary::{Row, Status};

use crate::device::Description;
use crate::geometry;
use crate::register::{self, FixedInputs, Plan, memory};

/// What would be done.
pub fn plan(
    args: &Args,
    fixed: &FixedInputs,
    plan: &Plan,
    devices: &[Description],
    stage_threads: StageThreads,
    rows: &[Row],
) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "Fixed    {}: {}", args.first_fixed().display(), geometry::describe(&fixed.image.grid));
    for (further, files) in fixed.channels.iter().zip(args.shared().channels) {
        let described = geometry::describe(&further.grid);
        let _ = writeln!(text, "Channel  {}: {described}, weight {}", files.fixed.display(), files.weight);
    }
    let _ = writeln!(text, "Start    {}", fixed.start);
    for device in devices {
        let _ = writeln!(text, "Worker   {device}");
    }
    // Of subjects on the grid of the fixed image.
    let grid = &fixed.image.grid;
    let subject = (1 + fixed.channels.len()) * memory::subject(grid, args.fixed_labels.is_some());
    let most = stage_threads.most_jobs(devices.len());
    let bytes = memory::estimate(grid, grid, usize::from(fixed.mask.is_some()), plan.syn.as_ref()) + most * subject;
    let _ = writeln!(text, "Memory   about {:.2} GB, for up to {most} subjects at once", bytes as f64 / 1e9);
    text.push_str(&register::stages(plan));
    let _ = writeln!(text, "\nSubjects");
    for row in rows {
        let note = match row.status {
            Status::Skipped => "  (done already)",
            _ if row.files.record.exists() => "  (will be replaced)",
            _ => "",
        };
        let _ = writeln!(text, "  {}: {}{note}", row.subject, row.files.record.with_file_name("").display());
    }
    text
}

/// What is timed of a subject, and where its record has it.
const PARTS: [(&str, &str); 4] = [
    ("read", "/seconds/read"),
    ("affine", "/seconds/linear"),
    ("syn", "/seconds/syn"),
    ("outputs", "/seconds/outputs"),
];

/// A subject that is done, on a line.
pub fn done(record: &Value) -> String {
    let number = |pointer: &str| record.pointer(pointer).and_then(Value::as_f64);
    let mut text = format!("{:.2} s", number("/seconds/total").unwrap_or(0.0));
    for (name, pointer) in PARTS {
        if let Some(seconds) = number(pointer) {
            text.push_str(&format!(", {name} {seconds:.2}"));
        }
    }
    for (name, pointer) in [("cost", "/linear/cost"), ("mean Jaccard", "/overlap/mean_jaccard")] {
        if let Some(value) = number(pointer) {
            text.push_str(&format!("; {name} {value:.4}"));
        }
    }
    text
}

/// All of them together.
pub fn outcome(rows: &[Row], wall: f64, busy: f64) -> String {
    let count = |wanted: fn(&Status) -> bool| rows.iter().filter(|row| wanted(&row.status)).count();
    let done = count(|status| *status == Status::Done);
    let (skipped, failed) = (count(|status| *status == Status::Skipped), count(|s| matches!(s, Status::Failed(_))));
    let mut text = format!("Subjects  {done} done, {skipped} skipped, {failed} failed\n");
    if done > 0 {
        let rate = done as f64 / wall;
        text.push_str(&format!(
            "Seconds   {wall:.2}: {rate:.2} subjects a second, workers computing {:.0} % of it\n",
            100.0 * busy
        ));
        let mean = |(name, pointer): &(&str, &str)| {
            let of_row = |row: &Row| row.record.pointer(pointer).and_then(Value::as_f64);
            let values: Vec<f64> = rows.iter().filter(|row| row.status == Status::Done).filter_map(of_row).collect();
            // A stage that was left out has no time.
            (!values.is_empty()).then(|| format!("{name} {:.2}", values.iter().sum::<f64>() / values.len() as f64))
        };
        let means: Vec<String> = PARTS.iter().filter_map(mean).collect();
        text.push_str(&format!("On average {} s a subject\n", means.join(", ")));
    }
    text
}
