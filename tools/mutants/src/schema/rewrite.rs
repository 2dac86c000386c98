//! A file with its mutants behind the switch, and which mutants an error of the compiler belongs to.

use super::edit::{self, Edited};
use super::sites::{self, Candidate};
use crate::Failure;
use crate::list::Mutant;
use crate::source::Source;

/// A rewritten file.
#[derive(Debug)]
pub struct Rewritten {
    edited: Edited,
    order: Vec<usize>,
}

/// Puts those of the mutants behind the switch that allow it. `mutants` are the file's, with their places in the list;
/// `next` is the number of the first.
pub fn rewrite(source: &Source, mutants: &[(usize, &Mutant)], next: usize) -> Result<Rewritten, Failure> {
    let candidates: Vec<Candidate> = mutants
        .iter()
        .map(|(index, mutant)| Candidate {
            mutant: *index,
            genre: mutant.genre,
            replacement: &mutant.replacement,
            start: source.bytes(&mutant.span).start,
        })
        .collect();
    let found = sites::find(&syn::parse_file(source.text())?, &candidates, next);
    Ok(Rewritten { edited: edit::apply(source.text(), found.edits), order: found.order })
}

impl Rewritten {
    /// The new text.
    pub fn text(&self) -> &str {
        &self.edited.text
    }

    /// Mutants behind the switch, in the order of their numbers.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The mutant whose own text byte `at` lies in.
    pub fn mutant_at(&self, at: usize) -> Option<usize> {
        self.edited.mutants.iter().find(|(range, _)| range.contains(&at)).map(|(_, mutant)| *mutant)
    }

    /// Mutants of the smallest edit around byte `at`, else of the last edit before it on the same line.
    pub fn mutants_around(&self, at: usize) -> Vec<usize> {
        let Edited { text, edits, .. } = &self.edited;
        let around = edits.iter().filter(|(range, _)| range.contains(&at)).min_by_key(|(range, _)| range.len());
        let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = edits.iter().filter(|(range, _)| range.end <= at && range.end > line);
        let nearest = around.or_else(|| before.max_by_key(|(range, _)| range.end));
        nearest.map(|(_, mutants)| mutants.clone()).unwrap_or_default()
    }
}
