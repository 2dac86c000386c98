//! Options of the estimation of distortion.

use serde::{Deserialize, Serialize};

/// One level of the estimation, from coarse to fine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Smallest spacing of the level's grid, mm. The images are smoothed by a Gaussian with 0.7 times this standard
    /// deviation. For a head of another size than a human one it is a length in the head's
    /// [`Unit`](antsreg_core::Unit).
    pub spacing_mm: f64,
    /// Weight of the squared gradient of the displacement against the squared difference of the corrected images,
    /// whose intensities are divided by their mean.
    pub smoothness: f64,
}

/// Options of the estimation of distortion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The levels, coarse to fine.
    pub levels: Vec<Level>,
    /// Largest number of Gauss-Newton steps on a level.
    pub steps: usize,
    /// Largest number of conjugate-gradient iterations in a step.
    pub iterations: usize,
    /// Whether rigid motion of the head between the images is found. The field absorbs a part of a rotation, so small
    /// rotations are found where nothing has moved.
    pub motion: bool,
}

impl Default for Options {
    fn default() -> Options {
        let levels = [(8.0, 4.0), (6.0, 1.2), (4.0, 0.4), (3.0, 0.12), (2.0, 0.06), (1.0, 0.03)];
        Options {
            levels: levels.map(|(spacing_mm, smoothness)| Level { spacing_mm, smoothness }).to_vec(),
            steps: 8,
            iterations: 20,
            motion: false,
        }
    }
}
