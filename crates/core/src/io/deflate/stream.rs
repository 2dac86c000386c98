//! Numbers that are compressed before the file for them is written.

use crc32fast::Hasher;
use rayon::prelude::*;

use super::piece;

/// Single-precision numbers, compressed to a deflate stream (RFC 1951) as compressed files hold displacements: little
/// endian, in pieces of [`PIECE`](Deflated::PIECE) numbers that are compressed independently. All devices compress to
/// the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deflated {
    /// The deflate stream.
    pub bytes: Vec<u8>,
    /// CRC-32 of the bytes of the numbers.
    pub checksum: u32,
    /// How many numbers are compressed.
    pub count: usize,
}

impl Deflated {
    /// How many numbers are compressed together. The last piece may have fewer.
    pub const PIECE: usize = 1 << 18;

    /// Compresses numbers on all threads.
    pub fn of(numbers: &[f32]) -> Deflated {
        let count = numbers.len();
        let pieces =
            numbers.par_chunks(Deflated::PIECE).enumerate().map_init(Vec::new, |memory, (index, numbers)| {
                let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                let last = index * Deflated::PIECE + numbers.len() == count;
                let mut checksum = Hasher::new();
                checksum.update(&bytes);
                (piece(&bytes, last, memory), checksum)
            });
        let (bytes, checksums): (Vec<Vec<u8>>, Vec<Hasher>) = pieces.unzip();
        let mut checksum = Hasher::new();
        checksums.iter().for_each(|of_piece| checksum.combine(of_piece));
        Deflated { bytes: bytes.concat(), checksum: checksum.finalize(), count }
    }
}
