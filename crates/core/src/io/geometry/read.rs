//! A file that is read by lines, words and bytes.

use super::super::ErrorKind;
use super::super::source::Source;
use super::fault::{Fault, Sink, wrong};

/// Size of the buffer, bytes.
const BUFFER: usize = 1 << 16;

/// Longest line or word of a text, bytes.
const LONGEST: usize = 1 << 16;

/// A stream of bytes.
pub(super) trait Bytes {
    /// Fills `buffer`; returns the number of bytes, which is smaller only at the end of the stream.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind>;
    /// Number of bytes that have been given so far.
    fn position(&self) -> u64;
    /// The error of a stream that ends here although `expected` bytes were needed.
    fn ended(&self, expected: u64) -> ErrorKind;
}

/// A file that is read from its start to its end.
pub(super) struct Reader {
    source: Source,
    buffer: Vec<u8>,
    at: usize,
}

impl Reader {
    pub fn new(source: Source) -> Reader {
        Reader { source, buffer: Vec::new(), at: 0 }
    }

    /// Bytes that have been read from the file but not given yet. Empty only at the end of the file.
    fn held(&mut self) -> Result<&[u8], ErrorKind> {
        if self.at == self.buffer.len() {
            self.buffer.resize(BUFFER, 0);
            let filled = self.source.fill(&mut self.buffer)?;
            self.buffer.truncate(filled);
            self.at = 0;
        }
        Ok(&self.buffer[self.at..])
    }

    /// The next line with its end, into `line`; false at the end of the file.
    pub fn line(&mut self, line: &mut Vec<u8>) -> Result<bool, ErrorKind> {
        line.clear();
        loop {
            let held = self.held()?;
            let (count, ends) = match held.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (held.len(), held.is_empty()),
            };
            line.extend_from_slice(&held[..count]);
            self.at += count;
            if line.len() > LONGEST {
                return Err(wrong("a line of the file", format!("at most {LONGEST} bytes"), "more"));
            }
            if ends {
                return Ok(!line.is_empty());
            }
        }
    }

    /// The next word into `word`, without the space after it; empty at the end of the file.
    pub fn word(&mut self, word: &mut Vec<u8>) -> Result<(), ErrorKind> {
        word.clear();
        loop {
            let held = self.held()?;
            let space = held.iter().take_while(|byte| word.is_empty() && byte.is_ascii_whitespace()).count();
            let letters = held[space..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
            word.extend_from_slice(&held[space..space + letters]);
            let ends = held.is_empty() || space + letters < held.len();
            self.at += space + letters;
            if word.len() > LONGEST {
                return Err(wrong("a word of the file", format!("at most {LONGEST} bytes"), "more"));
            }
            if ends {
                return Ok(());
            }
        }
    }

    /// Writes all bytes that have not been read yet.
    pub fn copy_rest(mut self, sink: &mut Sink) -> Result<(), Fault> {
        loop {
            let held = self.held()?;
            if held.is_empty() {
                break;
            }
            sink.put(held)?;
            self.at = self.buffer.len();
        }
        Ok(self.source.finish()?)
    }
}

impl Bytes for Reader {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        let ready = (self.buffer.len() - self.at).min(buffer.len());
        buffer[..ready].copy_from_slice(&self.buffer[self.at..self.at + ready]);
        self.at += ready;
        Ok(ready + self.source.fill(&mut buffer[ready..])?)
    }

    fn position(&self) -> u64 {
        self.source.position() - (self.buffer.len() - self.at) as u64
    }

    fn ended(&self, expected: u64) -> ErrorKind {
        self.source.truncated(expected)
    }
}
