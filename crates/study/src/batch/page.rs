//! The page of a batch: a table of all subjects, with small pictures and links to the pages of the subjects.

use std::io::Read;
use std::path::{Path, PathBuf};

use antsreg_report::{Facts, GroupPage, Measure, Member, Worse, group_page, robust, thumbnail_in};

use super::rows::{Row, Status};
use super::summary::by_verdict;
use crate::Error;
use crate::pair::Record;
use crate::words::{self, stem};

/// Number of bytes that are read from the start of a subject's HTML page. They contain the small picture of the
/// subject.
const HEAD_BYTES: u64 = 64 << 10;

/// A measure on the HTML page of a batch of registrations: name, description, number of decimals, whether low or high
/// values are outliers. The last item is the function that reads the value from the record of a registration.
type Figure = (&'static str, &'static str, usize, Worse, fn(&Record) -> Option<f64>);

/// The measures by which the HTML page of a batch compares subjects.
const FIGURES: [Figure; 10] = [
    ("verdict", "Probability that the result is right, by the verdict.", 2, Worse::Low, |record| {
        Some(record.verdict.as_ref()?.probability)
    }),
    ("correlation", "Correlation with the fixed image after registration.", 4, Worse::Low, |record| {
        record.similarity.correlation
    }),
    ("brain, cm³", "Volume of the brain.", 0, Worse::Low, |record| {
        let extracted = record.brains[1].as_ref().map(|brain| brain.volume_cm3);
        record.head.as_ref().map(|head| head.brain_cm3).or(extracted)
    }),
    ("mean Dice", "Dice overlap of moving and fixed labels, mean over labels.", 4, Worse::Low, |record| {
        Some(record.overlap.as_ref()?.mean_dice)
    }),
    ("affine cost", "Cost of the affine stage at its end.", 4, Worse::High, |record| {
        Some(record.linear.as_ref()?.cost)
    }),
    ("covered, %", "Share of the fixed image that the moving image covers.", 1, Worse::Low, |record| {
        record.coverage.now.map(|share| 100.0 * share)
    }),
    ("Jacobian, least", "Smallest determinant of the warp's Jacobian.", 3, Worse::Low, |record| {
        Some(record.jacobian.as_ref()?.warp.minimum)
    }),
    ("Jacobian, most", "Largest determinant of the warp's Jacobian.", 3, Worse::High, |record| {
        Some(record.jacobian.as_ref()?.warp.maximum)
    }),
    ("folded voxels", "Voxels at which the warp folds.", 0, Worse::High, |record| {
        Some(record.jacobian.as_ref()?.warp.folded as f64)
    }),
    ("seconds", "Total time, reading and writing included.", 2, Worse::High, |record| Some(record.seconds.total)),
];

/// Makes the HTML page of all subjects in `folder`. `fixed` is the image that the subjects were registered to,
/// `summary` the path of their table.
///
/// # Errors
/// A page that cannot be made.
pub fn page(
    folder: &Path,
    fixed: &Path,
    summary: &Path,
    command_line: &[String],
    rows: &[Row],
) -> Result<String, Error> {
    let there = |get: fn(&Record) -> Option<f64>| rows.iter().any(|row| row.record.as_ref().and_then(get).is_some());
    let figures: Vec<&Figure> = FIGURES.iter().filter(|figure| there(figure.4)).collect();
    let measures: Vec<Measure> = figures
        .iter()
        .map(|&&(name, note, decimals, worse, _)| Measure { name: name.into(), note: note.into(), decimals, worse })
        .collect();
    let members: Vec<Member> = by_verdict(rows).into_iter().map(|row| member(folder, row, &figures)).collect();
    let facts = facts(fixed, summary, command_line, rows);
    let page = GroupPage {
        facts: &facts,
        member: "subject",
        measures: &measures,
        members: &members,
        shared: &[],
        charts: &[],
    };
    Ok(group_page(&page)?.html)
}

fn member(folder: &Path, row: &Row, figures: &[&Figure]) -> Member {
    let record = row.record.as_ref();
    let (status, failure) = match &row.status {
        Status::Done => ("done", None),
        Status::Skipped => ("skipped", None),
        Status::Failed(reason) => ("failed", Some(reason.clone())),
    };
    let page = row.names.report.as_deref().filter(|_| failure.is_none());
    let link = |page: &Path| {
        let relative = page.strip_prefix(folder).unwrap_or(page);
        relative.to_str().map(antsreg_report::link_to)
    };
    Member {
        name: row.subject.clone(),
        status: status.into(),
        failure,
        page: page.and_then(link),
        thumbnail: page.and_then(thumbnail),
        values: figures.iter().map(|figure| record.and_then(figure.4)).collect(),
        warnings: record.map(|record| record.warnings.clone()).unwrap_or_default(),
    }
}

/// The small picture in the HTML page of a subject; `None` if there is no picture. The page of the batch has a link to
/// the subject's page even without a picture.
fn thumbnail(page: &Path) -> Option<String> {
    let mut head = Vec::new();
    std::fs::File::open(page).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    thumbnail_in(&String::from_utf8_lossy(&head)).map(str::to_owned)
}

fn facts(fixed: &Path, summary: &Path, command_line: &[String], rows: &[Row]) -> Facts {
    let count = |of: fn(&Status) -> bool| rows.iter().filter(|row| of(&row.status)).count();
    let counts = [
        (count(|status| *status == Status::Done), "done"),
        (count(|status| *status == Status::Skipped), "skipped, done before"),
        (count(|status| matches!(status, Status::Failed(_))), "failed"),
    ];
    let mut highlights: Vec<[String; 2]> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| [count.to_string(), what.into()])
        .collect();
    let correlations: Vec<f64> = rows.iter().filter_map(|row| row.record.as_ref()?.similarity.correlation).collect();
    if !correlations.is_empty() {
        highlights.push([format!("{:.3}", robust::median(correlations)), "correlation, median".into()]);
    }
    let file = |role: &str, path: &Path| antsreg_report::File {
        role: role.into(),
        path: path.display().to_string(),
        detail: String::new(),
    };
    let subjects = if rows.len() == 1 { "subject" } else { "subjects" };
    Facts {
        title: format!("{} {subjects} onto {}", rows.len(), stem(fixed)),
        subtitle: "Batch of registrations to one fixed image".into(),
        highlights,
        command: words::command(command_line),
        files: vec![file("fixed image", fixed), file("table of all measures", summary)],
        program: format!("antsreg-gpu {}", env!("CARGO_PKG_VERSION")),
        ..Facts::default()
    }
}

/// The path of the summary table of a batch.
pub fn summary_name(folder: &Path) -> PathBuf {
    folder.join("summary.csv")
}

/// The path of the HTML page of a batch.
pub fn page_name(folder: &Path) -> PathBuf {
    folder.join("report.html")
}
