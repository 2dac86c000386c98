use std::io::Read;

use super::Deflated;

/// Makes numbers like those of a displacement field: smooth values with zeros before and after, rounded to multiples
/// of `step` if given.
fn smooth(count: usize, step: Option<f32>) -> Vec<u8> {
    let value = |at: usize| {
        let x = at as f32 / count as f32 - 0.5;
        let value = if x.abs() > 0.3 { 0.0 } else { (40.0 * x).sin() * (0.3 - x.abs()) * 9.0 };
        step.map_or(value, |step| (value / step).round() * step)
    };
    (0..count).flat_map(|at| value(at).to_le_bytes()).collect()
}

fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Compresses a piece of data into a buffer that is not empty: it still contains random bytes, as if from an earlier
/// piece.
fn piece(bytes: &[u8], last: bool) -> Vec<u8> {
    super::piece(bytes, last, &mut noise(bytes.len() % 5000))
}

fn inflated(deflated: &[u8]) -> Vec<u8> {
    let mut decoder = flate2::read::DeflateDecoder::new(deflated);
    let mut out = Vec::new();
    decoder.read_to_end(&mut out).expect("a whole stream");
    assert_eq!(decoder.total_in(), deflated.len() as u64, "nothing is left behind the last block");
    out
}

#[test]
fn what_was_deflated_comes_back() {
    let one_byte = |byte, length| vec![byte; length];
    let mut cases = vec![Vec::new(), vec![7], noise(4), noise(1003), noise(1 << 18), smooth(100_001, None)];
    cases.extend([smooth(100_001, Some(1.0 / 1024.0)), one_byte(9, 5000)]);
    // Test data: runs of zeros that start at every position within a group of four bytes. Their lengths are near that
    // of the longest match of deflate and near multiples of this length.
    for words in (1..70).chain([128, 129, 130, 193, 194]) {
        cases.push([noise(8 + words % 4), one_byte(0, 4 * words), noise(9)].concat());
    }
    // Sequences of bytes that repeat at the largest distance that the compressor uses, and slightly beyond it.
    for cells in [1, 2, 255, 256, 257, 1023, 1024, 1025, 8192] {
        cases.push(noise(4 * cells).repeat(3));
    }
    // The symbol counts are such that unlimited Huffman codes would be too long for deflate.
    cases.push((0..24u8).flat_map(|byte| vec![byte; (1.6f64.powi(i32::from(byte)) * 4.0) as usize]).collect());
    for (n, case) in cases.iter().enumerate() {
        assert_eq!(inflated(&piece(case, true)), *case, "case {n}, {} bytes", case.len());
        let joined = [piece(case, false), piece(case, true)].concat();
        assert_eq!(inflated(&joined), case.repeat(2), "case {n}, twice");
    }
}

#[test]
fn the_size_is_near_to_what_the_bytes_hold() {
    // Entropy of the bytes in bits: the smallest size to which any code of single bytes can compress them.
    let entropy = |bytes: &[u8]| {
        let mut counts = [0u32; 256];
        bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        let share = |count: &u32| f64::from(*count) / bytes.len() as f64;
        -counts.iter().filter(|count| **count > 0).map(|count| share(count) * share(count).log2()).sum::<f64>()
    };
    let size = |bytes: &[u8]| piece(bytes, true).len() as f64;
    // Random bytes cannot be compressed. The code tables of all deflate blocks add at most 0.6 % to their size.
    let random = noise(1 << 18);
    assert!(size(&random) < 1.006 * random.len() as f64, "{}", size(&random));
    let [exact, rounded] = [None, Some(1.0 / 1024.0)].map(|step| smooth(1 << 18, step));
    let inside: Vec<u8> =
        exact.as_chunks::<4>().0.iter().filter(|word| **word != [0; 4]).flatten().copied().collect();
    assert!(size(&exact) < 1.02 * entropy(&inside) / 8.0 * inside.len() as f64, "zeros around cost next to nothing");
    assert!(size(&rounded) < 0.62 * size(&exact), "{} of {}", size(&rounded), size(&exact));
    // A mebibyte of zeros takes at most the code tables of 32 deflate blocks, and 128 matches (references to earlier
    // bytes) in each block.
    assert!(size(&vec![0; 1 << 20]) < 32.0 * 320.0);
}

#[test]
fn repeats_of_three_bytes_are_not_stored_again() {
    // 60 cells of random bytes occur again and again, each time with another fourth byte. So three of four bytes repeat
    // those 240 bytes before. A match that stands for them takes 6 extra bits of its distance, and little more because
    // all matches have the same symbols: some 8 bits in place of 24. The random byte takes 8 bits more.
    let cells = noise(240);
    let mut data = noise(60 * 4 * 250);
    for (at, byte) in data.iter_mut().enumerate().filter(|(at, _)| at % 4 != 3) {
        *byte = cells[at % 240];
    }
    // Cells begin at the fourth byte of the data.
    data.splice(..0, [0; 3]);
    let size = piece(&data, true).len();
    assert!(10 * size < 6 * data.len(), "{size} of {}", data.len());
}

#[test]
fn a_buffer_for_a_piece_has_room_for_data_that_cannot_be_compressed() {
    let (data, mut memory) = (noise(1 << 19), Vec::new());
    super::piece(&data, true, &mut memory);
    // A buffer that were too small would have been doubled.
    assert!(memory.len() < data.len() * 11 / 10, "{}", memory.len());
}

#[test]
fn numbers_are_compressed_in_independent_pieces() {
    for count in [1, 5, Deflated::PIECE, Deflated::PIECE + 1, 2 * Deflated::PIECE + 77] {
        let bytes = smooth(count, Some(1.0 / 1024.0));
        let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let deflated = Deflated::of(&numbers);
        assert_eq!(inflated(&deflated.bytes), bytes);
        assert_eq!((deflated.checksum, deflated.count), (crc32fast::hash(&bytes), count));
        let pieces: Vec<&[u8]> = bytes.chunks(4 * Deflated::PIECE).collect();
        let alone = pieces.iter().enumerate().flat_map(|(n, bytes)| piece(bytes, n + 1 == pieces.len()));
        assert!(deflated.bytes.into_iter().eq(alone), "{count}");
    }
}
