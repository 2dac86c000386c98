//! A stream of bits in the order of deflate, the lowest of each byte first.

use super::codes::Code;

/// Codes one after the other, at most 56 bits together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Joined {
    pub bits: u64,
    pub count: u32,
}

impl Joined {
    /// Appends a code and the bits behind it.
    #[inline(always)]
    pub fn add(&mut self, code: Code, extra: u64, bits: u32) {
        self.bits |= (u64::from(code.bits) | extra << code.length) << self.count;
        self.count += u32::from(code.length) + bits;
    }
}

/// Bits that are written.
pub(super) struct Bits {
    bytes: Vec<u8>,
    /// Whole bytes written.
    at: usize,
    /// Bits that fill no byte yet, at most 7, and their number.
    waiting: u64,
    count: u32,
}

impl Bits {
    /// With room for a piece of this number of bytes, as a rule.
    pub fn with_room_for(bytes: usize) -> Bits {
        Bits { bytes: vec![0; bytes + bytes / 64 + 1024], at: 0, waiting: 0, count: 0 }
    }

    /// Appends at most 56 bits.
    #[inline(always)]
    pub fn push(&mut self, bits: u64, count: u32) {
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

    /// Appends four codes, each of at most 14 bits.
    #[inline(always)]
    pub fn push_codes(&mut self, codes: [Code; 4]) {
        let mut joined = Joined::default();
        codes.into_iter().for_each(|code| joined.add(code, 0, 0));
        self.push(joined.bits, joined.count);
    }

    /// Appends a symbol and the bits behind it.
    #[inline(always)]
    pub fn push_symbol(&mut self, code: Code, extra: u64, bits: u32) {
        let mut joined = Joined::default();
        joined.add(code, extra, bits);
        self.push(joined.bits, joined.count);
    }

    /// All bytes; an empty block that is not compressed ends those that others follow, at the border of a byte.
    pub fn end(mut self, last: bool) -> Vec<u8> {
        if !last {
            self.push(0, 3);
        }
        self.push(0, (8 - self.count) % 8);
        self.bytes.truncate(self.at);
        if !last {
            self.bytes.extend([0, 0, 0xff, 0xff]);
        }
        self.bytes
    }
}
