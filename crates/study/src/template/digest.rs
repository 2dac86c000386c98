//! SHA-256 digests of files, and of the data (such as options and names) that a step depends on.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use antsreg_core::io::Listener;
use crossbeam_channel::bounded;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Error;

/// Number of bytes of a file that are read at a time.
const PIECE: usize = 1 << 20;

/// The record of a file: path, length and SHA-256 digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Path of the file: absolute, or relative to the folder of the template.
    pub path: PathBuf,
    /// Length of the file, bytes.
    pub bytes: u64,
    /// SHA-256 digest of the file, in hexadecimal.
    pub sha256: String,
}

/// Computes the length and the SHA-256 digest of a file from its bytes.
#[derive(Default)]
struct Recorder {
    digest: Sha256,
    bytes: u64,
}

impl Recorder {
    /// Adds the next bytes of the file to the digest and to the length.
    fn add(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Returns the record of the file: length and SHA-256 digest of all bytes that were added. The name of the file in
    /// the record is `path`.
    fn finish(self, path: PathBuf) -> FileRecord {
        FileRecord { path, bytes: self.bytes, sha256: hexadecimal(&self.digest.finalize()) }
    }
}

/// Makes the record of a file. `write` writes the file and passes the written bytes to a callback. A separate thread
/// computes the digest from these bytes while the file is written. In the record the file is named `path`.
///
/// # Errors
/// The errors of `write`; a thread that cannot be started.
pub fn while_written(path: PathBuf, write: impl FnOnce(Listener) -> Result<(), Error>) -> Result<FileRecord, Error> {
    /// Largest number of buffers of written bytes that wait between the writing thread and the thread that computes the
    /// digest.
    const PIECES: usize = 4;
    let (to_recorder, pieces) = bounded::<Vec<u8>>(PIECES);
    let (to_writer, used) = bounded(PIECES);
    std::thread::scope(|scope| {
        let recorder = spawn(scope, "digests of files", move || {
            let mut recorder = Recorder::default();
            for bytes in pieces {
                recorder.add(&bytes);
                // A buffer whose bytes were added to the digest goes back to the writing thread. If enough buffers are
                // waiting there already, this buffer is freed.
                let _ = to_writer.try_send(bytes);
            }
            recorder
        })?;
        let mut tell = |bytes: Vec<u8>| {
            // Sending the bytes fails only if the thread that computes the digest has panicked. The panic is passed on
            // when the thread is joined.
            let _ = to_recorder.send(bytes);
            used.try_recv().unwrap_or_default()
        };
        let written = write(&mut tell);
        drop(to_recorder);
        let recorder = recorder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map(|()| recorder.finish(path))
    })
}

/// Starts a thread that runs `work` and ends before `scope` ends. If the thread cannot be started, `work` is dropped.
///
/// # Errors
/// If the system starts no further thread.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    purpose: &'static str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Error> {
    let started = Builder::new().name(purpose.into()).spawn_scoped(scope, work);
    Ok(started.map_err(|source| antsreg_pool::Error::Thread { purpose, source })?)
}

impl FileRecord {
    /// Makes the record (length and digest) of the file at `place`. The record names the file `path`.
    ///
    /// # Errors
    /// A file that cannot be read.
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

/// The digest of a list of words. The length of each word is included, so that different lists have different
/// digests.
pub fn of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut digest = Sha256::new();
    for word in words {
        digest.update((word.len() as u64).to_le_bytes());
        digest.update(word);
    }
    hexadecimal(&digest.finalize())
}

/// The digest of plain data, computed from its JSON.
///
/// # Errors
/// Data that cannot be written as JSON.
pub fn of_data(data: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(hexadecimal(&Sha256::digest(serde_json::to_vec(data)?)))
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
    fn a_file_written_in_pieces_has_the_record_of_the_whole_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pieces");
        let pieces: Vec<Vec<u8>> = (0..40u8).map(|n| vec![n; 100 * usize::from(n % 7)]).collect();
        std::fs::write(&path, pieces.concat()).expect("a file");
        let found = while_written("pieces".into(), |listener| {
            for piece in pieces.clone() {
                listener(piece);
            }
            Ok(())
        });
        let expected = FileRecord::of(&path, "pieces".into()).expect("a record");
        assert_eq!(found.expect("a record"), expected);
        let failed = while_written("nothing".into(), |_| Err(Error::NotUtf8 { path: "nothing".into() }));
        assert!(matches!(failed, Err(Error::NotUtf8 { .. })));
    }

    #[test]
    fn different_lists_of_words_have_different_digests() {
        assert_ne!(of_words(["ab", "c"]), of_words(["a", "bc"]));
        assert_ne!(of_words(["a"]), of_words(["a", ""]));
    }
}
