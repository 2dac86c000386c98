//! Writing gzip on all threads, as one stream of one member that every reader understands.
//!
//! The data comes in pieces that are deflated independently. A sync flush ends each piece at a byte boundary, so that
//! the pieces joined are one deflate stream; the checksums are combined. The bytes depend on the pieces alone, not on
//! the threads.

use std::io::Write;

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use rayon::prelude::*;

/// Higher levels take far longer on noisy floats, and gain next to nothing.
const LEVEL: u32 = 4;

/// Pieces held in memory at once.
const BATCH: usize = 32;

/// No name, no time, compressed by an unnamed system: nothing that differs between two runs.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// Writes the `pieces` pieces, each appended to an empty buffer by `make(index, buffer)`, as one gzip stream.
pub(crate) fn write(
    out: &mut impl Write,
    pieces: usize,
    make: impl Fn(usize, &mut Vec<u8>) + Sync,
) -> std::io::Result<()> {
    out.write_all(&HEADER)?;
    let mut checksum = Crc::new();
    let indices: Vec<usize> = (0..pieces).collect();
    for batch in indices.chunks(BATCH) {
        let deflated: Vec<_> = batch
            .par_iter()
            .map_init(
                || (Compress::new(Compression::new(LEVEL), false), Vec::new()),
                |(compress, buffer), &index| {
                    buffer.clear();
                    make(index, buffer);
                    let last = index + 1 == pieces;
                    deflate(compress, buffer, last)
                },
            )
            .collect();
        for piece in deflated {
            let (bytes, crc) = piece?;
            out.write_all(&bytes)?;
            checksum.combine(&crc);
        }
    }
    out.write_all(&checksum.sum().to_le_bytes())?;
    out.write_all(&checksum.amount().to_le_bytes())
}

fn deflate(compress: &mut Compress, bytes: &[u8], last: bool) -> std::io::Result<(Vec<u8>, Crc)> {
    compress.reset();
    let flush = if last { FlushCompress::Finish } else { FlushCompress::Sync };
    // Incompressible data grows by a few bytes in every block of it.
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 64 + 1024);
    loop {
        let consumed = compress.total_in() as usize;
        let status = compress.compress_vec(&bytes[consumed..], &mut out, flush)?;
        let done = match flush {
            FlushCompress::Finish => status == Status::StreamEnd,
            // A full buffer may have cut the flush short.
            _ => compress.total_in() as usize == bytes.len() && out.len() < out.capacity(),
        };
        if done {
            break;
        }
        out.reserve(1 << 16);
    }
    let mut crc = Crc::new();
    crc.update(bytes);
    Ok((out, crc))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn bytes(length: usize) -> Vec<u8> {
        // Half noise, half repetition.
        let mut state = 1u32;
        (0..length)
            .map(|at| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if at / 1000 % 2 == 0 { (state >> 24) as u8 } else { (at / 100) as u8 }
            })
            .collect()
    }

    fn pack(data: &[u8], piece: usize) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, data.len().div_ceil(piece), |index, buffer| {
            buffer.extend_from_slice(&data[index * piece..data.len().min((index + 1) * piece)]);
        })
        .unwrap();
        out
    }

    #[test]
    fn one_member_holds_all_pieces() {
        for (length, piece) in [(1, 10), (10, 10), (100_003, 1000), (3_000_001, 1 << 18)] {
            let data = bytes(length);
            let packed = pack(&data, piece);
            // The single-member decoder stops at the end of the first member, so nothing may be left behind it.
            let mut decoder = flate2::bufread::GzDecoder::new(packed.as_slice());
            let mut unpacked = Vec::new();
            decoder.read_to_end(&mut unpacked).unwrap();
            assert_eq!(unpacked, data);
            assert!(decoder.into_inner().is_empty(), "{length} bytes in pieces of {piece}");
        }
    }

    #[test]
    fn threads_do_not_show() {
        let data = bytes(1_000_000);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| pack(&data, 10_000))
        };
        assert_eq!(on(1), on(3));
    }
}
