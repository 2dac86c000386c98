//! Registers many subjects to one fixed image, on many devices. A batch can be continued after a stop. The files of
//! each subject are those of a single registration.

mod contrast;
mod fixed;
mod observer;
mod of_all;
mod page;
mod register;
mod resume;
mod rows;
mod run;
mod steps;
mod summary;

pub use fixed::FixedSide;
pub use observer::BatchObserver;
pub use of_all::{IsOwn, OfAll, TextFile};
pub use page::{page_name, summary_name};
pub use rows::{Job, Row, Status};
pub use run::{Order, Outcome, Plan, Study, plan, run};
pub use steps::{Alone, Steps, read_fixed};
