//! The table `summary.csv` of a batch, with a row for each subject.

use std::path::{Path, PathBuf};

use antsreg_core::io::outputs::write_file;
use antsreg_register::Description;

use super::rows::{Row, Status};
use crate::Error;
use crate::pair::Record;

/// A column of numbers in the table: its name, and its value in the record of a registration.
type Figure = (&'static str, fn(&Record) -> Option<f64>);

/// The first columns of a batch's summary table.
pub(super) const FIRST_COLUMNS: [&str; 3] = ["subject", "status", "reason"];

/// Columns of a batch's summary table that hold numbers.
const FIGURES: [Figure; 21] = [
    ("probability", |record| Some(record.verdict.as_ref()?.probability)),
    ("seconds", |record| Some(record.seconds.total)),
    ("seconds_reading", |record| Some(record.seconds.read)),
    ("seconds_preparing", |record| record.seconds.preparing),
    ("seconds_affine", |record| record.seconds.linear),
    ("seconds_syn", |record| record.seconds.syn),
    ("seconds_outputs", |record| Some(record.seconds.outputs)),
    ("affine_cost", |record| Some(record.linear.as_ref()?.cost)),
    ("correlation_at_start", |record| record.similarity.correlation_at_start),
    ("correlation", |record| record.similarity.correlation),
    ("brain_cm3", |record| Some(record.head.as_ref()?.brain_cm3)),
    ("lesion_cm3", |record| record.inputs.lesions_cm3()),
    ("mean_jaccard", |record| Some(record.overlap.as_ref()?.mean_jaccard)),
    ("mean_dice", |record| Some(record.overlap.as_ref()?.mean_dice)),
    ("jacobian_minimum", |record| Some(record.jacobian.as_ref()?.warp.minimum)),
    ("jacobian_maximum", |record| Some(record.jacobian.as_ref()?.warp.maximum)),
    ("folded_voxels", |record| Some(record.jacobian.as_ref()?.warp.folded as f64)),
    ("folded_voxels_inverse", |record| Some(record.jacobian.as_ref()?.inverse_warp.folded as f64)),
    ("corner_folded_voxels", |record| Some(record.jacobian.as_ref()?.warp.corner_folded as f64)),
    ("corner_folded_voxels_inverse", |record| Some(record.jacobian.as_ref()?.inverse_warp.corner_folded as f64)),
    ("voxels_beyond_limits", |record| Some(record.syn.as_ref()?.beyond_limits as f64)),
];

/// Columns of a batch's summary table that hold text.
const TEXTS: [&str; 6] = ["verdict", "reasons", "energies", "undone_levels", "warnings", "device"];

/// Columns of a batch's summary table that hold paths of files.
const FILES: [&str; 10] = [
    "affine",
    "warp",
    "inverse_warp",
    "composite",
    "inverse_composite",
    "warped",
    "inverse_warped",
    "labels",
    "overlap",
    "record",
];

/// Writes the summary table of a batch.
///
/// # Errors
/// A file that cannot be written.
pub fn write_summary(path: &Path, rows: &[Row]) -> Result<(), Error> {
    let wrap = |source| Error::Table { path: path.into(), source };
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = FIRST_COLUMNS.into_iter().chain(FIGURES.map(|(name, _)| name));
    writer.write_record(names.chain(TEXTS).chain(FILES)).map_err(wrap)?;
    for row in rows {
        writer.write_record(cells(row)).map_err(wrap)?;
    }
    let text = writer.into_inner().map_err(|error| wrap(error.into_error().into()))?;
    Ok(write_file(path, &text)?)
}

/// The rows in the order of their verdicts, the worst first, otherwise in the order of the subjects. Rows without a
/// verdict come last.
pub(super) fn by_verdict(rows: &[Row]) -> Vec<&Row> {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    let rank = |row: &&Row| {
        let verdict = row.record.as_ref().and_then(|record| record.verdict.as_ref());
        verdict.map_or(3, |verdict| verdict.judgement as u8)
    };
    sorted.sort_by_key(rank);
    sorted
}

fn cells(row: &Row) -> Vec<String> {
    let (status, reason) = match &row.status {
        Status::Done => ("done", ""),
        Status::Skipped => ("skipped", ""),
        Status::Failed(reason) => ("failed", reason.as_str()),
    };
    let mut cells = vec![row.subject.clone(), status.to_owned(), no_formula(reason)];
    let record = row.record.as_ref();
    let figure =
        |get: fn(&Record) -> Option<f64>| record.and_then(get).map_or(String::new(), |value| value.to_string());
    cells.extend(FIGURES.iter().map(|(_, get)| figure(*get)));
    match record {
        Some(record) => cells.extend(texts(record)),
        None => cells.extend(TEXTS.map(|_| String::new())),
    }
    // A failed subject has no output files, so its cells for paths in the summary table stay empty.
    let there = !matches!(row.status, Status::Failed(_));
    let names = &row.names;
    let transforms = [&names.affine, &names.warp, &names.inverse_warp, &names.composite, &names.inverse_composite];
    let others = [&names.warped, &names.inverse_warped, &names.labels, &names.overlap];
    let files = transforms.into_iter().chain(others).map(Option::as_ref).chain([Some(&names.record)]);
    let shown =
        |file: Option<&PathBuf>| file.filter(|_| there).map_or(String::new(), |path| path.display().to_string());
    cells.extend(files.map(shown));
    cells
}

/// Puts an apostrophe before a text that spreadsheets would read as a formula. A reason for a failure begins with the
/// name of a file, which may have any first character.
fn no_formula(text: &str) -> String {
    let quote = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("{quote}{text}")
}

/// The texts that the table shows from a subject's record: the verdict and its reasons; the last energy of each level,
/// coarsest first; the number of levels whose result was discarded (undone); warnings; the device.
fn texts(record: &Record) -> [String; 6] {
    let levels = record.syn.as_ref().map(|syn| syn.levels.as_slice());
    let energies = levels.unwrap_or_default().iter().filter_map(|level| level.energies.last());
    let undone = levels.map(|levels| levels.iter().filter(|level| level.undone).count().to_string());
    let device = match &record.device {
        Description::Cpu => "cpu".to_owned(),
        Description::Cuda { index, .. } => format!("cuda:{index}"),
    };
    let energies: Vec<String> = energies.map(f64::to_string).collect();
    let judgement = record.verdict.as_ref().map(|verdict| verdict.judgement.to_string()).unwrap_or_default();
    let reasons = record.verdict.as_ref().map(|verdict| verdict.reasons.join("; ")).unwrap_or_default();
    let warnings = no_formula(&record.warnings.join("; "));
    [judgement, no_formula(&reasons), energies.join(" "), undone.unwrap_or_default(), warnings, device]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        assert_eq!(no_formula("=cmd(1).nii.gz: no such file"), "'=cmd(1).nii.gz: no such file");
        assert_eq!(no_formula("a.nii.gz: no = in it"), "a.nii.gz: no = in it");
    }
}
