//! Calls of cargo in the copy of the workspace.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::Failure;
use crate::list::Genre;
use crate::tree::Tree;

/// How cargo is called.
#[derive(Debug)]
pub struct Cargo<'a> {
    /// Copy of the workspace.
    pub tree: &'a Tree,
    /// Folder of what cargo builds.
    pub target: PathBuf,
    /// Name of the package.
    pub package: &'a str,
    /// Profile of the workspace with which everything is built.
    pub profile: &'a str,
    /// Number of compilers at once.
    pub jobs: usize,
}

/// An error of the compiler.
#[derive(Debug)]
pub struct CompileError {
    /// The text of the message.
    pub text: String,
    /// Number of the error, such as E0308.
    pub code: String,
    /// Places of the error, the chief ones first: file and byte.
    pub places: Vec<(String, usize)>,
}

#[derive(Deserialize)]
struct Line {
    message: Option<Message>,
    executable: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Message {
    code: Option<Code>,
    level: String,
    rendered: Option<String>,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

impl CompileError {
    /// Whether a mutant of this kind does not compile outside the switch either. Types that the switch hides from the
    /// compiler, and types that differ from those of the other alternatives, may be right there.
    pub fn is_final(&self, genre: Genre) -> bool {
        match genre {
            Genre::FnValue => !["E0282", "E0283", "E0284"].contains(&self.code.as_str()),
            _ => ["E0277", "E0369"].contains(&self.code.as_str()),
        }
    }
}

impl Cargo<'_> {
    /// Compiles the library of the package without making code. Returns the errors.
    pub fn check(&self) -> Result<Vec<CompileError>, Failure> {
        let lines = self.lines(&["check", "--lib"])?.1;
        let messages = lines.into_iter().filter_map(|line| line.message);
        let errors = messages.filter(|message| message.level == "error" && !message.spans.is_empty());
        Ok(errors
            .map(|message| {
                let mut spans: Vec<&Span> = message.spans.iter().collect();
                spans.sort_by_key(|span| !span.is_primary);
                let places = spans.iter().flat_map(|span| places(span)).collect();
                CompileError {
                    text: message.rendered.unwrap_or_default(),
                    code: message.code.map(|code| code.code).unwrap_or_default(),
                    places,
                }
            })
            .collect())
    }

    /// Builds the tests of the package. Returns the names and paths of the programs, or what the compiler refuses.
    pub fn build_tests(&self) -> Result<Result<Vec<(String, PathBuf)>, String>, Failure> {
        let (success, lines) = self.lines(&["test", "--no-run", "--lib", "--tests"])?;
        if !success {
            let texts: Vec<String> =
                lines.into_iter().filter_map(|line| line.message).filter_map(|message| message.rendered).collect();
            return Ok(Err(format!("the tests do not build: {}", texts.join("\n"))));
        }
        let programs = lines.into_iter().filter_map(|line| Some((line.target?, line.executable?)));
        Ok(Ok(programs
            .map(|(target, path)| {
                let is_library = target.kind.iter().any(|kind| kind == "lib");
                (if is_library { "unit-tests".to_owned() } else { target.name }, path)
            })
            .collect()))
    }

    /// Calls cargo for the package. Returns whether it succeeded, and the lines that it printed.
    fn lines(&self, arguments: &[&str]) -> Result<(bool, Vec<Line>), Failure> {
        let output = Command::new("cargo")
            .args(arguments)
            .args(["--locked", "--no-default-features", "--message-format=json", "--package", self.package])
            .args([format!("--jobs={}", self.jobs), format!("--profile={}", self.profile)])
            .current_dir(self.tree.folder())
            .env("CARGO_TARGET_DIR", &self.target)
            // The profile says it, except that all mutants at once are built only once.
            .env_remove("CARGO_INCREMENTAL")
            .env("CARGO_PROFILE_DEV_INCREMENTAL", "false")
            .env("CARGO_PROFILE_DEV_DEBUG", "none")
            // Mutants that surely overflow compile, and panic when they are on.
            .env("RUSTFLAGS", "-Awarnings -Aarithmetic_overflow -Aunconditional_panic")
            .stderr(Stdio::piped())
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        let lines: Vec<Line> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        if !output.status.success() && lines.iter().all(|line| line.message.is_none()) {
            return Err(format!("cargo failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok((output.status.success(), lines))
    }
}

/// Places of a span, from the inside of a macro to its call.
fn places(span: &Span) -> Vec<(String, usize)> {
    let mut all = vec![(span.file_name.clone(), span.byte_start)];
    if let Some(expansion) = &span.expansion {
        all.extend(places(&expansion.span));
    }
    all
}
