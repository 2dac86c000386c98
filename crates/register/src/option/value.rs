//! Numbers that options take: their ranges, how they are read, and the words for them in messages.

use std::fmt::{Display, Formatter};
use std::ops::{RangeFrom, RangeInclusive};
use std::str::FromStr;

/// Range of the numbers that an option takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    least: f64,
    /// Whether the least number is itself outside the range.
    above_least: bool,
    most: f64,
}

impl Range {
    /// The numbers above 0, at most `most`.
    pub const fn above_zero(most: f64) -> Range {
        Range { least: 0.0, above_least: true, most }
    }

    /// All finite numbers.
    pub const FINITE: Range = Range { least: f64::NEG_INFINITY, above_least: false, most: f64::INFINITY };

    fn contains(self, number: f64) -> bool {
        let low = if self.above_least { number > self.least } else { number >= self.least };
        number.is_finite() && low && number <= self.most
    }
}

impl From<RangeInclusive<f64>> for Range {
    fn from(range: RangeInclusive<f64>) -> Range {
        Range { least: *range.start(), above_least: false, most: *range.end() }
    }
}

impl From<RangeInclusive<usize>> for Range {
    fn from(range: RangeInclusive<usize>) -> Range {
        Range { least: *range.start() as f64, above_least: false, most: *range.end() as f64 }
    }
}

impl From<RangeFrom<usize>> for Range {
    fn from(range: RangeFrom<usize>) -> Range {
        Range { least: range.start as f64, above_least: false, most: f64::INFINITY }
    }
}

/// Formats the range for messages, such as "from 1 to 16" or "above 0, at most 10".
impl Display for Range {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Range { least, above_least, most } = self;
        match (above_least, most.is_finite()) {
            (true, true) => write!(f, "above {least}, at most {most}"),
            (true, false) => write!(f, "above {least}"),
            (false, true) => write!(f, "from {least} to {most}"),
            (false, false) if least.is_finite() => write!(f, "from {least}"),
            (false, false) => write!(f, "that is finite"),
        }
    }
}

/// Kind of the value that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// None: the option is a flag.
    Flag,
    /// One of several names.
    Choice,
    /// A number.
    Number,
    /// A whole number.
    Whole,
    /// Numbers, one for each level of a stage.
    PerLevel,
    /// A text of another form, such as two numbers, or a word in place of a number.
    Text,
}

/// A type of numbers that options have.
pub trait Number: Copy + FromStr + Display + 'static {
    /// One such number, in words.
    const ONE: &'static str;
    /// Several such numbers, in words.
    const SEVERAL: &'static str;
    /// The kind of an option whose value is one such number.
    const KIND: Kind;

    /// The number in double precision, which is compared with a range.
    fn to_f64(self) -> f64;

    /// Reads a number within a range; `None` for any other text.
    fn read(text: &str, range: Range) -> Option<Self> {
        text.trim().parse::<Self>().ok().filter(|number| range.contains(number.to_f64()))
    }

    /// Reads numbers within a range, with `separator` between them; `None` for any other text.
    fn read_list(text: &str, separator: char, range: Range) -> Option<Vec<Self>> {
        text.split(separator).map(|part| Self::read(part, range)).collect()
    }
}

impl Number for f64 {
    const ONE: &'static str = "a number";
    const SEVERAL: &'static str = "numbers";
    const KIND: Kind = Kind::Number;

    fn to_f64(self) -> f64 {
        self
    }
}

impl Number for usize {
    const ONE: &'static str = "a whole number";
    const SEVERAL: &'static str = "whole numbers";
    const KIND: Kind = Kind::Whole;

    fn to_f64(self) -> f64 {
        self as f64
    }
}

/// Formats a list of numbers as an option shows it.
pub fn joined<T: Display>(numbers: impl IntoIterator<Item = T>, separator: &str) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(separator)
}
