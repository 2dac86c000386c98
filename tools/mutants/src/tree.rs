//! The copy of the workspace in which mutants are written.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;
use crate::source::Source;

/// A copy of the files of a workspace that git knows.
#[derive(Debug)]
pub struct Tree {
    workspace: PathBuf,
    copy: PathBuf,
}

impl Tree {
    /// Copies the workspace to the folder `copy`. Files that are the same there stay as they are, so that cargo does
    /// not build them again. Files that the workspace lacks are removed.
    pub fn copy(workspace: &Path, copy: &Path) -> Result<Self, Failure> {
        let output = Command::new("git").args(["ls-files", "-z"]).current_dir(workspace).output()?;
        if !output.status.success() {
            return Err(format!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let names = String::from_utf8(output.stdout)?;
        let tree = Self { workspace: workspace.to_owned(), copy: copy.to_owned() };
        fs::create_dir_all(copy)?;
        let names: HashSet<&str> =
            names.split_terminator('\0').filter(|name| workspace.join(name).is_file()).collect();
        for name in &names {
            tree.write(name, &fs::read(workspace.join(name))?)?;
        }
        tree.remove_others(copy, &names)?;
        Ok(tree)
    }

    /// Folder of the copy.
    pub fn folder(&self) -> &Path {
        &self.copy
    }

    /// Text of a file of the workspace.
    pub fn source(&self, name: &str) -> Result<Source, Failure> {
        Ok(Source::new(fs::read_to_string(self.workspace.join(name))?))
    }

    /// Writes a file of the copy, if the file there differs.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.copy.join(name);
        if fs::read(&path).is_ok_and(|now| now == bytes) {
            return Ok(());
        }
        path.parent().map(fs::create_dir_all).transpose()?;
        Ok(fs::write(path, bytes)?)
    }

    fn remove_others(&self, folder: &Path, names: &HashSet<&str>) -> Result<(), Failure> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(&self.copy)?.to_string_lossy().into_owned();
            if path.is_dir() {
                self.remove_others(&path, names)?;
            } else if !names.contains(name.as_str()) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}
