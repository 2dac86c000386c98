//! Many subjects registered to one fixed image: resumable, on many devices, each subject's files as for one registration.

mod course;
mod page;
mod resume;
mod steps;
mod summary;

pub use course::{Batch, BatchProgress, Job, Row, Status, run};
pub use page::{page, page_name, summary_name};
pub use resume::finished;
pub use steps::{Alone, Steps};
pub use summary::write_summary;
