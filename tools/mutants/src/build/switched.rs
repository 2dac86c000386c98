//! All mutants of a crate behind the switch, without those that do not compile there.

use std::collections::{BTreeMap, BTreeSet};

use super::cargo::Cargo;
use crate::Failure;
use crate::list::Mutant;
use crate::schema::{self, Rewritten};

/// The mutants of a crate after [`write()`].
#[derive(Debug, Default)]
pub struct Switched {
    /// Mutants behind the switch, in the order of their numbers.
    pub order: Vec<usize>,
    /// Mutants whose own text is wrong, wherever it stands.
    pub wrong: BTreeSet<usize>,
}

/// Writes the sources of the crate with its mutants.
pub fn write(cargo: &Cargo, name: &str, mutants: &[Mutant]) -> Result<Switched, Failure> {
    let mut wrong = BTreeSet::new();
    let mut misplaced = BTreeSet::new();
    loop {
        let files = rewrite(cargo, mutants, &wrong.union(&misplaced).copied().collect())?;
        let order: Vec<usize> = files.values().flat_map(|file| file.order().to_vec()).collect();
        let root = format!("crates/{name}/src/lib.rs");
        for (file, rewritten) in &files {
            cargo.tree.write(file, rewritten.text().as_bytes())?;
        }
        let text = match files.get(root.as_str()) {
            Some(rewritten) => rewritten.text().to_owned(),
            None => cargo.tree.source(&root)?.text().to_owned(),
        };
        let module = schema::MODULE;
        cargo.tree.write(&root, format!("{text}\n#[doc(hidden)]\npub mod {module};\n").as_bytes())?;
        let switch = schema::runtime(order.len());
        cargo.tree.write(&format!("crates/{name}/src/{module}.rs"), switch.as_bytes())?;

        let errors = cargo.check()?;
        eprintln!("{name}: {} mutants behind the switch, {} errors", order.len(), errors.len());
        if errors.is_empty() {
            return Ok(Switched { order, wrong });
        }
        let before = wrong.len() + misplaced.len();
        for error in &errors {
            let places = || error.places.iter().filter_map(|(file, at)| Some((files.get(file.as_str())?, *at)));
            match places().find_map(|(file, at)| file.mutant_at(at)) {
                Some(mutant) if error.is_final(mutants[mutant].genre) => _ = wrong.insert(mutant),
                Some(mutant) => _ = misplaced.insert(mutant),
                None => {
                    let around = places().map(|(file, at)| file.mutants_around(at));
                    misplaced.extend(around.into_iter().find(|mutants| !mutants.is_empty()).unwrap_or_default());
                }
            }
        }
        if wrong.len() + misplaced.len() == before {
            let texts: Vec<&str> = errors.iter().map(|error| error.text.as_str()).collect();
            return Err(format!("errors that belong to no mutant:\n{}", texts.join("\n")).into());
        }
    }
}

/// Rewrites the files that have mutants.
fn rewrite<'a>(
    cargo: &Cargo,
    mutants: &'a [Mutant],
    dropped: &BTreeSet<usize>,
) -> Result<BTreeMap<&'a str, Rewritten>, Failure> {
    let mut of_file: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
    for (index, mutant) in mutants.iter().enumerate() {
        let kept = of_file.entry(&mutant.file).or_default();
        if !dropped.contains(&index) {
            kept.push((index, mutant));
        }
    }
    let mut files = BTreeMap::new();
    let mut next = 1;
    for (file, mutants) in of_file {
        let source = cargo.tree.source(file)?;
        let rewritten = schema::rewrite(&source, &mutants, next).map_err(|error| format!("{file}: {error}"))?;
        next += rewritten.order().len();
        files.insert(file, rewritten);
    }
    Ok(files)
}
