//! Series of volumes on one grid, such as functional and diffusion images, read volume by volume.

use std::path::Path;

use super::super::Error;
use super::super::formats::header::Header;
use super::file::ImageFile;
use super::grid_rule::GridRule;
use super::voxels::Encoding;
use crate::{Grid, Volume, content, memory};

/// Mask of the bits in the header field `xyzt_units` that give the unit of the fourth axis.
const UNIT_OF_TIME: u8 = 0x38;

/// A series of volumes.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The images of the series, all on one grid.
    pub volumes: Vec<Volume>,
    /// Times at which the volumes were acquired.
    pub timing: Timing,
}

/// Start, step and unit of the fourth axis of a header. They are copied to outputs without conversion.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Timing {
    /// Time of the first volume, in `unit`.
    pub start: f32,
    /// Time between two successive volumes, in `unit`.
    pub step: f32,
    /// NIfTI's code of the unit of time: 8 for seconds, 16 for milliseconds.
    pub unit: u8,
}

impl Timing {
    /// NIfTI's code of the unit second.
    pub const SECONDS: u8 = 8;

    /// Reads start, step and unit of the time axis from a header.
    pub(super) fn of(header: &Header) -> Timing {
        Timing { start: header.toffset as f32, step: header.pixdim[4] as f32, unit: header.xyzt_units & UNIT_OF_TIME }
    }

    /// Writes start, step and unit of the time axis to the header of a series, and its number of volumes.
    pub(super) fn put(&self, header: &mut Header, volumes: i64) {
        header.dim[0] = 4;
        header.dim[4] = volumes;
        header.pixdim[4] = self.step.into();
        header.toffset = self.start.into();
        header.xyzt_units |= self.unit;
    }
}

/// Reads the volumes of a series from a file one after the other, so that only one volume need be in memory.
pub struct SeriesReader {
    file: ImageFile,
    grid: Grid,
    count: u64,
    timing: Timing,
    /// Number of volumes that have been read or skipped.
    read: u64,
}

impl SeriesReader {
    /// Opens a file of one or more volumes and reads its header.
    ///
    /// # Errors
    /// Those of [`read_volume`](super::read_volume), as far as the header and the file's length show them; several
    /// volumes are allowed.
    pub fn open(path: &Path) -> Result<SeriesReader, Error> {
        SeriesReader::open_by(GridRule::default(), path)
    }

    /// Opens a series as [`SeriesReader::open`] does, but reads its grid by `rule`.
    ///
    /// # Errors
    /// Those of [`SeriesReader::open`].
    pub fn open_by(rule: GridRule, path: &Path) -> Result<SeriesReader, Error> {
        let mut file = ImageFile::open(path, rule)?;
        let (grid, count) = file.series_grid().map_err(|kind| Error::new(path, kind))?;
        let timing = Timing::of(&file.header);
        file.begin(count.saturating_mul(grid.len() as u64))?;
        Ok(SeriesReader { file, grid, count, timing, read: 0 })
    }

    /// The grid that all volumes of the series have.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Number of volumes of the series.
    pub fn count(&self) -> usize {
        // At most 2³¹ − 1.
        self.count as usize
    }

    /// Times at which the volumes were acquired.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Skips the next volume.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn skip_volume(&mut self) -> Result<(), Error> {
        self.read += 1;
        self.file.next_values(self.grid.len() as u64, |_, _| {})
    }

    /// Reads the next volume; `None` after the last volume.
    ///
    /// # Errors
    /// The file is damaged; the volume does not fit into memory.
    pub fn next_volume(&mut self) -> Result<Option<Volume>, Error> {
        if self.read == self.count {
            return Ok(None);
        }
        let each = self.grid.len() as u64;
        let mut voxels = self.file.room_for(each)?;
        self.file.next_values(each, |encoding, bytes| Encoding::append_f32(encoding, bytes, &mut voxels))?;
        self.read += 1;
        content::clear_missing(&mut voxels);
        Ok(Some(Volume { grid: self.grid.clone(), voxels }))
    }
}

/// Reads a whole series into memory.
///
/// # Errors
/// Those of [`SeriesReader`], or too little memory.
pub fn read_series(path: &Path) -> Result<Series, Error> {
    let mut reader = SeriesReader::open(path)?;
    let bytes = reader.count.saturating_mul(reader.grid.len() as u64).saturating_mul(size_of::<f32>() as u64);
    memory::check(bytes).map_err(|shortage| Error::new(path, shortage))?;
    let mut volumes = Vec::new();
    while let Some(volume) = reader.next_volume()? {
        volumes.push(volume);
    }
    Ok(Series { volumes, timing: reader.timing })
}
