//! Compresses a gzip file on all threads. The file has a single gzip member, which every reader understands.
//!
//! The data is divided into pieces that are deflated independently. A sync flush ends each piece at a byte boundary,
//! so that the pieces joined are one deflate stream; the checksums are combined. The bytes depend on the pieces
//! alone, not on the threads.

use std::io::Write;

use crc32fast::Hasher;
use rayon::prelude::*;
use zlib_rs::{Deflate, DeflateConfig, DeflateFlush};

use super::deflate::{self, Deflated};

/// Compression level of the general compressor. Higher levels take longer and save almost nothing.
const LEVEL: i32 = 4;

/// Number of bytes of the data that are compressed together and are in memory at the same time.
const BATCH: usize = 32 << 20;

/// The gzip header: without file name and time, so that two runs write the same bytes.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// Kind of the data to compress, which selects the compression method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Displacements in single precision. Their bytes repeat in the way that [`deflate`] expects, and a search for
    /// other repeats would save nothing.
    Displacements,
    /// All other data, such as labels, masks and images. Searching for repeats pays off in labels and masks.
    Values,
}

/// Writes a gzip stream whose data is divided into `pieces` pieces of at most `bytes` bytes. `make(index, buffer)`
/// appends the bytes of each piece to an empty buffer.
pub(crate) fn write(
    out: &mut impl Write,
    pieces: usize,
    bytes: usize,
    content: Content,
    make: impl Fn(usize, &mut Vec<u8>) + Sync,
) -> std::io::Result<()> {
    let mut writer = Writer::start(out, pieces, content)?;
    while writer.done < pieces {
        writer.write_batch(batch(bytes).min(pieces - writer.done), &make)?;
    }
    writer.end()
}

/// Number of pieces of `bytes` bytes that are compressed together, each by one task.
pub(crate) fn batch(bytes: usize) -> usize {
    (BATCH / bytes).max(1)
}

/// Writes a gzip stream of the bytes in `head` and of numbers that are compressed already. The file is that of
/// [`write()`] for [`Content::Displacements`] with `head` as the first piece.
pub(crate) fn write_deflated(out: &mut impl Write, head: &[u8], deflated: &Deflated) -> std::io::Result<()> {
    let length = 4 * deflated.count as u64;
    let mut checksum = Hasher::new();
    checksum.update(head);
    checksum.combine(&Hasher::new_with_initial_len(deflated.checksum, length));
    out.write_all(&HEADER)?;
    out.write_all(&deflate::piece(head, false, &mut Vec::new()))?;
    out.write_all(&deflated.bytes)?;
    end(out, checksum, head.len() as u64 + length)
}

/// Writes the end of a gzip stream: the checksum, and the number of uncompressed bytes modulo 2³².
fn end(out: &mut impl Write, checksum: Hasher, length: u64) -> std::io::Result<()> {
    out.write_all(&checksum.finalize().to_le_bytes())?;
    out.write_all(&(length as u32).to_le_bytes())
}

/// Writes a gzip stream. The data is given in batches of several pieces, and each piece is compressed on its own.
pub(crate) struct Writer<'w, W: Write> {
    out: &'w mut W,
    checksum: Hasher,
    /// Number of bytes of the data that have been compressed.
    length: u64,
    /// `pieces` is the number of pieces into which the data of the whole gzip stream is divided. `done` is the number
    /// of pieces that have been compressed and written.
    pieces: usize,
    done: usize,
    content: Content,
}

