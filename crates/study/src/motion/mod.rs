//! Motion correction from a file of a series to files: transforms, a table of the motion, a mean image, the corrected series.

mod correct;
mod feed;
mod files;
mod outcome;
mod page;
mod pass;
mod quality;
mod reference;
mod run;
mod sums;
mod table;
mod task;

pub use antsreg_motion::{Cost, Options, Parameters, parameters, rms_deviation};
pub use files::{MotionFiles, Names, transforms_file};
pub use outcome::Motion;
pub use reference::ReferenceVolume;
pub use run::{Corrected, Found, Opened, run};
pub use table::Row;
pub use task::{InMemory, Progress, Task};
