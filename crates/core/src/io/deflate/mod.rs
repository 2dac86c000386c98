//! Deflate compression (RFC 1951) of arrays of single-precision numbers.
//!
//! In a rounded warp, the fourth byte of a number is similar to that of the number before, the first byte is zero,
//! and the second byte has few values. So the compressor searches for repeats of three bytes: the fourth byte of one
//! number and the first two bytes of the next number. It compares these bytes only with the last place where the same
//! three bytes occurred. The third byte of a number is written as a literal. Equal numbers in sequence are written as
//! a run. General compressors also search for other repeats, and need two to three times as long for warps of the
//! same compressed size.

mod bits;
mod cells;
mod codes;
mod stream;

use bits::{Bits, Joined};
use cells::{Finder, NEAR, Step};
use codes::{Code, codes};

pub use stream::Deflated;

/// Length of the longest code, bits. Four literals and the up to 7 bits of an unfinished byte then fit into 64 bits.
const LONGEST: usize = 14;
/// Number of symbols of the code for literals, the end of a block, and lengths of matches.
const SYMBOLS: usize = 286;
const END: usize = 256;
const DISTANCES: usize = 30;
/// Number of single-precision numbers in a deflate block. Each block has its own code tables, which take some 170
/// bytes. Tables for smaller blocks would fit the data better, but take more space together.
const BLOCK: usize = 1 << 14;

/// Compresses one piece of the data. The output ends at a byte boundary, with an empty block unless the piece is the
/// last one. `memory` is a scratch buffer, which can be reused for the next piece.
pub(super) fn piece(bytes: &[u8], last: bool, memory: &mut Vec<u8>) -> Vec<u8> {
    // The compressor reads the numbers in cells of four bytes: the fourth byte of one number and the first three bytes
    // of the next number.
    let (mut before, others) = bytes.split_at(bytes.len().min(3));
    let (cells, rest) = others.as_chunks::<4>();
    let mut finder = Finder::new(cells);
    let mut out = Bits::with_room_for(bytes.len(), memory);
    let mut steps = Vec::new();
    loop {
        let first = finder.at();
        finder.steps(BLOCK, &mut steps);
        let ends = finder.at() == cells.len();
        let around = [std::mem::take(&mut before), if ends { rest } else { &[] }];
        block(&mut out, &cells[first..finder.at()], &steps, around, last && ends);
        if ends {
            return out.end(last);
        }
    }
}

/// Writes one deflate block: the bytes before the first cell, the cells (groups of four bytes), and the bytes after the
/// last cell. `steps` describe how the cells are encoded.
fn block(out: &mut Bits, cells: &[[u8; 4]], steps: &[Step], around: [&[u8]; 2], last: bool) {
    let (symbols, distances) = counts(cells, steps, around);
    let (symbols, distances) = (codes(&symbols, LONGEST), codes(&distances, LONGEST));
    header(out, &symbols, &distances, last);
    let of_byte: [Code; 256] = std::array::from_fn(|byte| symbols[byte]);
    let code = |byte: u8| of_byte[usize::from(byte)];
    // The prefix codes for a match of `length` bytes with earlier bytes. The distance to these is `cells` cells of four
    // bytes.
    let matched = |length: usize, cells: usize| {
        let mut joined = Joined::default();
        let (symbol, extra, bits) = of_length(length);
        joined.add(symbols[symbol], extra, bits);
        let (symbol, extra, bits) = of_distance(4 * cells);
        joined.add(distances[symbol], extra, bits);
        joined
    };
    // Most matches have three bytes, so the codes of such matches are computed once for each distance.
    let near: [Joined; NEAR + 1] =
        std::array::from_fn(|cells| if cells > 0 { matched(3, cells) } else { Joined::default() });
    around[0].iter().for_each(|&byte| out.push(Joined::of(code(byte))));
    let mut left = cells;
    for step in steps {
        if let Some(length) = step.run() {
            out.push(matched(4 * length, 1));
            left = &left[length..];
            continue;
        }
        let [a, b, c, d] = left[0].map(code);
        let mut literals = Joined::of(a);
        literals.add(b, 0, 0);
        literals.add(c, 0, 0);
        // The prefix codes for three literal bytes and those for a match (repeat) of three earlier bytes are both
        // prepared, and one of the two is selected without a branch. A branch would be mispredicted too often.
        let mut cell = std::hint::select_unpredictable(step.distance() == 0, literals, near[step.distance()]);
        cell.add(d, 0, 0);
        out.push(cell);
        left = &left[1..];
    }
    around[1].iter().for_each(|&byte| out.push(Joined::of(code(byte))));
    out.push(Joined::of(symbols[END]));
}

