//! Builds the tests of a crate with all of its mutants.

mod cargo;
mod plain;
mod switched;

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::Failure;
use crate::list::{self, Mutant};
use crate::manifest::{self, Manifest};
use crate::tree::Tree;
use cargo::Cargo;
use switched::Switched;

/// Prepares the package `package` of `workspace` (whose folder is `crates/NAME`, for the package `antsreg-NAME`).
/// Everything is written to the folder `work`: the copy of the workspace, what cargo builds, and for each crate the
/// programs with their manifest.
pub fn prepare(workspace: &Path, work: &Path, name: &str, jobs: usize) -> Result<Manifest, Failure> {
    let package = format!("antsreg-{name}");
    let mutants = list::mutants(workspace, &package)?;
    fs::create_dir_all(work.join("tree"))?;
    let tree = Tree::copy(workspace, &work.join("tree"))?;
    let cargo = Cargo { tree: &tree, target: work.join("target"), package: &package, jobs };
    let switched = switched::write(&cargo, name, &mutants)?;
    let folder = work.join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let mut programs = Vec::new();
    for (program, path) in cargo.build_tests()? {
        fs::copy(path, folder.join(&program))?;
        programs.push(program.into());
    }
    for file in mutants.iter().map(|mutant| &mutant.file) {
        tree.write(file, tree.source(file)?.text().as_bytes())?;
    }
    let tree = Tree::copy(workspace, tree.folder())?;
    let Switched { order, wrong } = switched;
    let others: Vec<usize> = (0..mutants.len()).filter(|index| !order.contains(index)).collect();
    let unknown: Vec<usize> = others.iter().copied().filter(|index| !wrong.contains(index)).collect();
    let cargo = Cargo { tree: &tree, ..cargo };
    let viable = plain::viable(&cargo, &mutants, &unknown)?;
    let names = |wanted: bool| {
        let chosen = others.iter().filter(|index| viable.contains(index) == wanted);
        chosen.map(|index| mutants[*index].name.clone()).collect()
    };
    let manifest = Manifest {
        package: tree.folder().join("crates").join(name),
        built: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs(),
        programs,
        mutants: order.iter().map(|index| in_manifest(&mutants[*index])).collect(),
        left: names(true),
        unviable: names(false),
    };
    manifest.write(&folder)?;
    Ok(manifest)
}

fn in_manifest(mutant: &Mutant) -> manifest::Switched {
    let place = mutant.function.as_ref().map_or(mutant.span.start, |function| function.span.start);
    manifest::Switched { name: mutant.name.clone(), function: format!("{}:{}", mutant.file, place.line) }
}