impl<'w, W: Write> Writer<'w, W> {
    /// Writes the header of a gzip stream whose data is divided into this number of pieces.
    pub fn start(out: &'w mut W, pieces: usize, content: Content) -> std::io::Result<Writer<'w, W>> {
        out.write_all(&HEADER)?;
        Ok(Writer { out, checksum: Hasher::new(), length: 0, pieces, done: 0, content })
    }

    /// Compresses the next `count` pieces of the data on all threads and writes them. `make(index, buffer)` appends the
    /// bytes of each piece to an empty buffer.
    pub fn write_batch(&mut self, count: usize, make: impl Fn(usize, &mut Vec<u8>) + Sync) -> std::io::Result<()> {
        let content = self.content;
        let deflated: Vec<std::io::Result<_>> = (self.done..self.done + count)
            .into_par_iter()
            .map_init(Scratch::default, |Scratch { compressor, buffer, memory }, index| {
                buffer.clear();
                make(index, buffer);
                let last = index + 1 == self.pieces;
                let bytes = if content == Content::Values && repeats(buffer) {
                    // Data that cannot be compressed grows by a few bytes in each deflate block.
                    let out = vec![0; buffer.len() + buffer.len() / 64 + 1024];
                    search(compressor.get_or_insert_with(new_compressor), buffer, last, out)?
                } else {
                    deflate::piece(buffer, last, memory)
                };
                let mut checksum = Hasher::new();
                checksum.update(buffer);
                Ok((bytes, checksum, buffer.len() as u64))
            })
            .collect();
        for piece in deflated {
            let (bytes, checksum, length) = piece?;
            self.out.write_all(&bytes)?;
            self.checksum.combine(&checksum);
            self.length += length;
        }
        self.done += count;
        Ok(())
    }

    /// Number of pieces of the file's data that have been compressed and written.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Ends the gzip stream with the checksum and the length of the data. All pieces of the data must have been written
    /// before.
    pub fn end(self) -> std::io::Result<()> {
        end(self.out, self.checksum, self.length)
    }
}

/// Buffers of one thread, which are used again for each piece of the data that the thread compresses.
#[derive(Default)]
struct Scratch {
    compressor: Option<Deflate>,
    /// The uncompressed bytes of the piece of the file that this thread compresses now.
    buffer: Vec<u8>,
    memory: Vec<u8>,
}

/// Makes a compressor for a raw deflate stream without zlib header, because the gzip file has its own header.
fn new_compressor() -> Deflate {
    Deflate::new_with_config(DeflateConfig { level: LEVEL, window_bits: -15, ..DeflateConfig::default() })
}

/// Whether a piece of a file's data contains repeats of any length, as labels and masks do. In warps and images only
/// zeros repeat, and [`deflate`] finds repeated zeros faster than a general compressor.
fn repeats(bytes: &[u8]) -> bool {
    let (words, _) = bytes.as_chunks::<4>();
    let filled = words.iter().filter(|word| **word != [0; 4]).count();
    let repeated = words.windows(2).filter(|pair| pair[0] == pair[1] && pair[0] != [0; 4]).count();
    8 * repeated > filled
}

/// Compresses a piece of the data with a general compressor, which searches for repeats of any length. `out` is a buffer
/// for the compressed bytes, which is enlarged if it is too small.
fn search(compress: &mut Deflate, bytes: &[u8], last: bool, mut out: Vec<u8>) -> std::io::Result<Vec<u8>> {
    compress.reset();
    let flush = if last { DeflateFlush::Finish } else { DeflateFlush::SyncFlush };
    loop {
        let (consumed, written) = (compress.total_in() as usize, compress.total_out() as usize);
        compress
            .compress(&bytes[consumed..], &mut out[written..], flush)
            .map_err(|error| std::io::Error::other(error.as_str()))?;
        let written = compress.total_out() as usize;
        // If the output buffer is full, the compressor may have more bytes to write.
        if compress.total_in() as usize == bytes.len() && written < out.len() {
            out.truncate(written);
            return Ok(out);
        }
        out.resize(written + (1 << 16), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn bytes(length: usize) -> Vec<u8> {
        // Test data for compression: 1000 bytes of noise, then 1000 equal bytes, and so on.
        let mut state = 1u32;
        (0..length)
            .map(|at| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if at / 1000 % 2 == 0 { (state >> 24) as u8 } else { (at / 100) as u8 }
            })
            .collect()
    }

    /// Test data for compression: floating-point numbers that are all different, as in a warp.
    fn warp(length: usize) -> Vec<u8> {
        (0..length.div_ceil(4)).flat_map(|at| (at as f32 * 0.01).sin().to_le_bytes()).take(length).collect()
    }

    fn pack_as(content: Content, data: &[u8], piece: usize) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, data.len().div_ceil(piece), piece, content, |index, buffer| {
            buffer.extend_from_slice(&data[index * piece..data.len().min((index + 1) * piece)]);
        })
        .unwrap();
        out
    }

    fn pack(data: &[u8], piece: usize) -> Vec<u8> {
        pack_as(Content::Values, data, piece)
    }

    #[test]
    fn one_member_holds_all_pieces() {
        for (length, piece) in [(1, 10), (10, 10), (100_003, 1000), (3_000_001, 1 << 18)] {
            for (content, data) in [
                (Content::Values, bytes(length)),
                (Content::Values, warp(length)),
                (Content::Displacements, warp(length)),
                (Content::Displacements, bytes(length)),
            ] {
                let packed = pack_as(content, &data, piece);
                // This decoder stops at the end of the first gzip member. So no bytes are left if the data is a
                // single member.
                let mut decoder = flate2::bufread::GzDecoder::new(packed.as_slice());
                let mut unpacked = Vec::new();
                decoder.read_to_end(&mut unpacked).unwrap();
                assert_eq!(unpacked, data);
                assert!(decoder.into_inner().is_empty(), "{length} bytes in pieces of {piece}");
            }
        }
    }

