//! Mutants that no switch can hold: which of them compile when they alone change their function.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::cargo::Cargo;
use crate::Failure;
use crate::list::{Mutant, Span};

/// A file with mutants in it: the text, and for each mutant the bytes of its function.
struct Mutated {
    text: String,
    functions: Vec<(Range<usize>, usize)>,
}

/// Returns those of the mutants `candidates` that compile. In each round at most one mutant of a function is in the
/// sources, so that each error belongs to one mutant. The sources of the copy are those of the workspace afterwards.
pub fn viable(cargo: &Cargo, mutants: &[Mutant], candidates: &[usize]) -> Result<BTreeSet<usize>, Failure> {
    let mut waiting: BTreeSet<usize> = candidates.iter().copied().collect();
    let mut viable = BTreeSet::new();
    while !waiting.is_empty() {
        let mut round = one_for_each_function(mutants, &waiting);
        waiting.retain(|index| !round.contains(index));
        while !round.is_empty() {
            let files = write(cargo, mutants, &round)?;
            let errors = cargo.check()?;
            eprintln!("{} mutants in the text, {} errors, {} wait", round.len(), errors.len(), waiting.len());
            let wrong: BTreeSet<usize> = errors
                .iter()
                .filter_map(|error| {
                    error.places.iter().find_map(|(file, at)| files.get(file.as_str())?.mutant_at(*at))
                })
                .collect();
            restore(cargo, files.keys().copied())?;
            if errors.is_empty() || wrong.is_empty() {
                // An error outside all functions proves nothing; `alone` tells.
                viable.extend(&round);
                break;
            }
            round.retain(|index| !wrong.contains(index));
        }
    }
    Ok(viable)
}

fn function(mutant: &Mutant) -> Span {
    mutant.function.as_ref().map_or(mutant.span, |function| function.span)
}

fn one_for_each_function(mutants: &[Mutant], waiting: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut taken = BTreeMap::new();
    for index in waiting {
        let mutant = &mutants[*index];
        taken.entry((&mutant.file, function(mutant).start.line)).or_insert(*index);
    }
    taken.into_values().collect()
}

fn write<'a>(
    cargo: &Cargo,
    mutants: &'a [Mutant],
    round: &BTreeSet<usize>,
) -> Result<BTreeMap<&'a str, Mutated>, Failure> {
    let mut of_file: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for index in round {
        of_file.entry(&mutants[*index].file).or_default().push(*index);
    }
    let mut files = BTreeMap::new();
    for (file, indices) in of_file {
        let source = cargo.tree.source(file)?;
        let mut changes: Vec<(Range<usize>, Range<usize>, usize)> = indices
            .into_iter()
            .map(|index| (source.bytes(&mutants[index].span), source.bytes(&function(&mutants[index])), index))
            .collect();
        changes.sort_by_key(|(bytes, ..)| bytes.start);
        let mut mutated = Mutated { text: String::new(), functions: Vec::new() };
        let mut at = 0;
        for (bytes, function, index) in changes {
            mutated.text += &source.text()[at..bytes.start];
            let begin = mutated.text.len() - (bytes.start - function.start);
            mutated.text += &mutants[index].replacement;
            at = bytes.end;
            mutated.functions.push((begin..mutated.text.len() + (function.end - bytes.end), index));
        }
        mutated.text += &source.text()[at..];
        cargo.tree.write(file, mutated.text.as_bytes())?;
        files.insert(file, mutated);
    }
    Ok(files)
}

fn restore<'a>(cargo: &Cargo, files: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    for file in files {
        cargo.tree.write(file, cargo.tree.source(file)?.text().as_bytes())?;
    }
    Ok(())
}

impl Mutated {
    fn mutant_at(&self, at: usize) -> Option<usize> {
        self.functions.iter().find(|(function, _)| function.contains(&at)).map(|(_, index)| *index)
    }
}
