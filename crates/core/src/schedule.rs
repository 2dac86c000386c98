//! The coarse-to-fine schedule of the deformable stage, and when a level has converged.

use serde::{Deserialize, Serialize};

/// Settings of one resolution level of a deformable registration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Shrink factor of the level: its voxels are larger than those of the full resolution by this whole factor.
    pub shrink: usize,
    /// Standard deviation of the Gaussian that smooths the images of full resolution before shrinking, voxels of
    /// these images.
    pub sigma_voxels: f64,
    /// Largest number of iterations of the registration on this level.
    pub iterations: usize,
    /// Number of iterations between re-inversions of SyN's fields. Each re-inversion smooths the fields a little:
    /// fewer re-inversions let the fields move more freely, and make folds more likely.
    pub reinvert_every: usize,
}

/// Criterion of convergence: a level ends when the slope of the energy over the last `window` iterations falls below
/// `threshold`.
///
/// The slope is that of ITK's WindowConvergenceMonitoringFunction: the energies are divided by the sum of their
/// magnitudes over the window, and time runs from 0 to 1 over the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convergence {
    /// Number of the latest values of the registration's energy to which a line is fitted; the slope of this line is
    /// compared with `threshold`.
    pub window: usize,
    /// Slope of the energy over the last iterations below which the registration has converged on a level.
    pub threshold: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_come_back_from_json() {
        let level = Level { shrink: 4, sigma_voxels: 1.5, iterations: 100, reinvert_every: 6 };
        let json = serde_json::to_string(&level).expect("JSON");
        assert_eq!(serde_json::from_str::<Level>(&json).expect("a level"), level);
        assert!(serde_json::from_str::<Level>(&json.replace("shrink", "shrunk")).is_err());
        let convergence = Convergence { window: 10, threshold: 1e-6 };
        let json = serde_json::to_string(&convergence).expect("JSON");
        assert_eq!(serde_json::from_str::<Convergence>(&json).expect("a convergence"), convergence);
    }
}
