//! Compression of displacements and images on the device, to the bytes that [`Deflated::of`] makes.

use antsreg_core::io::Deflated;
use crc32fast::Hasher;

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::buffer::Buffer;
use crate::cuda::launch::{Launch, arguments};

/// Numbers of cells and of symbols of a deflate block, as in `cu/deflate.cu`.
const CELLS: usize = 1 << 14;
const SYMBOLS: usize = 286 + 30;
/// Number of threads of a block, as in `cu/deflate.cu`.
const THREADS: u32 = 512;
/// What ends a piece except the last, after three zero bits and zeros up to the next whole byte: the length of an empty
/// block without compression, and its complement.
const EMPTY_BLOCK: [u8; 4] = [0, 0, 0xff, 0xff];

/// The division of numbers into pieces and deflate blocks.
struct Division {
    count: usize,
}

impl Division {
    fn pieces(&self) -> usize {
        self.count.div_ceil(Deflated::PIECE)
    }

    /// Number of numbers of a piece.
    fn length(&self, piece: usize) -> usize {
        (self.count - piece * Deflated::PIECE).min(Deflated::PIECE)
    }

    /// Number of deflate blocks of a piece.
    fn blocks(&self, piece: usize) -> usize {
        // A cell is a part of two neighbouring numbers.
        (self.length(piece) - 1).div_ceil(CELLS).max(1)
    }

    /// Number of numbers of each deflate block, in order. The last cell of a piece ends in its last number.
    fn numbers(&self) -> impl Iterator<Item = usize> {
        (0..self.pieces()).flat_map(|piece| {
            let (length, blocks) = (self.length(piece), self.blocks(piece));
            (0..blocks).map(move |block| if block + 1 < blocks { CELLS } else { length - block * CELLS })
        })
    }

    /// Places the deflate blocks one after the other in the stream: the start of each block, in bits, and the end of
    /// each piece, in bytes. `sizes` are the sizes of the blocks, in bits.
    fn places(&self, sizes: &[u32]) -> (Vec<u64>, Vec<u64>) {
        let (mut starts, mut ends, mut at) = (Vec::new(), Vec::new(), 0);
        let mut sizes = sizes.iter();
        for piece in 0..self.pieces() {
            for size in sizes.by_ref().take(self.blocks(piece)) {
                starts.push(at);
                at += u64::from(*size);
            }
            let last = piece + 1 == self.pieces();
            let end = if last { at.div_ceil(8) } else { (at + 3).div_ceil(8) + EMPTY_BLOCK.len() as u64 };
            ends.push(end);
            at = 8 * end;
        }
        (starts, ends)
    }
}

impl Cuda {
    /// Compresses the first `count` numbers of a buffer.
    pub(in crate::cuda) fn deflate_numbers(&self, numbers: &Buffer<f32>, count: usize) -> Result<Deflated, Error> {
        let division = Division { count };
        let of_blocks: Vec<usize> = division.numbers().collect();
        let blocks = of_blocks.len();
        let (kernels, device) = (self.kernels.deflate(&self.device)?, &self.device);
        let steps = Buffer::<u16>::uninitialised(device, blocks * CELLS)?;
        let codes = Buffer::<u32>::uninitialised(device, blocks * SYMBOLS)?;
        let found = Buffer::<u32>::uninitialised(device, 2 * blocks)?;
        let (source, amount) = (numbers.pointer(), count as u64);
        let (of_steps, of_codes, sizes) = (steps.pointer(), codes.pointer(), found.pointer());
        let checksums = sizes + (blocks * size_of::<u32>()) as u64;
        let bytes = (count * size_of::<f32>()) as u64;
        let launch = Launch::of_blocks(&kernels.deflate_plan, blocks as u32, THREADS, bytes + bytes / 2);
        // SAFETY: `numbers` has at least `count` elements, and all other buffers have room for each deflate block:
        // `found` for its size and its checksum.
        unsafe { self.launch(launch, arguments![source, amount, of_steps, of_codes, sizes, checksums])? };
        let found = found.download(2 * blocks)?;
        let (starts, ends) = division.places(&found[..blocks]);
        let length = ends.last().map_or(0, |end| *end as usize);
        // The device writes whole words of 32 bits.
        let stream = Buffer::<u8>::zeroed(device, length.next_multiple_of(4))?;
        let starts = Buffer::from_slice(device, &starts)?;
        let launch =
            Launch::of_blocks(&kernels.deflate_write, blocks as u32, THREADS, bytes + bytes / 2 + length as u64);
        let (of_starts, target) = (starts.pointer(), stream.pointer());
        // SAFETY: the launch before this one on the same stream has written the steps, the codes and the sizes of all
        // blocks. `stream` has room for the sum of these sizes, and contains zeros.
        unsafe { self.launch(launch, arguments![source, amount, of_steps, of_codes, of_starts, target])? };
        let mut bytes = stream.download(length)?;
        for end in ends.iter().rev().skip(1) {
            let end = *end as usize;
            bytes[end - EMPTY_BLOCK.len()..end].copy_from_slice(&EMPTY_BLOCK);
        }
        let checksum = joined(&found[blocks..], &of_blocks);
        Ok(Deflated { bytes, checksum, count })
    }
}