    #[test]
    fn labels_repeat_and_warps_do_not() {
        let labels: Vec<u8> = (0..10_000_u32).flat_map(|at| (at / 40 % 7).to_le_bytes()).collect();
        assert!(repeats(&labels) && !repeats(&warp(40_000)) && !repeats(&[0; 999]));
        // A small mask in a large image: most voxels are zero, and those of the mask repeat.
        assert!(repeats(&[vec![0; 40_000], [1, 0, 0, 0].repeat(100), vec![0; 40_000]].concat()));
        // Each label occurs 40 times in sequence and has four bytes. A compressor that finds only runs of equal bytes
        // would need more than the expected size.
        assert!(pack(&labels, labels.len()).len() < 10_000 / 40 * 4);
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

    /// The deflate stream in a gzip file: what remains without the header, the checksum and the length.
    fn stream(packed: &[u8]) -> &[u8] {
        &packed[HEADER.len()..packed.len() - 8]
    }

    #[test]
    fn only_labels_are_searched_for_repeats_of_any_length() {
        // Rows of an image of labels that all are the same: random labels, each twice in sequence.
        let row: Vec<u8> = bytes(1000)[..400].iter().flat_map(|&label| [[label, 0, 0, 0]; 2].concat()).collect();
        let labels = row.repeat(50);
        assert!(repeats(&labels));
        let simple = |data: &[u8]| deflate::piece(data, true, &mut Vec::new());
        for (content, data) in [
            (Content::Displacements, &labels),
            (Content::Displacements, &warp(40_000)),
            (Content::Values, &warp(40_000)),
        ] {
            assert_eq!(stream(&pack_as(content, data, data.len())), simple(data), "{content:?}");
        }
        // A match of deflate has at most 258 bytes, and takes at most 48 bits with all its codes.
        let packed = pack(&labels, labels.len());
        assert!(stream(&packed).len() < row.len() + labels.len().div_ceil(258) * 6, "{}", packed.len());
        assert!(stream(&packed).len() < simple(&labels).len() / 2);
    }

    #[test]
    fn labels_are_searched_for_repeats_with_medium_effort() {
        // Rows of labels that differ from each other at random places. A longer search finds better matches.
        let row = bytes(1000);
        let labels: Vec<u8> = (0..100_usize)
            .flat_map(|n| row.iter().enumerate().map(move |(at, &label)| if at % 97 == n { 5 } else { label / 40 }))
            .flat_map(|label| [label, 0, 0, 0])
            .collect();
        let size = |mut compressor| search(&mut compressor, &labels, true, Vec::new()).unwrap().len();
        let [fastest, medium, default] = [1, LEVEL, 6].map(|level| size(Deflate::new(level, false, 15)));
        assert!(default < medium && medium < fastest, "{default} {medium} {fastest}");
        assert_eq!(size(new_compressor()), medium);
    }

    #[test]
    fn the_length_of_large_data_is_stored_modulo_2_to_the_32() {
        // The compressed bytes are not looked at, so the data can be larger than the memory: 4 GiB of zeros.
        let mut zeros = Hasher::new();
        zeros.update(&vec![0; 1 << 20]);
        (20..32).for_each(|_| zeros.combine(&zeros.clone()));
        let head = b"a header";
        let mut all = Hasher::new();
        all.update(head);
        all.combine(&zeros);
        let deflated = Deflated { bytes: vec![1, 2, 3], checksum: zeros.finalize(), count: 1 << 30 };
        let mut out = Vec::new();
        write_deflated(&mut out, head, &deflated).unwrap();
        let trailer = [all.finalize().to_le_bytes(), (head.len() as u32).to_le_bytes()].concat();
        assert_eq!(out[out.len() - 11..], [&deflated.bytes[..], &trailer].concat());
    }

    #[test]
    fn a_search_needs_no_buffer_of_the_right_size() {
        let mut compressor = new_compressor();
        // The short piece is compressed as a whole before any of its bytes is written.
        for data in [bytes(900), [bytes(900), warp(300_000)].concat()] {
            for room in [0, 1, 100, 400_000] {
                let mut joined = search(&mut compressor, &data, false, vec![0; room]).unwrap();
                joined.extend(search(&mut compressor, &data, true, vec![0; room]).unwrap());
                let mut unpacked = Vec::new();
                flate2::read::DeflateDecoder::new(joined.as_slice()).read_to_end(&mut unpacked).unwrap();
                assert!(unpacked == data.repeat(2), "{} bytes, room for {room}", data.len());
            }
        }
    }
}
