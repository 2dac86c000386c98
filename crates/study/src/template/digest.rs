//! Digests: of files, and of what a step depends on.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread::Builder;

use antsreg_core::io::Listener;
use crossbeam_channel::bounded;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Error;

/// Bytes read at a time.
const PIECE: usize = 1 << 20;

/// A file and its contents, by length and digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Where it is: below the atlas's folder, or absolute.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// Makes the record of a file from its bytes.
#[derive(Default)]
struct Recorder {
    digest: Sha256,
    bytes: u64,
}

impl Recorder {
    /// Takes the next bytes.
    fn add(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// The record of all bytes, under the name `path`.
    fn finish(self, path: PathBuf) -> FileRecord {
        FileRecord { path, bytes: self.bytes, sha256: hexadecimal(&self.digest.finalize()) }
    }
}

/// The record of a file, under the name `path`, while `write` writes it and passes the bytes to its listener. Their digest is
/// taken on another thread.
///
/// # Errors
/// As `write` fails.
pub fn while_written<E>(path: PathBuf, write: impl FnOnce(Listener) -> Result<(), E>) -> Result<FileRecord, E> {
    /// Pieces on their way.
    const PIECES: usize = 4;
    let (to_recorder, to_record) = bounded::<Vec<u8>>(PIECES);
    let (to_writer, used) = bounded(PIECES);
    std::thread::scope(|scope| {
        let record = move || {
            let mut recorder = Recorder::default();
            for bytes in to_record {
                recorder.add(&bytes);
                // A buffer that the writer has no use for is dropped.
                let _ = to_writer.try_send(bytes);
            }
            recorder
        };
        let Ok(recorder) = Builder::new().name("digest of a file".into()).spawn_scoped(scope, record) else {
            // No thread could be started for it.
            let mut recorder = Recorder::default();
            let written = write(&mut |bytes| {
                recorder.add(&bytes);
                bytes
            });
            return written.map(|()| recorder.finish(path));
        };
        let mut tell = |bytes: Vec<u8>| {
            // The recorder takes all, unless it panics, which `join` below finds.
            let _ = to_recorder.send(bytes);
            used.try_recv().unwrap_or_default()
        };
        let written = write(&mut tell);
        drop(to_recorder);
        let recorder = recorder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map(|()| recorder.finish(path))
    })
}

impl FileRecord {
    /// Of the file at `place`, under the name `path`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(place: &Path, path: PathBuf) -> Result<FileRecord, Error> {
        let wrap = |source| Error::Read { path: place.into(), source };
        let mut file = File::open(place).map_err(wrap)?;
        let (mut recorder, mut piece) = (Recorder::default(), vec![0; PIECE]);
        loop {
            match file.read(&mut piece).map_err(wrap)? {
                0 => return Ok(recorder.finish(path)),
                count => recorder.add(&piece[..count]),
            }
        }
    }
}

/// SHA-256 of a list of words, each preceded by its length: `ab c` and `a bc` differ.
pub fn of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut digest = Sha256::new();
    for word in words {
        digest.update((word.len() as u64).to_le_bytes());
        digest.update(word);
    }
    hexadecimal(&digest.finalize())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_digest_that_sha256sum_prints() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").expect("a file");
        let record = FileRecord::of(&path, "abc".into()).expect("a record");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((record.bytes, record.sha256.as_str()), (3, expected));
    }

    #[test]
    fn bytes_in_pieces_have_the_record_of_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pieces");
        let pieces: Vec<Vec<u8>> = (0..40u8).map(|n| vec![n; 100 * usize::from(n % 7)]).collect();
        std::fs::write(&path, pieces.concat()).expect("a file");
        let heard = while_written("pieces".into(), |listener| {
            for piece in pieces.clone() {
                listener(piece);
            }
            Ok::<_, Error>(())
        });
        let expected = FileRecord::of(&path, "pieces".into()).expect("a record");
        assert_eq!(heard.expect("a record"), expected);
        let failed: Result<FileRecord, u8> = while_written("nothing".into(), |_| Err(7));
        assert_eq!(failed, Err(7));
    }

    #[test]
    fn words_do_not_run_together() {
        assert_ne!(of_words(["ab", "c"]), of_words(["a", "bc"]));
        assert_ne!(of_words(["a"]), of_words(["a", ""]));
    }
}
