//! Extracts brains from images of heads, and writes the results to files.

mod files;
mod find;
mod page;
mod run;

pub use files::BrainFiles;
pub use find::{BrainRecord, alone, built_in_template, find, template, template_of};
pub use page::brain_page;
pub use run::{BrainRequest, Found, Heads, run};
