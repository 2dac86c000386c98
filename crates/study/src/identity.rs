//! Detects changes of files without reading them again.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// Identity of a file at the time when it was read. A file with changed contents has another size, time or inode: a
/// copy that keeps the time has another inode, and a change in place has another time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// Absolute path of the file.
    pub path: PathBuf,
    /// Size of the file, bytes.
    pub bytes: u64,
    /// Time of the last change of the file, nanoseconds since 1970.
    pub modified_ns: u64,
    /// Inode of the file; 0 on systems without inodes.
    pub inode: u64,
}

impl FileIdentity {
    /// The identity (size, time, inode) that a file has now; `None` if the file cannot be accessed.
    pub fn of(path: &Path) -> Option<FileIdentity> {
        let metadata = std::fs::metadata(path).ok()?;
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(FileIdentity {
            path: std::path::absolute(path).ok()?,
            bytes: metadata.len(),
            modified_ns: u64::try_from(modified.as_nanos()).ok()?,
            inode: inode(&metadata),
        })
    }

    /// The identities (size, time, inode) of several files; files that cannot be accessed are left out.
    pub fn of_all<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<FileIdentity> {
        paths.into_iter().filter_map(FileIdentity::of).collect()
    }
}

#[cfg(unix)]
fn inode(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &std::fs::Metadata) -> u64 {
    0
}

/// An output file of a command, with its size when it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Size of the file, bytes.
    pub bytes: u64,
}

impl WrittenFile {
    /// Whether the output file still exists and has the size that it had when it was written.
    pub fn is_whole(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|found| found.is_file() && found.len() == self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_changed_or_replaced_has_another_identity() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, other] = ["a", "b"].map(|name| folder.path().join(name));
        std::fs::write(&path, b"one").expect("written");
        let before = FileIdentity::of(&path).expect("it is there");
        assert_eq!(FileIdentity::of(&path), Some(before.clone()));
        // The file is replaced by another file of the same size and time.
        std::fs::write(&other, b"two").expect("written");
        let times = std::fs::FileTimes::new()
            .set_modified(std::fs::metadata(&path).and_then(|m| m.modified()).expect("a time"));
        std::fs::File::options().write(true).open(&other).and_then(|file| file.set_times(times)).expect("set");
        std::fs::rename(&other, &path).expect("renamed");
        let after = FileIdentity::of(&path).expect("it is there");
        assert_eq!((after.bytes, after.modified_ns), (before.bytes, before.modified_ns));
        assert_ne!(after, before);
        assert_eq!(FileIdentity::of(&other), None);
    }

    #[test]
    fn a_file_that_was_cut_is_not_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, b"one").expect("written");
        let written = WrittenFile { path: path.clone(), bytes: 3 };
        assert!(written.is_whole());
        std::fs::write(&path, b"").expect("written");
        assert!(!written.is_whole());
        std::fs::remove_file(&path).expect("removed");
        assert!(!written.is_whole());
    }
}