/// The CRC-32 of all numbers, from the checksums of the blocks, which lack the inversions at the beginning and the end.
/// `numbers` is the number of numbers of each block.
fn joined(checksums: &[u32], numbers: &[usize]) -> u32 {
    let mut of_zeros = (0, 0);
    let mut all = Hasher::new();
    for (checksum, numbers) in checksums.iter().zip(numbers) {
        let length = size_of::<f32>() * numbers;
        if of_zeros.0 != length {
            of_zeros = (length, crc32fast::hash(&vec![0; length]));
        }
        // Checksums with and without inversions differ by a number that depends on the length alone. For zeros, the
        // checksum without inversions is 0, so this number is their CRC-32.
        all.combine(&Hasher::new_with_initial_len(checksum ^ of_zeros.1, length as u64));
    }
    all.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_numbers() {
        for count in
            [1, 2, CELLS, CELLS + 1, CELLS + 2, Deflated::PIECE, Deflated::PIECE + 1, 3 * Deflated::PIECE - 5]
        {
            let division = Division { count };
            let numbers: Vec<usize> = division.numbers().collect();
            assert_eq!(numbers.iter().sum::<usize>(), count);
            assert!(numbers.iter().all(|&numbers| (1..=CELLS + 1).contains(&numbers)), "{count}: {numbers:?}");
            assert_eq!(numbers.len(), (0..division.pieces()).map(|piece| division.blocks(piece)).sum::<usize>());
        }
    }

    #[test]
    fn pieces_end_at_whole_bytes() {
        let division = Division { count: 2 * Deflated::PIECE + 1 };
        let sizes: Vec<u32> = (0..33).map(|block| 1000 + block).collect();
        let (starts, ends) = division.places(&sizes);
        let first: u64 = sizes[..16].iter().copied().map(u64::from).sum();
        assert_eq!((starts[0], starts[1], starts[15]), (0, 1000, first - 1015));
        // 16,120 bits are 2015 bytes. Three bits more need another byte.
        assert_eq!((first, ends[0], starts[16]), (16_120, 2016 + 4, 8 * 2020));
        assert_eq!((starts[32], ends[2]), (8 * ends[1], ends[1] + 1032 / 8));
    }

    #[test]
    fn checksums_without_inversions_are_joined() {
        // The CRC-32 without inversions, bit by bit.
        let bare = |bytes: &[u8]| {
            bytes.iter().fold(0u32, |sum, byte| {
                let reduced = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
                (0..8).fold(sum ^ u32::from(*byte), reduced)
            })
        };
        let bytes: Vec<u8> = (0..40u32).map(|n| (n * n + 7) as u8).collect();
        let parts = [&bytes[..16], &bytes[16..32], &bytes[32..]];
        assert_eq!(joined(&parts.map(bare), &[4, 4, 2]), crc32fast::hash(&bytes));
    }
}
