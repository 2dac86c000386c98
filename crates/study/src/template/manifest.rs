//! Manifests: what each step of a template read and wrote. A step need not be run again if its manifest exists and names the
//! same plan and inputs.

use std::path::{Path, PathBuf};

use antsreg_core::io::outputs::write_file;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Error;
use super::digest::{FileRecord, of_words};
use super::layout::Layout;

/// The record of one step, written when its files are complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    /// Which step.
    pub step: String,
    /// Digest of the plan and of everything read.
    pub key: String,
    /// Version of the program.
    pub version: String,
    /// What computed, without its number; absent where nothing was registered.
    pub device: Option<String>,
    /// The pass after which nothing more was to be done, if this step came too late.
    pub converged_after: Option<usize>,
    /// What was read.
    pub inputs: Vec<FileRecord>,
    /// What was written.
    pub outputs: Vec<FileRecord>,
    /// Figures.
    pub results: Value,
}

/// A step with its inputs, done or not.
#[derive(Debug, Clone)]
pub struct Stage<'a> {
    layout: &'a Layout,
    path: PathBuf,
    step: String,
    key: String,
    inputs: Vec<FileRecord>,
}

impl<'a> Stage<'a> {
    /// The step `step` of the plan with digest `plan`, which reads `inputs` and leaves its manifest at `path`.
    pub fn new(layout: &'a Layout, plan: &str, step: String, path: PathBuf, inputs: Vec<FileRecord>) -> Stage<'a> {
        let files = inputs.iter().map(|input| input.sha256.as_str());
        let key = of_words([plan, step.as_str()].into_iter().chain(files));
        Stage { layout, path, step, key, inputs }
    }

    /// The manifest, if it exists, names the same plan and inputs, and its outputs have the lengths it says.
    pub fn done(&self) -> Option<Manifest> {
        let manifest: Manifest = read_json(&self.path).ok()?;
        let there = |output: &FileRecord| {
            std::fs::metadata(self.layout.root().join(&output.path)).is_ok_and(|found| found.len() == output.bytes)
        };
        (manifest.key == self.key && manifest.outputs.iter().all(there)).then_some(manifest)
    }

    /// The manifest of a step that must be done.
    ///
    /// # Errors
    /// If it is not; the error names the command that comes `first`.
    pub fn require(&self, first: impl FnOnce() -> String) -> Result<Manifest, Error> {
        self.done().ok_or_else(|| Error::NotYet { missing: self.path.clone(), first: first() })
    }

    /// Writes the manifest of the step, which has written these files.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(
        self,
        device: Option<String>,
        outputs: Vec<FileRecord>,
        results: impl Serialize,
    ) -> Result<Manifest, Error> {
        self.write(device, None, outputs, results)
    }

    /// Writes the manifest of a step that is not needed any more.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn skip(self, converged_after: usize) -> Result<Manifest, Error> {
        self.write(None, Some(converged_after), Vec::new(), ())
    }

    fn write(
        self,
        device: Option<String>,
        converged_after: Option<usize>,
        outputs: Vec<FileRecord>,
        results: impl Serialize,
    ) -> Result<Manifest, Error> {
        let results =
            serde_json::to_value(results).map_err(|source| Error::Json { path: self.path.clone(), source })?;
        let version = env!("CARGO_PKG_VERSION").into();
        let Stage { path, step, key, inputs, .. } = self;
        let manifest = Manifest { step, key, version, device, converged_after, inputs, outputs, results };
        write_json(&path, &manifest)?;
        Ok(manifest)
    }
}

/// Reads a file of JSON.
///
/// # Errors
/// If it cannot be read, or is not such JSON.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.into(), source })?;
    serde_json::from_str(&text).map_err(|source| Error::Json { path: path.into(), source })
}

/// Writes a file of JSON, whole or not at all.
///
/// # Errors
/// If it cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let json = serde_json::to_string_pretty(value).map_err(|source| Error::Json { path: path.into(), source })?;
    Ok(write_file(path, (json + "\n").as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_done_only_with_the_same_inputs_and_whole_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::new(folder.path(), &["image".into()]);
        let output = folder.path().join("a.nii");
        std::fs::write(&output, "12345").expect("a file");
        let input = |sha256: &str| vec![FileRecord { path: "in".into(), bytes: 1, sha256: sha256.into() }];
        let stage = |plan: &str, sha256: &str| {
            Stage::new(&layout, plan, "update".into(), folder.path().join("m.json"), input(sha256))
        };
        assert!(stage("plan", "aa").done().is_none());
        let written = FileRecord::of(&output, "a.nii".into()).expect("a record");
        stage("plan", "aa").finish(None, vec![written], 7).expect("a manifest");
        let manifest = stage("plan", "aa").done().expect("done");
        assert_eq!((manifest.results, manifest.outputs[0].path.as_path()), (7.into(), Path::new("a.nii")));
        assert!(stage("plan", "ab").done().is_none(), "another input");
        assert!(stage("another", "aa").done().is_none(), "another plan");
        std::fs::write(&output, "1234").expect("a file");
        assert!(stage("plan", "aa").done().is_none(), "a file cut short");
        std::fs::remove_file(&output).expect("a file");
        assert!(stage("plan", "aa").done().is_none(), "a file gone");
    }
}
