//! Digests: of files, and of what a step depends on.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::CliError;

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

impl FileRecord {
    /// Of the file at `place`, to be called `path`.
    pub fn of(place: &Path, path: PathBuf) -> Result<FileRecord, CliError> {
        let wrap = |source| CliError::Read { path: place.into(), source };
        let mut file = File::open(place).map_err(wrap)?;
        let (mut digest, mut bytes, mut piece) = (Sha256::new(), 0, vec![0; PIECE]);
        loop {
            match file.read(&mut piece).map_err(wrap)? {
                0 => break,
                count => {
                    digest.update(&piece[..count]);
                    bytes += count as u64;
                }
            }
        }
        Ok(FileRecord { path, bytes, sha256: hexadecimal(&digest.finalize()) })
    }
}

/// The digest of words: each with its length, so that no two lists run together.
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
    fn words_do_not_run_together() {
        assert_ne!(of_words(["ab", "c"]), of_words(["a", "bc"]));
        assert_ne!(of_words(["a"]), of_words(["a", ""]));
    }
}
