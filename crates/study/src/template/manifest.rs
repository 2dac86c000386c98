//! The manifest of a step: the files that the step read and wrote. A step with a manifest for the same inputs is not
//! run again.

use std::path::{Path, PathBuf};

use antsreg_core::io::outputs::write_file;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::digest::{self, FileRecord};
use super::layout::Layout;
use super::step::Step;
use super::{Error as TemplateError, verified};
use crate::Error;

/// The record of one step, written when all files of the step are complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    /// Name of the step.
    pub step: String,
    /// One digest of the template's plan, the name of the step and the records of all input files: a step with the same
    /// digest is not run again.
    pub key: String,
    /// Version of the program.
    pub version: String,
    /// Name of the device that registered, without its number; `None` for a step without registration.
    pub device: Option<String>,
    /// Number of the pass after which the template stopped moving, for a step that is therefore not needed; else
    /// `None`.
    pub converged_after: Option<usize>,
    /// Records of the input files.
    pub inputs: Vec<FileRecord>,
    /// Records of the output files.
    pub outputs: Vec<FileRecord>,
    /// Results of the step, such as the correlation of a registered subject.
    pub results: Value,
}

/// A step with its input files, whether the step is done or not.
#[derive(Debug, Clone)]
pub struct Stage<'a> {
    layout: &'a Layout,
    step: Step,
    key: String,
    inputs: Vec<FileRecord>,
}

impl<'a> Stage<'a> {
    /// Describes a step that reads the files `inputs`. `plan` is the digest of the plan to which the step belongs.
    pub fn new(layout: &'a Layout, plan: &str, step: Step, inputs: Vec<FileRecord>) -> Stage<'a> {
        let (name, files) = (step.to_string(), inputs.iter().map(|input| input.sha256.as_str()));
        let key = digest::of_words([plan, name.as_str()].into_iter().chain(files));
        Stage { layout, step, key, inputs }
    }

    /// Returns the manifest of the step, if the step was done with the same inputs and its output files are
    /// unchanged.
    ///
    /// # Errors
    /// An existing file that cannot be read.
    pub fn done(&self) -> Result<Option<Manifest>, Error> {
        let path = self.layout.manifest(&self.step);
        let manifest: Manifest = match read(&path) {
            Ok(manifest) => manifest,
            // If the manifest is missing or cannot be parsed, the step is run again.
            Err(Error::Read { source, .. }) if is_missing(&source) => return Ok(None),
            Err(Error::Json { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let same = self.has_made(&manifest) && verified::are_unchanged(self.layout, &path, &manifest.outputs)?;
        Ok(same.then_some(manifest))
    }

    /// Whether a manifest is that of this step, with these inputs and this plan.
    pub(super) fn has_made(&self, manifest: &Manifest) -> bool {
        manifest.key == self.key
    }

    /// Returns the manifest of a step that must have been done.
    ///
    /// # Errors
    /// [`TemplateError::NotYet`]; an existing file that cannot be read.
    pub fn require(&self) -> Result<Manifest, Error> {
        let not_yet = || TemplateError::NotYet {
            missing: self.layout.manifest(&self.step),
            folder: self.layout.root().into(),
            step: self.step.clone(),
        };
        Ok(self.done()?.ok_or_else(not_yet)?)
    }

    /// Writes the manifest of the step, which has written the files `outputs`.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish(
        self,
        device: Option<String>,
        outputs: Vec<FileRecord>,
        results: impl Serialize,
    ) -> Result<Manifest, Error> {
        self.write(device, None, outputs, results)
    }

    /// Writes the manifest of a step that is not needed, because the template stopped moving after an earlier pass.
    ///
    /// # Errors
    /// A file that cannot be written.
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
        let Stage { layout, step, key, inputs } = self;
        let path = layout.manifest(&step);
        let results = serde_json::to_value(results).map_err(|source| Error::Json { path: path.clone(), source })?;
        let (step, version) = (step.to_string(), env!("CARGO_PKG_VERSION").into());
        let manifest = Manifest { step, key, version, device, converged_after, inputs, outputs, results };
        write(&path, &manifest)?;
        verified::remember(layout, &path, &manifest.outputs);
        Ok(manifest)
    }
}

/// Whether the error means that the manifest does not exist as readable text. Then there is no such file, the path is
/// a folder, or the file's bytes are not text.
fn is_missing(source: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound};
    matches!(source.kind(), NotFound | NotADirectory | IsADirectory | InvalidData)
}

/// Returns the results of a step from its manifest; `path` is the path of the manifest, for errors.
///
/// # Errors
/// Results of another kind of step.
pub fn results_of<T: DeserializeOwned>(manifest: &Manifest, path: PathBuf) -> Result<T, Error> {
    serde_json::from_value(manifest.results.clone()).map_err(|source| Error::Json { path, source })
}

/// Reads data from a JSON file.
///
/// # Errors
/// A file that cannot be read or contains other data.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.into(), source })?;
    serde_json::from_str(&text).map_err(|source| Error::Json { path: path.into(), source })
}

