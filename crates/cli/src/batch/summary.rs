//! `summary.csv`: a row a subject.

use std::path::Path;

use serde_json::Value;

use crate::error::CliError;
use crate::register::Files;

/// How it went with a subject.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// Registered and written.
    Done,
    /// Its files were there already.
    Skipped,
    /// Why not.
    Failed(String),
}

/// A subject's row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name.
    pub subject: String,
    /// How it went.
    pub status: Status,
    /// Its record, unless it failed.
    pub record: Value,
    /// Its files.
    pub files: Files,
}

/// Columns with figures, and where the record has them.
const FIGURES: [(&str, &str); 15] = [
    ("seconds", "/seconds/total"),
    ("seconds_reading", "/seconds/read"),
    ("seconds_affine", "/seconds/linear"),
    ("seconds_syn", "/seconds/syn"),
    ("seconds_outputs", "/seconds/outputs"),
    ("affine_cost", "/linear/cost"),
    ("correlation_at_start", "/similarity/correlation_at_start"),
    ("correlation", "/similarity/correlation"),
    ("mean_jaccard", "/overlap/mean_jaccard"),
    ("mean_dice", "/overlap/mean_dice"),
    ("jacobian_minimum", "/jacobian/warp/minimum"),
    ("jacobian_maximum", "/jacobian/warp/maximum"),
    ("folded_voxels", "/jacobian/warp/folded"),
    ("folded_voxels_inverse", "/jacobian/inverse_warp/folded"),
    ("voxels_beyond_limits", "/syn/beyond_limits"),
];

/// Columns with files.
const FILES: [&str; 8] =
    ["affine", "warp", "inverse_warp", "warped", "inverse_warped", "labels", "overlap", "record"];

/// Writes the table.
pub fn write(path: &Path, rows: &[Row]) -> Result<(), CliError> {
    let wrap = |source| CliError::Table { path: path.into(), source };
    let mut writer = csv::Writer::from_path(path).map_err(wrap)?;
    let names = ["subject", "status", "reason"].into_iter().chain(FIGURES.map(|(name, _)| name));
    writer
        .write_record(names.chain(["energies", "undone_levels", "warnings", "device"]).chain(FILES))
        .map_err(wrap)?;
    for row in rows {
        writer.write_record(row.cells()).map_err(wrap)?;
    }
    writer.flush().map_err(|source| CliError::Write { path: path.into(), source })
}

/// What the record of a subject doubts about it.
pub fn warnings(record: &Value) -> impl Iterator<Item = &str> {
    record["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let (status, reason) = match &self.status {
            Status::Done => ("done", ""),
            Status::Skipped => ("skipped", ""),
            Status::Failed(reason) => ("failed", reason.as_str()),
        };
        let mut cells = vec![self.subject.clone(), status.to_owned(), reason.to_owned()];
        cells.extend(FIGURES.iter().map(|(_, pointer)| self.figure(pointer)));
        cells.push(self.energies());
        cells.push(self.undone_levels());
        cells.push(warnings(&self.record).collect::<Vec<_>>().join("; "));
        cells.push(self.device());
        // A file that is not there is not named.
        let there = !matches!(self.status, Status::Failed(_));
        let Files { affine, warp, inverse_warp, warped, inverse_warped, labels, overlap, record } = &self.files;
        let optional = [warp, inverse_warp, warped, inverse_warped, labels, overlap].map(Option::as_ref);
        let files = std::iter::once(Some(affine)).chain(optional).chain([Some(record)]);
        cells.extend(
            files.map(|file| file.filter(|_| there).map_or(String::new(), |path| path.display().to_string())),
        );
        cells
    }

    fn figure(&self, pointer: &str) -> String {
        match self.record.pointer(pointer) {
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        }
    }

    /// Levels of the diffeomorphic stage, coarsest first.
    fn levels(&self) -> Option<&Vec<Value>> {
        self.record.pointer("/syn/levels").and_then(Value::as_array)
    }

    /// How many levels gained nothing; empty where there are none.
    fn undone_levels(&self) -> String {
        let undone = |levels: &Vec<Value>| levels.iter().filter(|level| level["undone"] == true).count();
        self.levels().map_or(String::new(), |levels| undone(levels).to_string())
    }

    /// The last energy of each level, coarsest first.
    fn energies(&self) -> String {
        let last = |level: &Value| level["energies"].as_array().and_then(|energies| energies.last().cloned());
        let energies = self.levels().into_iter().flatten().filter_map(last);
        energies.map(|energy| energy.to_string()).collect::<Vec<_>>().join(" ")
    }

    fn device(&self) -> String {
        match (&self.record["device"]["kind"], &self.record["device"]["index"]) {
            (Value::String(kind), Value::Number(index)) => format!("{kind}:{index}"),
            (Value::String(kind), _) => kind.clone(),
            _ => String::new(),
        }
    }
}
