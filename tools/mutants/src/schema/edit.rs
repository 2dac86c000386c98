//! Edits of a source file, which may lie in each other, and the text that they make.

use std::ops::Range;

/// A part of the text that takes the place of an edit's range.
#[derive(Debug)]
pub enum Piece {
    /// New text.
    Text(String),
    /// New text that belongs to one mutant.
    Mutant(usize, String),
    /// A part of the source, with the edits inside it.
    Source(Range<usize>),
}

/// The replacement of a range of the source.
#[derive(Debug)]
pub struct Edit {
    /// Bytes of the source that are replaced.
    pub range: Range<usize>,
    /// What takes their place.
    pub pieces: Vec<Piece>,
    /// Mutants of this place.
    pub mutants: Vec<usize>,
}

/// Text made by edits.
#[derive(Debug, Default)]
pub struct Edited {
    /// The text.
    pub text: String,
    /// Bytes that belong to one mutant.
    pub mutants: Vec<(Range<usize>, usize)>,
    /// Bytes that an edit made, with its mutants.
    pub edits: Vec<(Range<usize>, Vec<usize>)>,
}

/// Applies the edits to `source`. An edit that contains another of the same range comes first.
pub fn apply(source: &str, mut edits: Vec<Edit>) -> Edited {
    edits.sort_by_key(|edit| (edit.range.start, std::cmp::Reverse(edit.range.end)));
    let mut edited = Edited::default();
    copy(source, 0..source.len(), &edits, &mut edited);
    edited
}

/// Copies a range of the source. `edits` are those that may lie inside it, in the order of [`apply`].
fn copy(source: &str, range: Range<usize>, edits: &[Edit], edited: &mut Edited) {
    let mut at = range.start;
    for (n, edit) in edits.iter().enumerate() {
        // An edit inside the last one was made with it.
        if edit.range.start < at || edit.range.end > range.end {
            continue;
        }
        edited.text += &source[at..edit.range.start];
        let begin = edited.text.len();
        let inside = &edits[n + 1..];
        let inside = &inside[..inside.partition_point(|other| other.range.start < edit.range.end)];
        for piece in &edit.pieces {
            match piece {
                Piece::Text(text) => edited.text += text,
                Piece::Mutant(mutant, text) => {
                    let begin = edited.text.len();
                    edited.text += text;
                    edited.mutants.push((begin..edited.text.len(), *mutant));
                }
                Piece::Source(part) => copy(source, part.clone(), inside, edited),
            }
        }
        edited.edits.push((begin..edited.text.len(), edit.mutants.clone()));
        at = edit.range.end;
    }
    edited.text += &source[at..range.end];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_inside_an_edit() {
        let outer = Edit {
            range: 0..5,
            pieces: vec![
                Piece::Text("(".into()),
                Piece::Source(4..5),
                Piece::Mutant(7, " - ".into()),
                Piece::Source(0..1),
            ],
            mutants: vec![7],
        };
        let inner = Edit { range: 0..1, pieces: vec![Piece::Text("x".into())], mutants: vec![8] };
        let edited = apply("a + b;", vec![inner, outer]);
        assert_eq!(edited.text, "(b - x;");
        assert_eq!(edited.mutants, [(2..5, 7)]);
        assert_eq!(edited.edits, [(5..6, vec![8]), (0..6, vec![7])]);
    }
}
