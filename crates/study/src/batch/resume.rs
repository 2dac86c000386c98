//! Decides whether a subject is done already: its files must be complete and made from the same inputs by the same
//! parameters.

use std::path::Path;

use crate::FileIdentity;
use crate::pair::{FixedInputs, Names, PairFiles, Parameters, Record};

/// The record (inputs, options, results) of a subject's registration that an earlier run has completed; `None` if a
/// file is missing, or if inputs, outputs or parameters have changed.
pub fn finished(files: &PairFiles, names: &Names, fixed: &FixedInputs, parameters: &Parameters) -> Option<Record> {
    let record: Record = serde_json::from_slice(&std::fs::read(&names.record).ok()?).ok()?;
    let moving: Vec<&Path> = files.moving_inputs();
    let now = [fixed.identities_of(files), FileIdentity::of_all(moving)].concat();
    // The record of the earlier run contains its parameters of registration as JSON. The parameters of this run are
    // converted to JSON too, so that both can be compared.
    let parameters = serde_json::to_value(parameters).ok()?;
    let recorded = serde_json::to_value(&record.parameters).ok()?;
    let expected: Vec<&Path> = names.all();
    let same_names = record.outputs.iter().map(std::path::PathBuf::as_path).eq(expected);
    let whole = record.files_written.iter().all(crate::WrittenFile::is_whole);
    let same = record.version == env!("CARGO_PKG_VERSION") && record.files_read == now && recorded == parameters;
    (same && same_names && whole && record.files_written.len() + 1 == record.outputs.len()).then_some(record)
}
