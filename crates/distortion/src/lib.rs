//! Distortion of echo-planar images (EPI) along their phase encoding, and its correction.
//!
//! The field of the scanner is inhomogeneous near air. Along the phase encoding axis, signal from position x appears at
//! x + s·d(x), brighter or darker by 1 / (1 + s·d′(x)). The displacement d is the field (Hz) times the total readout
//! time and the voxel size; the sign s is that of the encoding. From images with opposite encodings the displacement
//! is found: both corrected images must be equal (Chang & Fitzpatrick 1992, IEEE TMI 11:319; Andersson, Skare &
//! Ashburner 2003, NeuroImage 20:870).
//!
//! The displacement is given at the faces between voxels. There, integrals of the intensity along the lines of the
//! encoding are compared, so that signal is neither lost nor made (Ruthotto et al. 2012, Phys Med Biol 57:5715). The
//! mean squared difference of the corrected images, with a penalty on the gradient of the displacement, is minimised
//! by Gauss-Newton steps, from coarse to fine levels. On each level the motion of the head between the images is found
//! again.

mod error;
mod estimate;
mod field;
mod level;
mod lines;
mod motion;
mod options;
mod pairs;
mod profile;
mod system;

pub use error::Error;
pub use estimate::{Encoded, Estimate, LevelOutcome, estimate};
pub use field::Field;
pub use options::{Level, Options};
