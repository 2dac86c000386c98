//! Reading of files that may be gzipped. Gzip is recognised by the contents of a file, not by its extension.

use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Cursor, ErrorKind as IoKind, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use flate2::bufread::{GzDecoder, ZlibDecoder};

use super::{Error, ErrorKind};

/// Largest compression ratio of deflate: unpacked bytes for each compressed byte.
const LARGEST_RATIO: u64 = 1032;

/// Smallest and largest size of the buffer with which a file is read, bytes.
const LEAST_BUFFER: u64 = 1 << 9;
const MOST_BUFFER: u64 = 1 << 18;

/// Compression of a part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
    Zlib,
}

/// An open file as a stream of bytes, decompressed if the file is gzipped.
pub(crate) struct Source {
    reader: Box<dyn Read + Send>,
    length: u64,
    gzipped: bool,
    position: u64,
    plain: Option<PlainFile>,
}

impl Source {
    /// Opens `path`; an empty file is an error.
    pub fn open(path: &Path) -> Result<Source, Error> {
        let wrap = |error: std::io::Error| Error::new(path, error);
        // The kind of file is checked before it is opened, because opening a pipe would wait for a writer.
        check_regular(path, &std::fs::metadata(path).map_err(wrap)?)?;
        let file = File::open(path).map_err(wrap)?;
        let metadata = file.metadata().map_err(wrap)?;
        check_regular(path, &metadata)?;
        let length = metadata.len();
        let file = Arc::new(file);
        let capacity = length.clamp(LEAST_BUFFER, MOST_BUFFER) as usize;
        let mut buffered = BufReader::with_capacity(capacity, file.clone());
        let start = buffered.fill_buf().map_err(wrap)?;
        if start.is_empty() {
            return Err(Error::new(path, ErrorKind::Empty));
        }
        let gzipped = start.starts_with(&[0x1f, 0x8b]);
        let plain = (!gzipped).then_some(PlainFile { file });
        let reader: Box<dyn Read + Send> =
            if gzipped { Box::new(Members(Some(GzDecoder::new(buffered)))) } else { Box::new(buffered) };
        Ok(Source { reader, length, gzipped, position: 0, plain })
    }

    /// Opens the part of `path` that begins at byte `start` and has this compression, whatever its first bytes are.
    pub fn open_at(path: &Path, start: u64, packing: Packing) -> Result<Source, Error> {
        let wrap = |error: std::io::Error| Error::new(path, error);
        check_regular(path, &std::fs::metadata(path).map_err(wrap)?)?;
        let mut file = File::open(path).map_err(wrap)?;
        let metadata = file.metadata().map_err(wrap)?;
        check_regular(path, &metadata)?;
        file.seek(SeekFrom::Start(start)).map_err(wrap)?;
        let length = metadata.len().saturating_sub(start);
        let buffered = BufReader::with_capacity(length.clamp(LEAST_BUFFER, MOST_BUFFER) as usize, file);
        let reader: Box<dyn Read + Send> = match packing {
            Packing::None => Box::new(buffered),
            Packing::Gzip => Box::new(Members(Some(GzDecoder::new(buffered)))),
            Packing::Zlib => Box::new(ZlibDecoder::new(buffered)),
        };
        Ok(Source { reader, length, gzipped: packing != Packing::None, position: 0, plain: None })
    }

    /// A stream of bytes that are in memory.
    pub fn of_bytes(bytes: Vec<u8>) -> Source {
        let length = bytes.len() as u64;
        Source { reader: Box::new(Cursor::new(bytes)), length, gzipped: false, position: 0, plain: None }
    }

    /// The file, if it is not compressed, so that several threads can read it.
    pub fn plain(&self) -> Option<&PlainFile> {
        self.plain.as_ref()
    }

    /// Number of bytes of the file that have been read so far, after decompression.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Checks that the file can contain `expected` bytes after decompression, before memory is allocated for them.
    pub fn check_holds(&self, expected: u64) -> Result<(), ErrorKind> {
        if self.gzipped && expected > self.length.saturating_mul(LARGEST_RATIO) {
            Err(ErrorKind::Announced { announced: expected, packed: self.length })
        } else if !self.gzipped && expected > self.length {
            Err(ErrorKind::Truncated { expected, found: self.length, unpacked: false })
        } else {
            Ok(())
        }
    }

    /// The error of a stream that ended although `expected` bytes were needed.
    pub fn truncated(&self, expected: u64) -> ErrorKind {
        ErrorKind::Truncated { expected, found: self.position, unpacked: self.gzipped }
    }

