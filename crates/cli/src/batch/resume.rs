//! Whether a subject is done already: its files are all there, and were made of the same inputs by the same parameters.

use std::path::Path;

use serde_json::Value;

use crate::register::{self, Files, Parameters};

/// The record of a subject that need not be done again.
pub fn finished(args: &register::Args, files: &Files, parameters: &Parameters) -> Option<Value> {
    let made = modified(&files.record)?;
    if !files.all().into_iter().all(Path::exists) {
        return None;
    }
    let record: Value = serde_json::from_slice(&std::fs::read(&files.record).ok()?).ok()?;
    // Numbers in the file have been through text; so have these.
    let text = serde_json::to_string(parameters).ok()?;
    let parameters: Value = serde_json::from_str(&text).ok()?;
    let of = [
        ("/inputs/fixed/path", Some(&args.fixed)),
        ("/inputs/moving/path", Some(&args.moving)),
        ("/inputs/fixed_mask", args.fixed_mask.as_ref()),
        ("/inputs/moving_mask", args.moving_mask.as_ref()),
        ("/inputs/fixed_labels", args.fixed_labels.as_ref()),
        ("/inputs/moving_labels", args.moving_labels.as_ref()),
    ];
    let further: Vec<(String, &std::path::PathBuf)> = (args.channels.iter().enumerate())
        .flat_map(|(n, files)| {
            let pointer = |side: usize| format!("/inputs/channels/{n}/{side}/path");
            [(pointer(0), &files.fixed), (pointer(1), &files.moving)]
        })
        .collect();
    let of = || of.into_iter().chain(further.iter().map(|(pointer, path)| (pointer.as_str(), Some(*path))));
    let same = |(pointer, path): &(&str, Option<&std::path::PathBuf>)| {
        let recorded = record.pointer(pointer).and_then(Value::as_str);
        recorded == path.map(|path| path.to_string_lossy()).as_deref()
    };
    // An input that was changed afterwards makes other results.
    let older = |path: &std::path::PathBuf| modified(path).is_some_and(|changed| changed <= made);
    let fits = record["parameters"] == parameters
        && of().all(|part| same(&part))
        && of().filter_map(|(_, path)| path).all(older);
    fits.then_some(record)
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}
