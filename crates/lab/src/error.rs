//! Errors of a measurement.

use std::path::PathBuf;

use antsreg_core::io;

/// Why a plot could not be drawn.
pub(crate) type PlotError = plotters::drawing::DrawingAreaErrorKind<std::io::Error>;

/// Why a measurement stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device failed, or has too little memory for a scheme.
    #[error("device: {0}")]
    Device(#[from] antsreg_kernels::Error),
    /// The number of bins is not supported by the schemes.
    #[error("histograms: {bins} bins; {least} to {most} are possible")]
    Bins {
        /// Number of bins requested.
        bins: usize,
        /// Smallest supported number of bins.
        least: usize,
        /// Largest supported number of bins.
        most: usize,
    },
    /// The number of values differs from the number of voxels of the volume.
    #[error("histograms: a volume of shape {shape:?} has {expected} voxels, found {found} values")]
    Voxels {
        /// Voxels along each axis.
        shape: [usize; 3],
        /// Number of voxels of a volume of this shape.
        expected: usize,
        /// Number of values given.
        found: usize,
    },
    /// The affine stage failed.
    #[error("affine stage: {0}")]
    Linear(#[from] antsreg_linear::Error),
    /// An image or a transform could not be read.
    #[error(transparent)]
    File(#[from] io::Error),
    /// A transform file that does not contain an affine map.
    #[error("{}: found a displacement field, expected an ITK affine (.mat, .txt, .tfm, .h5)", path.display())]
    NotAffine {
        /// The file.
        path: PathBuf,
    },
    /// An affine map without an inverse.
    #[error("{}: the affine map cannot be inverted", path.display())]
    NotInvertible {
        /// Its file.
        path: PathBuf,
    },
    /// The folder for the output does not exist.
    #[error("{}: no such folder; make it first, or give another output name", folder.display())]
    NoOutputFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// A file could not be written.
    #[error("{}: could not be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Standard output could not be written.
    #[error("standard output: {0}")]
    Stdout(#[source] std::io::Error),
    /// A plot could not be drawn.
    #[error("{name}: the plot could not be drawn: {source}")]
    Plot {
        /// The plot's file.
        name: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A figure needs an image of a brain, and none was given.
    #[error("{figure} needs a brain: expected --image")]
    NoBrain {
        /// The figure.
        figure: &'static str,
    },
    /// A measurement of a GPU was asked for on another device.
    #[error("histograms are measured on an NVIDIA GPU, expected cuda or cuda:N, found cpu")]
    NeedsGpu,
    /// The chosen device cannot be used.
    #[error("device {asked} cannot be used: {source}")]
    NoDevice {
        /// The device as typed.
        asked: String,
        /// Why.
        source: antsreg_kernels::Error,
    },
}

impl Error {
    /// The program's exit code: 2 for a command line that was not understood, 1 for every other error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::NeedsGpu => 2,
            _ => 1,
        }
    }
}
