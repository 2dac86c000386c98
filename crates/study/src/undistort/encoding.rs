//! The direction of the phase encoding.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// The direction of the phase encoding of an image, as a voxel axis of its file, and whether it points to smaller
/// indices. In BIDS: `i`, `i-`, `j`, `j-`, `k`, `k-`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseEncoding {
    /// The voxel axis: 0 for i, 1 for j, 2 for k.
    pub axis: usize,
    /// Whether the direction is toward smaller indices.
    pub reversed: bool,
}

/// The letters of the voxel axes.
const AXES: [char; 3] = ['i', 'j', 'k'];

impl PhaseEncoding {
    /// The direction as a sign: 1 toward larger indices, −1 toward smaller ones.
    pub fn sign(self) -> f64 {
        if self.reversed { -1.0 } else { 1.0 }
    }

    /// The letter of the voxel axis.
    pub fn letter(self) -> char {
        AXES.get(self.axis).copied().unwrap_or('?')
    }
}

impl Display for PhaseEncoding {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        write!(f, "{}{}", self.letter(), if self.reversed { "-" } else { "" })
    }
}

impl Serialize for PhaseEncoding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Error: a text names no direction of phase encoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected i, i-, j, j-, k or k- (voxel axes of the file, as in BIDS), found `{0}`")]
pub struct NotAnEncoding(String);

impl FromStr for PhaseEncoding {
    type Err = NotAnEncoding;

    fn from_str(text: &str) -> Result<PhaseEncoding, NotAnEncoding> {
        let (letter, reversed) = match text.strip_suffix('-') {
            Some(letter) => (letter, true),
            None => (text.strip_suffix('+').unwrap_or(text), false),
        };
        let axis = AXES.iter().position(|axis| letter.chars().eq([*axis]));
        axis.map(|axis| PhaseEncoding { axis, reversed }).ok_or_else(|| NotAnEncoding(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_those_of_bids() {
        for text in ["i", "i-", "j", "j-", "k", "k-"] {
            assert_eq!(text.parse::<PhaseEncoding>().expect("a direction").to_string(), text);
        }
        assert_eq!("j-".parse(), Ok(PhaseEncoding { axis: 1, reversed: true }));
        for text in ["", "-", "x", "ij", "i--", "AP"] {
            assert!(text.parse::<PhaseEncoding>().is_err(), "{text}");
        }
    }
}
