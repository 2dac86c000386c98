//! A stream of bits in the order of deflate: the lowest bit of a byte comes first.

use super::codes::Code;

/// A sequence of several prefix codes, joined to one number of at most 56 bits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Joined {
    pub bits: u64,
    pub count: u32,
}

impl Joined {
    /// Makes a sequence of bits for the compressed stream from a single prefix code.
    #[inline(always)]
    pub fn of(code: Code) -> Joined {
        Joined { bits: code.bits.into(), count: code.length.into() }
    }

    /// Appends a prefix code to the sequence of bits. After the code come the extra bits that deflate needs for some
    /// symbols; `extra` is their value and `bits` their number.
    #[inline(always)]
    pub fn add(&mut self, code: Code, extra: u64, bits: u32) {
        self.bits |= (u64::from(code.bits) | extra << code.length) << self.count;
        self.count += u32::from(code.length) + bits;
    }
}

/// Writes a stream of bits to a buffer of bytes.
pub(super) struct Bits<'a> {
    /// Buffer for the compressed bytes; old contents are overwritten from the start.
    bytes: &'a mut Vec<u8>,
    /// Number of complete bytes of the compressed stream that are in the buffer.
    at: usize,
    /// The last bits of the compressed stream, which do not fill a byte yet (`waiting`), and their number (`count`), at
    /// most 7.
    waiting: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    /// Starts a bit stream in the buffer `memory`, which is enlarged to hold `bytes` bytes. The old contents of the
    /// buffer are overwritten.
    pub fn with_room_for(bytes: usize, memory: &'a mut Vec<u8>) -> Bits<'a> {
        let room = bytes + bytes / 64 + 1024;
        memory.resize(memory.len().max(room), 0);
        Bits { bytes: memory, at: 0, waiting: 0, count: 0 }
    }

    /// Appends codes.
    #[inline(always)]
    pub fn push(&mut self, Joined { bits, count }: Joined) {
        self.push_bits(bits, count);
    }

    /// Appends the lowest `count` bits of a number, at most 56.
    #[inline(always)]
    pub fn push_bits(&mut self, bits: u64, count: u32) {
        self.waiting |= bits << self.count;
        self.count += count;
        if self.at + 8 > self.bytes.len() {
            self.bytes.resize(2 * self.bytes.len(), 0);
        }
        self.bytes[self.at..self.at + 8].copy_from_slice(&self.waiting.to_le_bytes());
        self.at += (self.count >> 3) as usize;
        self.waiting >>= self.count & !7;
        self.count &= 7;
    }

    /// Ends the stream at a byte boundary and returns its bytes. Unless the stream is the `last` piece of a compressed
    /// file, it ends with an empty uncompressed block.
    pub fn end(mut self, last: bool) -> Vec<u8> {
        if !last {
            self.push_bits(0, 3);
        }
        self.push_bits(0, (8 - self.count) % 8);
        let mut bytes = self.bytes[..self.at].to_vec();
        if !last {
            bytes.extend([0, 0, 0xff, 0xff]);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_is_too_small_grows() {
        // Each push has seven bytes, so that no push ends eight bytes before the end of the buffer.
        let mut memory = Vec::new();
        let mut bits = Bits::with_room_for(0, &mut memory);
        let room = bits.bytes.len() as u64;
        for n in 0..room {
            bits.push_bits(n, 56);
        }
        let expected: Vec<u8> = (0..room).flat_map(|n| n.to_le_bytes()[..7].to_vec()).collect();
        assert_eq!(bits.end(true), expected);
    }

    #[test]
    fn a_buffer_that_suffices_does_not_grow() {
        // A number is written with eight bytes at a time, so the last byte may begin eight bytes before the end.
        let mut memory = Vec::new();
        let mut bits = Bits::with_room_for(0, &mut memory);
        let room = bits.bytes.len();
        for _ in 0..room - 7 {
            bits.push_bits(0, 8);
        }
        assert_eq!(bits.bytes.len(), room);
        bits.push_bits(0, 8);
        assert!(bits.bytes.len() > room);
    }
}
