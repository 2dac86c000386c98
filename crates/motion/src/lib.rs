//! Motion correction of series: the transform of every volume to a reference volume, by regression.
//!
//! A volume that is sampled through the present transform is fitted, in the least-squares sense, by the reference, a constant,
//! and the change of the reference under a small motion in each degree of freedom (Friston et al. 1995, Human Brain Mapping
//! 3:165). The fit gives the next transform; few such steps converge. Volumes are read between voxels through cubic
//! splines (Thévenaz, Ruttimann & Unser 1998, IEEE TIP 7:27). The derivatives are those of the reference, so that noise of a
//! volume, which interpolation smooths more at some shifts than at others, does not draw the result to these shifts.
//!
//! All transforms map points of the reference to points of the volume, RAS mm.

mod align;
mod error;
mod generators;
mod information;
mod measures;
mod options;
mod points;
mod reference;
mod regression;
mod series;

pub use align::Aligned;
pub use error::Error;
pub use measures::{Parameters, framewise_displacement, parameters, rms_deviation};
pub use options::{Cost, Options};
pub use reference::Reference;
pub use series::{BATCH, Series};
