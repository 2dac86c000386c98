//! Reads small files completely: regular files of limited size.

use std::path::Path;

use super::source::Source;
use super::{Error, ErrorKind, foreign};
use crate::memory::{self, Shortage};

/// Number of bytes that are read from a file at a time.
const BLOCK: usize = 1 << 16;

/// UTF-8's byte order mark, which spreadsheets and editors write at the start of a file.
const MARK: &str = "\u{feff}";

/// Reads all bytes of a regular file, decompressed if it is gzipped. `what` says in messages what the file should be,
/// such
/// as "a table".
///
/// # Errors
/// The file does not exist, or is a folder, a pipe or a device; the file is empty, damaged or longer than `most`
/// bytes.
pub fn read_bytes(path: &Path, what: &'static str, most: u64) -> Result<Vec<u8>, Error> {
    match read_start(path, most)? {
        (bytes, true) => Ok(bytes),
        (_, false) => Err(Error::new(path, ErrorKind::TooLong { what, most })),
    }
}

/// Reads at most the first `most` bytes of a regular file, decompressed if it is gzipped. Also returns whether the
/// file has no more bytes than these.
pub(super) fn read_start(path: &Path, most: u64) -> Result<(Vec<u8>, bool), Error> {
    let wrap = |kind| Error::new(path, kind);
    let mut source = Source::open(path)?;
    let mut bytes = Vec::new();
    loop {
        let start = bytes.len();
        // Up to one byte more than `most` is read, to see whether the file is longer than allowed.
        let step = (most.saturating_add(1) - start as u64).min(BLOCK as u64) as usize;
        let end = start + step;
        bytes
            .try_reserve(step)
            .map_err(|_| wrap(Shortage { wanted: end as u64, available: memory::available() }.into()))?;
        bytes.resize(end, 0);
        let filled = source.fill(&mut bytes[start..]).map_err(wrap)?;
        bytes.truncate(start + filled);
        if bytes.len() as u64 > most {
            bytes.pop();
            return Ok((bytes, false));
        }
        if filled < step {
            source.finish().map_err(wrap)?;
            return Ok((bytes, true));
        }
    }
}

/// Reads the text of a regular file, without a byte order mark. The file may be gzipped, as for [`read_bytes`].
///
/// # Errors
/// Those of [`read_bytes`]; the bytes are not UTF-8 text.
pub fn read_text(path: &Path, what: &'static str, most: u64) -> Result<String, Error> {
    let bytes = read_bytes(path, what, most)?;
    match text_of(&bytes) {
        Some(text) => Ok(text.into()),
        None => Err(Error::new(path, ErrorKind::Format { expected: "text in UTF-8", found: describe(&bytes) })),
    }
}

/// Interprets bytes as text, without a byte order mark; `None` if the bytes are not UTF-8 text.
pub(super) fn text_of(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then(|| text.strip_prefix(MARK).unwrap_or(text))
}

/// Describes the start of a file for messages: a known format, text, or the first bytes.
pub(super) fn describe(bytes: &[u8]) -> String {
    const SHOWN: usize = 20;
    let start = bytes.get(..SHOWN).unwrap_or(bytes);
    if let Some(name) = foreign::name(bytes) {
        name.into()
    } else if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        "text in UTF-16 (save it as UTF-8)".into()
    } else if let Some(text) = text_of(bytes) {
        let start: String = text.chars().take(SHOWN).collect();
        format!("text that starts with \"{}\"", start.escape_debug())
    } else {
        format!("binary data that starts with \"{}\"", start.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_or_no_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read_text(&path, "a list", 5).map_err(|error| error.kind)
        };
        assert_eq!(read(b"12345").unwrap(), "12345");
        assert!(matches!(read(b"123456"), Err(ErrorKind::TooLong { what: "a list", most: 5 })));
        assert_eq!(read(b"\xef\xbb\xbf12").unwrap(), "12");
        for (bytes, name) in [
            (b"\xff\xfe1\0".as_slice(), "text in UTF-16"),
            (b"\xfeab", "binary data"),
            (b"a\0b", "binary data"),
            (b"BZh\xff", "a file packed by bzip2"),
        ] {
            let text = read(bytes).unwrap_err().to_string();
            assert!(text.starts_with(&format!("not text in UTF-8: found {name}")), "{text}");
        }
        // The text is longer than several of the blocks in which a file is read.
        let long = vec![b'a'; 3 * BLOCK + 1];
        std::fs::write(&path, &long).unwrap();
        assert_eq!(read_bytes(&path, "a list", u64::MAX).unwrap(), long);
        assert_eq!(read_start(&path, BLOCK as u64).unwrap(), (long[..BLOCK].to_vec(), false));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_or_a_device_is_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            let error = read_text(path, "a list", 5).unwrap_err();
            assert!(error.to_string().ends_with("expected a regular file"), "{error}");
        }
    }
}
