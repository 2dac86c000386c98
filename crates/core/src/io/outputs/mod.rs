//! Output files that appear whole or not at all: one file alone, or all files of a set together.
//!
//! [`write_file`] writes one file. [`Outputs`] writes a set of files. Both write under a temporary name in the folder of
//! the output and rename when everything is written. An error or a panic removes what is unfinished. A program that ends
//! by a signal calls [`stop_commits`] and [`CommitsStopped::remove_unfinished`] first.

mod check;
mod error;
mod set;
mod single;
mod temporary;

pub use check::{check, check_name, make_folder, protect};
pub use error::{NamesPath, OutputError, OutputErrorKind};
pub use set::{Outputs, Writing};
pub use single::write_file;
pub(super) use single::write_with;
pub use temporary::{CommitsStopped, remove_unfinished, stop_commits};
