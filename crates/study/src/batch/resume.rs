//! Whether a subject is done already: its files are whole, and were made from the same files by the same parameters.

use std::path::Path;

use crate::FileIdentity;
use crate::pair::{FixedInputs, Names, PairFiles, Parameters, Record};

/// The record of a subject that need not be done again; `None` on any doubt.
pub fn finished(files: &PairFiles, names: &Names, fixed: &FixedInputs, parameters: &Parameters) -> Option<Record> {
    let record: Record = serde_json::from_slice(&std::fs::read(&names.record).ok()?).ok()?;
    let moving: Vec<&Path> = files.moving_inputs();
    let now = [fixed.identities_of(files), FileIdentity::of_all(moving)].concat();
    // Parameters from a file have been converted to text and back; so the current ones are converted too.
    let parameters = serde_json::to_value(parameters).ok()?;
    let recorded = serde_json::to_value(&record.parameters).ok()?;
    let expected: Vec<&Path> = names.all();
    let same_names = record.outputs.iter().map(std::path::PathBuf::as_path).eq(expected);
    let whole = record.files_written.iter().all(crate::WrittenFile::is_whole);
    let same = record.version == env!("CARGO_PKG_VERSION") && record.files_read == now && recorded == parameters;
    (same && same_names && whole && record.files_written.len() + 1 == record.outputs.len()).then_some(record)
}
