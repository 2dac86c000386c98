//! Output files that appear complete or not at all: a single file, or all files of a set together.
//!
//! [`write_file`] writes one file, [`Outputs`] a set of files. Both write under a temporary name in the folder of the
//! output, and rename when everything has been written. An error or a panic removes unfinished files. A program that
//! is ended by a signal calls [`stop_commits`] and [`CommitsStopped::remove_unfinished`] first.

mod check;
mod error;
mod set;
mod single;
mod space;
mod temporary;

pub use check::{check, check_folder, check_in_place, check_name, make_folder, protect};
pub use error::{NamesPath, OutputError, OutputErrorKind};
pub use set::{Outputs, Writing};
pub use single::write_file;
pub(super) use single::write_with;
pub use space::Reserved;
pub use temporary::{CommitsStopped, remove_unfinished, stop_commits};
