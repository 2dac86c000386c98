//! Motion correction of series: the transform of every volume to a reference volume, by regression.
//!
//! The volume is sampled through the present transform. Its values are fitted by least squares as a sum of the
//! reference, a constant, and the changes of the reference under a small motion in each degree of freedom (Friston et
//! al. 1995, Human Brain Mapping 3:165). The coefficients of the fit give the next transform. A few such steps
//! converge. Volumes are interpolated between voxels by cubic splines (Thévenaz, Ruttimann & Unser 1998, IEEE TIP
//! 7:27). Derivatives are taken from the reference, not from the volume: interpolation smooths the noise of a volume
//! more at some shifts than at others, and this would bias the result towards these shifts.
//!
//! All transforms map points of the reference to points of the volume, RAS mm.

mod align;
mod aligned;
mod error;
mod generators;
mod information;
mod measures;
mod options;
mod points;
mod reference;
mod regression;
mod series;

pub use aligned::Aligned;
pub use error::Error;
pub use measures::{Parameters, framewise_displacement, parameters, rms_deviation};
pub use options::{Cost, Options};
pub use reference::Reference;
pub use series::{BATCH, Series};
