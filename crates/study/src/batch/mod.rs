//! Registers many subjects to one fixed image, on many devices. A batch can be continued after a stop. The files of
//! each subject are those of a single registration.

mod fixed;
mod page;
mod resume;
mod run;
mod steps;
mod summary;

pub use fixed::FixedSide;
pub use page::{page, page_name, summary_name};
pub use resume::finished;
pub use run::{Batch, BatchProgress, Job, Row, Status, run};
pub use steps::{Alone, Steps};
pub use summary::write_summary;
