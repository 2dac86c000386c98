//! Damages valid files and command lines at random, for fuzzing.

use fastrand::Rng;

/// Numbers that programs often handle wrongly (such as NaN and limits of integers), as the four bytes of a float or an
/// integer. They are written into inputs to damage them.
const EXTREMES: [u32; 12] = [
    0,
    1,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x0000_0080,
    0x7f7f_ffff,
];

/// Words that parsers of command lines and tables tend to handle wrongly. They are written into inputs to damage them.
const WORDS: [&str; 24] = [
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-1e999",
    "1e-999",
    "-0",
    "0",
    "-1",
    "2147483648",
    "18446744073709551616",
    "99999999",
    ",",
    "\"",
    "'",
    "\n",
    "\r",
    "\t",
    "#",
    ":",
    "\u{feff}",
    "\0",
    "é",
    " ",
];

/// Damages the bytes of an input at one to six random positions, mostly at one or two. `other` is another valid input,
/// from which parts may be copied.
pub fn mutate(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let times = [1, 1, 1, 2, 2, 3, 4, 6][rng.usize(..8)];
    (0..times).for_each(|_| once(bytes, other, rng));
}

fn once(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let at = place(bytes, rng);
    match rng.u8(..16) {
        0 => bytes.truncate(at),
        1..=3 => replace(bytes, at, &[rng.u8(..)]),
        4 | 5 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << rng.u8(..8)),
        6 | 7 => replace(bytes, at & !3, &EXTREMES[rng.usize(..EXTREMES.len())].to_le_bytes()),
        8 => replace(bytes, at & !1, &(EXTREMES[rng.usize(..EXTREMES.len())] as u16).to_le_bytes()),
        9 | 10 => insert(bytes, at, WORDS[rng.usize(..WORDS.len())].as_bytes()),
        11 => replace(bytes, at, WORDS[rng.usize(..WORDS.len())].as_bytes()),
        12 => drop(bytes.drain(at..(at + rng.usize(1..16)).min(bytes.len()))),
        13 => {
            let part = bytes[at..(at + rng.usize(1..32)).min(bytes.len())].to_vec();
            insert(bytes, at, &part.repeat(rng.usize(1..4)));
        }
        14 => {
            let from = place(other, rng);
            let part = other[from..(from + rng.usize(1..64)).min(other.len())].to_vec();
            replace(bytes, at, &part);
        }
        _ => insert(bytes, at, &[rng.u8(..)]),
    }
}

/// A random position in an input at which its bytes are damaged, or the end of the input. Half of the positions are in
/// the first 400 bytes, because headers are there.
fn place(bytes: &[u8], rng: &mut Rng) -> usize {
    let end = if rng.bool() { bytes.len().min(400) } else { bytes.len() };
    rng.usize(..=end)
}

fn replace(bytes: &mut [u8], at: usize, by: &[u8]) {
    bytes.iter_mut().skip(at).zip(by).for_each(|(old, new)| *old = *new);
}

fn insert(bytes: &mut Vec<u8>, at: usize, more: &[u8]) {
    drop(bytes.splice(at..at, more.iter().copied()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_numbers_do_the_same_damage_and_others_other() {
        let damaged = |seed: u64| {
            let (mut bytes, mut rng) = (b"x,y,z\n1,2,3\n".to_vec(), Rng::with_seed(seed));
            mutate(&mut bytes, b"other", &mut rng);
            bytes
        };
        assert_eq!(damaged(5), damaged(5));
        let distinct: std::collections::BTreeSet<Vec<u8>> = (0..1000).map(damaged).collect();
        assert!(distinct.len() > 700, "{}", distinct.len());
        // The function that damages inputs must not panic if the input is empty.
        (0..1000).for_each(|seed| mutate(&mut Vec::new(), b"", &mut Rng::with_seed(seed)));
    }
}
