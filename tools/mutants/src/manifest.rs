//! What `prepare` hands to `run`: test programs and their mutants.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Failure;

/// Name of the manifest in the folder of a crate.
const FILE: &str = "manifest.json";

/// Test programs of one crate, with its mutants.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Folder of the package, where its tests run.
    pub package: PathBuf,
    /// When the programs were built, in seconds since 1970. Numbers of mutants are those of one build.
    pub built: u64,
    /// Test programs, relative to the manifest.
    pub programs: Vec<PathBuf>,
    /// Mutants behind the switch; the first has the number 1.
    pub mutants: Vec<Switched>,
    /// Mutants that no switch can hold but that compile: `alone` runs them.
    pub left: Vec<String>,
    /// Mutants that do not compile.
    pub unviable: Vec<String>,
}

/// A mutant behind the switch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Switched {
    /// Place and description, as cargo-mutants prints them.
    pub name: String,
    /// Where its function begins, as text; mutants of one function are often caught by the same test.
    pub function: String,
}

impl Manifest {
    /// Writes the manifest of the folder.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        Ok(fs::write(folder.join(FILE), serde_json::to_vec_pretty(self)?)?)
    }

    /// Reads the manifest of the folder.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(FILE);
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}; run prepare first", path.display()))?;
        Ok(serde_json::from_slice(&bytes)?)
    }
}
