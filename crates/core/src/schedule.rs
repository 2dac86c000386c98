//! The coarse-to-fine schedule and when a level has converged.

/// One resolution level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Whole factor by which the grid is coarser than the full one.
    pub shrink: usize,
    /// Standard deviation of the Gaussian that smooths the full-resolution images, voxels.
    pub sigma_voxels: f64,
    /// Most iterations spent here.
    pub iterations: usize,
    /// Iterations from one re-inversion of SyN's fields to the next. Each blurs them a little: the fewer there are, the more
    /// freely the fields move and the likelier they fold.
    pub reinvert_every: usize,
}

/// A level ends when the energy's slope over the last `window` iterations falls below `threshold`.
///
/// The slope is that of ITK's WindowConvergenceMonitoringFunction: energies divided by the sum of their magnitudes
/// over the window, time running from 0 to 1 over it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Convergence {
    /// Energies looked at.
    pub window: usize,
    /// Slope below which there is nothing more to gain.
    pub threshold: f64,
}
