//! Builds the tests of a crate with all of its mutants.

mod cargo;
mod plain;
mod switched;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::Failure;
use crate::list::{self, Mutant};
use crate::manifest::{self, Manifest};
use crate::tree::Tree;
pub(crate) use cargo::Cargo;
use switched::Switched;

/// Profile with which all mutants are built at once.
const PROFILE: &str = "dev";

/// Prepares the package `package` of `workspace` (whose folder is `crates/NAME`, for the package `antsreg-NAME`).
/// Everything is written to the folder `work`: the copy of the workspace, what cargo builds, and for each crate the
/// programs with their manifest.
pub fn prepare(workspace: &Path, work: &Path, name: &str, jobs: usize) -> Result<Manifest, Failure> {
    let package = format!("antsreg-{name}");
    let mutants = list::mutants(workspace, &package)?;
    let tree = Tree::copy(workspace, &work.join("tree"))?;
    let cargo = Cargo { tree: &tree, target: work.join("target"), package: &package, profile: PROFILE, jobs };
    let switched = switched::write(&cargo, name, &mutants)?;
    let folder = work.join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let mut programs = Vec::new();
    for (program, path) in cargo.build_tests()?? {
        fs::copy(path, folder.join(&program))?;
        programs.push(program.into());
    }
    let viable = left(workspace, &cargo, &mutants, &switched)?;
    let others: Vec<usize> = (0..mutants.len()).filter(|index| !switched.order.contains(index)).collect();
    let names = |wanted: bool| {
        let chosen = others.iter().filter(|index| viable.contains(index) == wanted);
        chosen.map(|index| mutants[*index].name.clone()).collect()
    };
    let manifest = Manifest {
        package: tree.folder().join("crates").join(name),
        built: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs(),
        programs,
        mutants: switched.order.iter().map(|index| in_manifest(&mutants[*index])).collect(),
        left: names(true),
        unviable: names(false),
    };
    manifest.write(&folder)?;
    Ok(manifest)
}

/// Returns the mutants of the package `package` that compile, but not behind the switch. Nothing but the library is
/// compiled for this, and without making code.
pub fn without_switch(
    workspace: &Path,
    work: &Path,
    name: &str,
    package: &str,
    jobs: usize,
) -> Result<Vec<Mutant>, Failure> {
    let mutants = list::mutants(workspace, package)?;
    let tree = Tree::copy(workspace, &work.join("tree"))?;
    let cargo = Cargo { tree: &tree, target: work.join("target"), package, profile: PROFILE, jobs };
    let switched = switched::write(&cargo, name, &mutants)?;
    let viable = left(workspace, &cargo, &mutants, &switched)?;
    Ok(viable.into_iter().map(|index| mutants[index].clone()).collect())
}

/// Finds the mutants that are not behind the switch and compile. The copy is that of the workspace afterwards.
fn left(
    workspace: &Path,
    cargo: &Cargo,
    mutants: &[Mutant],
    switched: &Switched,
) -> Result<BTreeSet<usize>, Failure> {
    let tree = Tree::copy(workspace, cargo.tree.folder())?;
    let known = |index: &usize| switched.order.contains(index) || switched.wrong.contains(index);
    let unknown: Vec<usize> = (0..mutants.len()).filter(|index| !known(index)).collect();
    let cargo = Cargo { tree: &tree, target: cargo.target.clone(), ..*cargo };
    plain::viable(&cargo, mutants, &unknown)
}

fn in_manifest(mutant: &Mutant) -> manifest::Switched {
    let place = mutant.function.as_ref().map_or(mutant.span.start, |function| function.span.start);
    manifest::Switched { name: mutant.name.clone(), function: format!("{}:{}", mutant.file, place.line) }
}
