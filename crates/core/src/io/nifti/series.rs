//! Series of volumes on one grid, as functional and diffusion images are: read and written whole.

use std::path::Path;

use ::nifti::NiftiHeader;

use super::super::{Error, Target};
use super::file::NiftiFile;
use super::read::check_finite;
use super::voxels::Encoding;
use super::write;
use crate::Volume;

/// Bits of a header's units that say what the fourth axis is measured in.
const UNIT_OF_TIME: u8 = 0x38;

/// Volumes that follow each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The volumes, all on one grid.
    pub volumes: Vec<Volume>,
    /// When they were taken.
    pub timing: Timing,
}

/// The fourth axis of a header, handed on as it is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Timing {
    /// Of the first volume.
    pub start: f32,
    /// From one volume to the next.
    pub step: f32,
    /// NIfTI's code of the unit: 8 for seconds, 16 for milliseconds.
    pub unit: u8,
}

impl Timing {
    /// Says so in a header of so many volumes.
    pub(super) fn put(&self, header: &mut NiftiHeader, volumes: u16) {
        header.dim[0] = 4;
        header.dim[4] = volumes;
        header.pixdim[4] = self.step;
        header.toffset = self.start;
        header.xyzt_units |= self.unit;
    }
}

/// Reads a file of one or more volumes; otherwise as [`read_volume`](super::read_volume).
pub fn read_series(path: &Path) -> Result<Series, Error> {
    let wrap = |kind| Error::new(path, kind);
    let mut file = NiftiFile::open(path)?;
    let (grid, count) = file.series_grid().map_err(wrap)?;
    let timing = Timing {
        start: file.header.toffset,
        step: file.header.pixdim[4],
        unit: file.header.xyzt_units & UNIT_OF_TIME,
    };
    let mut voxels = Vec::new();
    file.read(count * grid.len() as u64, &mut voxels, Encoding::append_f32)?;
    check_finite(&voxels, grid.shape).map_err(wrap)?;
    let volume = |voxels: &[f32]| Volume { grid: grid.clone(), voxels: voxels.to_vec() };
    Ok(Series { volumes: voxels.chunks_exact(grid.len()).map(volume).collect(), timing })
}

/// Writes a series in single precision, on the grid of its first volume; otherwise as
/// [`write_volume`](super::write_volume).
///
/// # Errors
/// Those of [`write_volume`](super::write_volume), or a count of volumes, or of voxels of one of them, that does not fit.
pub fn write_series<'a>(to: impl Into<Target<'a>>, series: &Series) -> Result<(), Error> {
    write::series(to.into(), series)
}
