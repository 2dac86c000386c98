//! The list of mutants, as `cargo mutants --list --json` prints it.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::Failure;

/// One change of the sources.
#[derive(Clone, Debug, Deserialize)]
pub struct Mutant {
    /// Place and description, such as `crates/syn/src/load.rs:44:9: replace + with - in load`.
    pub name: String,
    /// Path of the source file in the workspace.
    pub file: String,
    /// Kind of the change.
    pub genre: Genre,
    /// Text that is replaced.
    pub span: Span,
    /// Text that takes its place.
    pub replacement: String,
    /// Function that contains the change; absent for constants.
    pub function: Option<Function>,
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub enum Genre {
    /// The function returns a fixed value.
    FnValue,
    /// Another binary operator.
    BinaryOperator,
    /// A unary operator is deleted.
    UnaryOperator,
    /// An arm of a `match` is deleted.
    MatchArm,
    /// The guard of an arm becomes `true` or `false`.
    MatchArmGuard,
    /// A field of a struct expression is deleted, so that the value of the base counts.
    StructField,
}

/// A function of the sources.
#[derive(Clone, Debug, Deserialize)]
pub struct Function {
    /// Text of the whole function.
    pub span: Span,
}

/// A part of a source file; the end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct Span {
    /// First character.
    pub start: Place,
    /// Character after the last.
    pub end: Place,
}

/// A character of a source file; lines and columns count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct Place {
    /// Number of the line.
    pub line: usize,
    /// Number of the character in the line.
    pub column: usize,
}

/// Lists the mutants of the package `package` of the workspace `workspace`. `cargo-mutants` must be installed.
pub fn mutants(workspace: &Path, package: &str) -> Result<Vec<Mutant>, Failure> {
    let output = Command::new("cargo")
        .args(["mutants", "--list", "--json", "--package", package])
        .current_dir(workspace)
        .output()?;
    if !output.status.success() {
        return Err(format!("cargo mutants failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
