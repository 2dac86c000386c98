//! Opening a file that may be gzipped, whatever its name says.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind as IoKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::{Error, ErrorKind};

/// Deflate cannot pack more tightly than this.
const LARGEST_RATIO: u64 = 1032;

/// A file as a stream of bytes, decompressed if it is gzipped.
pub(crate) struct Source {
    reader: Box<dyn Read>,
    /// Whether the file is gzipped.
    pub gzipped: bool,
    /// No more bytes than this can come out.
    pub most_bytes: u64,
    /// Bytes that came out so far.
    pub position: u64,
}

impl Source {
    /// Opens `path`; an empty file is an error.
    pub fn open(path: &Path) -> Result<Source, Error> {
        let wrap = |error: std::io::Error| Error::new(path, error);
        let file = File::open(path).map_err(wrap)?;
        let length = file.metadata().map_err(wrap)?.len();
        let mut buffered = BufReader::with_capacity(1 << 18, file);
        let start = buffered.fill_buf().map_err(wrap)?;
        if start.is_empty() {
            return Err(Error::new(path, ErrorKind::Empty));
        }
        let gzipped = start.starts_with(&[0x1f, 0x8b]);
        Ok(if gzipped {
            let most_bytes = length.saturating_mul(LARGEST_RATIO);
            Source { reader: Box::new(MultiGzDecoder::new(buffered)), gzipped, most_bytes, position: 0 }
        } else {
            Source { reader: Box::new(buffered), gzipped, most_bytes: length, position: 0 }
        })
    }

    /// Fills `buffer` as far as the stream goes; returns the bytes filled.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == IoKind::Interrupted => {}
                // A gzip stream cut short: the caller knows how much it wanted.
                Err(error) if error.kind() == IoKind::UnexpectedEof => break,
                Err(error) if self.gzipped => return Err(ErrorKind::Gzip(error)),
                Err(error) => return Err(error.into()),
            }
        }
        self.position += filled as u64;
        Ok(filled)
    }

    /// Reads on to the end, so that a gzip stream's checksum is checked.
    pub fn finish(&mut self) -> Result<(), ErrorKind> {
        let mut rest = [0; 4096];
        while self.gzipped {
            match self.reader.read(&mut rest) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == IoKind::Interrupted => {}
                Err(error) => return Err(ErrorKind::Gzip(error)),
            }
        }
        Ok(())
    }
}