    /// Fills `buffer` with the next bytes of the stream; returns their number, which is smaller than the buffer only
    /// at the end of the stream.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == IoKind::Interrupted => {}
                // The gzip stream is truncated. This is not an error here: the caller knows how many bytes it needs.
                Err(error) if error.kind() == IoKind::UnexpectedEof => break,
                Err(error) if self.gzipped => return Err(ErrorKind::Gzip(error)),
                Err(error) => return Err(error.into()),
            }
        }
        self.position += filled as u64;
        Ok(filled)
    }

    /// Reads the file up to byte `position`, counted after decompression, and discards the bytes; returns false if the
    /// file ends before.
    pub fn skip_to(&mut self, position: u64) -> Result<bool, ErrorKind> {
        let mut scratch = [0; 4096];
        while self.position < position {
            let step = scratch.len().min((position - self.position) as usize);
            if self.fill(&mut scratch[..step])? < step {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads a gzip stream to its end, so that its checksum is checked.
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

/// A file without compression, which several threads can read.
pub(crate) struct PlainFile {
    file: Arc<File>,
}

impl PlainFile {
    /// Reads all bytes of `buffer` at a place of the file. `expected` is the number of bytes that the file should have.
    pub fn read_at(&self, place: u64, buffer: &mut [u8], expected: u64) -> Result<(), ErrorKind> {
        self.file.read_exact_at(buffer, place).map_err(|error| match error.kind() {
            // The file was long enough when it was opened.
            IoKind::UnexpectedEof => {
                let found = self.file.metadata().map_or(0, |metadata| metadata.len());
                ErrorKind::Truncated { expected, found, unpacked: false }
            }
            _ => error.into(),
        })
    }
}

fn check_regular(path: &Path, metadata: &Metadata) -> Result<(), Error> {
    if metadata.is_file() {
        return Ok(());
    }
    let what = if metadata.is_dir() { "a folder" } else { "a pipe or a device" };
    Err(Error::new(path, ErrorKind::NotAFile(what)))
}

/// Reads the members of a gzip file one after another as one stream. Bytes after the last member are ignored, as by
/// gzip and zlib, because files on tapes or copied in whole blocks may end with zeros.
struct Members<R>(Option<GzDecoder<R>>);

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while let Some(member) = &mut self.0
            && !buffer.is_empty()
        {
            let count = member.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            // The gzip member has ended, and its checksum was correct. Another gzip member may follow in the file.
            let mut rest = match self.0.take() {
                Some(member) => member.into_inner(),
                None => break,
            };
            if rest.fill_buf()?.first() == Some(&0x1f) {
                self.0 = Some(GzDecoder::new(rest));
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// A reader that gives one result of this list for each call.
    struct Results(VecDeque<Result<Vec<u8>, IoKind>>);

    impl Read for Results {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let bytes = self.0.pop_front().unwrap_or(Err(IoKind::Other))?;
            buffer[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        }
    }

    fn source(gzipped: bool, results: impl IntoIterator<Item = Result<Vec<u8>, IoKind>>) -> Source {
        Source {
            reader: Box::new(Results(results.into_iter().collect())),
            length: 10,
            gzipped,
            position: 0,
            plain: None,
        }
    }

    #[test]
    fn an_interrupted_call_is_repeated() {
        let results =
            || [Err(IoKind::Interrupted), Ok(vec![1, 2]), Err(IoKind::Interrupted), Ok(vec![3]), Ok(vec![])];
        let mut buffer = [0; 4];
        assert_eq!(source(false, results()).fill(&mut buffer).unwrap(), 3);
        assert_eq!(buffer, [1, 2, 3, 0]);
        source(true, results()).finish().unwrap();
    }

    #[test]
    fn no_byte_behind_a_full_buffer_is_asked_for() {
        // The reader fails after these bytes.
        let mut source = source(false, [Ok(vec![1, 2]), Ok(vec![3])]);
        assert_eq!(source.fill(&mut [0; 3]).unwrap(), 3);
        assert_eq!(source.position(), 3);
        assert!(matches!(source.fill(&mut [0; 1]), Err(ErrorKind::System(_))));
    }

    #[test]
    fn only_a_gzip_stream_can_be_damaged() {
        let fails = |gzipped| source(gzipped, [Err(IoKind::InvalidData)]);
        assert!(matches!(fails(false).fill(&mut [0; 3]), Err(ErrorKind::System(_))));
        assert!(matches!(fails(true).fill(&mut [0; 3]), Err(ErrorKind::Gzip(_))));
        assert!(matches!(fails(true).finish(), Err(ErrorKind::Gzip(_))));
        fails(false).finish().unwrap();
    }

    #[test]
    fn a_file_holds_at_most_1032_times_its_packed_bytes() {
        assert!(source(true, []).check_holds(10_320).is_ok());
        assert!(matches!(
            source(true, []).check_holds(10_321),
            Err(ErrorKind::Announced { announced: 10_321, packed: 10 })
        ));
        assert!(source(false, []).check_holds(10).is_ok());
        assert!(matches!(
            source(false, []).check_holds(11),
            Err(ErrorKind::Truncated { expected: 11, found: 10, unpacked: false })
        ));
    }

    #[test]
    fn a_file_that_shrinks_while_it_is_read_is_truncated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, [1; 1000]).unwrap();
        let source = Source::open(&path).unwrap();
        let plain = source.plain().unwrap();
        plain.read_at(900, &mut [0; 100], 1000).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(950).unwrap();
        let error = plain.read_at(900, &mut [0; 100], 1000).unwrap_err();
        assert!(matches!(error, ErrorKind::Truncated { expected: 1000, found: 950, unpacked: false }), "{error}");
    }

    #[test]
    fn bytes_are_skipped_up_to_a_position() {
        let one_by_one = |last: u8| (0..last).map(|byte| Ok(vec![byte])).chain([Ok(vec![])]);
        let mut source = source(false, one_by_one(6));
        source.fill(&mut [0; 1]).unwrap();
        for (position, next) in [(3, 3), (2, 4)] {
            assert!(source.skip_to(position).unwrap());
            let mut byte = [0];
            source.fill(&mut byte).unwrap();
            assert_eq!(byte, [next]);
        }
        assert!(!source.skip_to(8).unwrap(), "the file ends before");
        assert_eq!(source.position(), 6);
    }
}
