//! Files for which space is reserved before their contents are known.

use std::fs::File;
use std::io::Seek;
use std::path::Path;

use super::temporary::Temporary;

/// A temporary file that has space for its contents already: its pages in memory, on a file system in memory, or its
/// blocks on a disk. Writing to such a file takes less time.
#[derive(Debug)]
pub struct Reserved {
    pub(super) file: File,
    pub(super) temporary: Temporary,
}

impl Reserved {
    /// Makes a temporary file in `folder`, with space for `bytes` bytes if the file system can reserve space.
    pub(super) fn in_folder(folder: &Path, bytes: u64) -> std::io::Result<Reserved> {
        let (file, temporary) = Temporary::file_in(folder)?;
        // Without reserved space the file is written as any other. If the disk is too full, writing reports it.
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes);
        #[cfg(not(target_os = "linux"))]
        let _ = bytes;
        Ok(Reserved { file, temporary })
    }

    /// Removes the space behind the contents, which end at the current position of the file.
    pub(super) fn cut(file: &mut File) -> std::io::Result<()> {
        let end = file.stream_position()?;
        file.set_len(end)
    }
}