/// Writes data to a JSON file, completely or not at all.
///
/// # Errors
/// A file that cannot be written.
pub fn write(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let json = serde_json::to_string_pretty(value).map_err(|source| Error::Json { path: path.into(), source })?;
    Ok(write_file(path, (json + "\n").as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test folder that contains the file `a.nii` and the manifest of the step that has written the file.
    struct Written {
        folder: tempfile::TempDir,
        layout: Layout,
    }

    impl Written {
        fn new(bytes: &[u8]) -> Written {
            let folder = tempfile::tempdir().expect("a folder");
            let layout = Layout::new(folder.path(), &["image".into()]);
            std::fs::create_dir(layout.start()).expect("a folder");
            let written = Written { folder, layout };
            std::fs::write(written.output(), bytes).expect("a file");
            assert!(!written.is_done());
            let record = FileRecord::of(&written.output(), "a.nii".into()).expect("a record");
            written.stage("plan", "aa").finish(None, vec![record], 7).expect("a manifest");
            written
        }

        fn output(&self) -> PathBuf {
            self.folder.path().join("a.nii")
        }

        fn stage(&self, plan: &str, sha256: &str) -> Stage<'_> {
            let input = FileRecord { path: "in".into(), bytes: 1, sha256: sha256.into() };
            Stage::new(&self.layout, plan, Step::Start, vec![input])
        }

        fn manifest(&self, plan: &str, sha256: &str) -> Option<Manifest> {
            self.stage(plan, sha256).done().expect("files that can be read")
        }

        fn is_done(&self) -> bool {
            self.manifest("plan", "aa").is_some()
        }
    }

    #[test]
    fn a_step_is_done_only_with_the_same_inputs_and_whole_files() {
        let written = Written::new(b"12345");
        let manifest = written.manifest("plan", "aa").expect("done");
        assert_eq!((manifest.results, manifest.outputs[0].path.as_path()), (7.into(), Path::new("a.nii")));
        assert!(written.manifest("plan", "ab").is_none(), "another input");
        assert!(written.manifest("another", "aa").is_none(), "another plan");
        std::fs::write(written.output(), "1234").expect("a file");
        assert!(!written.is_done(), "a file cut short");
        std::fs::remove_file(written.output()).expect("a file");
        assert!(!written.is_done(), "a file removed");
    }

    #[test]
    fn a_file_with_other_bytes_of_the_same_length_makes_a_step_undone() {
        let written = Written::new(b"12345");
        std::fs::write(written.output(), "12045").expect("a file");
        assert!(!written.is_done());
        // The output is replaced by another file with the same bytes. The digest of the new file is compared once, and
        // its identity (size, time, inode) is stored for later checks.
        let other = written.folder.path().join("b.nii");
        std::fs::write(&other, "12345").expect("a file");
        std::fs::rename(&other, written.output()).expect("renamed");
        assert!(written.is_done());
        let known =
            read::<Vec<crate::FileIdentity>>(&written.layout.identities(&written.layout.manifest(&Step::Start)));
        assert_eq!(known.ok(), crate::FileIdentity::of(&written.output()).map(|identity| vec![identity]));
    }

    #[test]
    fn numbers_are_read_as_they_were_written_to_the_last_bit() {
        for n in 1..10_000 {
            let number = 0.7 / f64::from(n);
            let text = serde_json::to_string(&number).expect("JSON");
            assert_eq!(serde_json::from_str::<f64>(&text).ok(), Some(number), "{text}");
        }
    }

    #[test]
    fn without_known_identities_digests_are_compared() {
        let written = Written::new(b"12345");
        std::fs::remove_dir_all(written.folder.path().join(".verified")).expect("removed");
        assert!(written.is_done());
        std::fs::write(written.output(), "12045").expect("a file");
        std::fs::remove_dir_all(written.folder.path().join(".verified")).expect("removed");
        assert!(!written.is_done());
    }
}