/// The symbol of a match length, 3 to 256, and the extra bits that follow the symbol (RFC 1951, 3.2.5).
fn of_length(length: usize) -> (usize, u64, u32) {
    if length <= 10 {
        return (254 + length, 0, 0);
    }
    // Each symbol stands for a range of match lengths. There are four symbols for each doubling of (length − 3).
    let above = length - 3;
    let bits = above.ilog2() - 2;
    (257 + 4 * bits as usize + (above >> bits), (above & ((1 << bits) - 1)) as u64, bits)
}

/// The symbol of a match distance, 4 to 32768, and the extra bits that follow the symbol (RFC 1951, 3.2.5).
fn of_distance(distance: usize) -> (usize, u64, u32) {
    // Each symbol stands for a range of match distances. There are two symbols for each doubling of (distance − 1).
    let above = distance - 1;
    let bits = above.ilog2() - 1;
    (2 * bits as usize + (above >> bits), (above & ((1 << bits) - 1)) as u64, bits)
}

/// Counts how often each symbol occurs in a block: literals and match lengths, and match distances. The end of the
/// block occurs once. Both results have at least two symbols with a count above zero, because a prefix code needs two
/// symbols.
fn counts(cells: &[[u8; 4]], steps: &[Step], around: [&[u8]; 2]) -> ([u32; SYMBOLS], [u32; DISTANCES]) {
    // Each of the four bytes of a cell (group of four bytes) has its own table of counts, so that the processor can add
    // to the four tables in parallel.
    let mut of_bytes = [[0u32; 256]; 4];
    // Number of cells (groups of four bytes) that are encoded as a match of three bytes, for each distance of the
    // match. A match is a repeat of earlier bytes.
    let mut near = [0; NEAR + 1];
    let (mut symbols, mut distances) = ([0; SYMBOLS], [0; DISTANCES]);
    let mut left = cells;
    for step in steps {
        if let Some(length) = step.run() {
            symbols[of_length(4 * length).0] += 1;
            distances[of_distance(4).0] += 1;
            left = &left[length..];
            continue;
        }
        near[step.distance()] += 1;
        let literal = u32::from(step.distance() == 0);
        let count = [literal, literal, literal, 1];
        for ((table, byte), count) in of_bytes.iter_mut().zip(left[0]).zip(count) {
            table[usize::from(byte)] += count;
        }
        left = &left[1..];
    }
    for (cells, count) in near.iter().enumerate().skip(1) {
        symbols[of_length(3).0] += count;
        distances[of_distance(4 * cells).0] += count;
    }
    for (byte, count) in symbols[..END].iter_mut().enumerate() {
        *count = of_bytes.iter().map(|table| table[byte]).sum();
    }
    around.concat().iter().for_each(|&byte| symbols[usize::from(byte)] += 1);
    (symbols[0], symbols[END]) = (symbols[0].max(1), 1);
    distances[..2].iter_mut().for_each(|count| *count = 1.max(*count));
    (symbols, distances)
}

/// Writes the header of a deflate block that has its own code tables (RFC 1951, 3.2.7). The length of each code takes
/// four bits.
fn header(out: &mut Bits, symbols: &[Code; SYMBOLS], distances: &[Code; DISTANCES], last: bool) {
    out.push_bits(u64::from(last) | 0b10 << 1, 3);
    // The header of the deflate block states how many code lengths follow: for literals and match lengths, for match
    // distances, and for the code lengths themselves.
    out.push_bits((SYMBOLS - 257) as u64, 5);
    out.push_bits((DISTANCES - 1) as u64, 5);
    out.push_bits(19 - 4, 4);
    // Deflate's codes 16 to 18, which repeat a code length, are not used. The codes for the lengths 0 to 15 take four
    // bits each.
    (0..19).for_each(|n| out.push_bits(if n < 3 { 0 } else { 4 }, 3));
    for Code { length, .. } in symbols.iter().chain(distances) {
        out.push_bits(u64::from(length.reverse_bits() >> 4), 4);
    }
}

#[cfg(test)]
mod tests;
