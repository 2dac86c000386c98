//! Errors of a measurement.

use std::path::PathBuf;

use antsreg_core::io;

/// Reason why a plot could not be drawn.
pub(crate) type PlotError = plotters::drawing::DrawingAreaErrorKind<std::io::Error>;

/// Reason why a measurement stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device failed, or its memory is too small for one of the GPU algorithms for histograms.
    #[error("device: {0}")]
    Device(#[from] antsreg_kernels::Error),
    /// The GPU algorithms for histograms do not support the requested number of bins.
    #[error("histograms: expected {least} to {most} bins of an image, found {bins}")]
    Bins {
        /// Requested number of histogram bins of an image.
        bins: usize,
        /// Smallest number of histogram bins of an image that the GPU algorithms support.
        least: usize,
        /// Largest number of histogram bins of an image that the GPU algorithms support.
        most: usize,
    },
    /// The number of values differs from the number of voxels of the volume.
    #[error("histograms: expected {expected} voxel values for a volume of {shape:?} voxels, found {found}")]
    Voxels {
        /// Number of voxels of the volume along each axis.
        shape: [usize; 3],
        /// Number of voxels of a volume of this shape.
        expected: usize,
        /// Number of voxel values that the caller gave for the volume.
        found: usize,
    },
    /// The linear stage failed.
    #[error("affine stage: {0}")]
    Linear(#[from] antsreg_linear::Error),
    /// The deformable stage failed.
    #[error("deformable stage: {0}")]
    Syn(#[from] antsreg_syn::Error),
    /// Label maps have different grids.
    #[error(transparent)]
    Grids(#[from] antsreg_core::GridMismatch),
    /// A page could not be made.
    #[error("the page could not be made: {0}")]
    Page(String),
    /// A measurement was asked for that does not exist, or that has no result to compare with.
    #[error("a measurement has no result; this is an error of the program")]
    NotMeasured,
    /// A file of an earlier run could not be read.
    #[error("{}: could not be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not one that `antsreg-lab papers` wrote.
    #[error("{}: expected a papers.json of this program, found: {reason}", path.display())]
    NoReport {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An image or a transform could not be read.
    #[error(transparent)]
    File(#[from] io::Error),
    /// A transform file contains a displacement field, but an affine map is needed.
    #[error("{}: found a displacement field, expected an ITK affine (.mat, .txt, .tfm, .h5)", path.display())]
    NotAffine {
        /// The file.
        path: PathBuf,
    },
    /// An affine map has no inverse.
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
    /// Standard output could not be written to.
    #[error("standard output: {0}")]
    Stdout(#[source] std::io::Error),
    /// A plot could not be drawn.
    #[error("{name}: the plot could not be drawn: {source}")]
    Plot {
        /// Name of the plot's file.
        name: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A figure needs an image of a brain, but none was given.
    #[error("{figure} needs an image of a brain: expected --image")]
    NoBrain {
        /// The figure.
        figure: &'static str,
    },
    /// The histogram algorithms were to be measured on a device that is not a GPU.
    #[error("histograms are measured on an NVIDIA GPU, expected cuda or cuda:N, found cpu")]
    NeedsGpu,
    /// The chosen device cannot be used.
    #[error("device {asked} cannot be used: {source}")]
    NoDevice {
        /// The device as the user typed it.
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
