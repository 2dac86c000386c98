//! Motion correction from a file of a series to files: transforms, a table of the motion, a mean image, the corrected series.

mod files;
mod quality;
mod reference;
mod run;
mod table;

pub use antsreg_motion::{Cost, Options};
pub use files::{MotionFiles, Names};
pub use reference::ReferenceVolume;
pub use run::{Corrected, Progress, Task, run};
pub use table::Row;
