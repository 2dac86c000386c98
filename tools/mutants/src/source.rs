//! Source files: from lines and columns to bytes.

use std::ops::Range;

use crate::list::{Place, Span};

/// Text of a source file.
#[derive(Debug)]
pub struct Source {
    text: String,
    lines: Vec<usize>,
}

impl Source {
    /// Takes the text of a source file.
    pub fn new(text: String) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, lines }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Bytes of a part of the text.
    pub fn bytes(&self, span: &Span) -> Range<usize> {
        self.byte(span.start)..self.byte(span.end)
    }

    fn byte(&self, place: Place) -> usize {
        let line = self.lines[place.line - 1];
        let within =
            self.text[line..].char_indices().nth(place.column - 1).map_or(self.text.len() - line, |(at, _)| at);
        line + within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let source = Source::new("a\nµm + b\n".to_owned());
        let span = Span { start: Place { line: 2, column: 4 }, end: Place { line: 2, column: 5 } };
        assert_eq!(&source.text()[source.bytes(&span)], "+");
    }
}
