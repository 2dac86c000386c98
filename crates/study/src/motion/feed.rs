//! Reads the volumes of a series for motion correction.

use std::path::PathBuf;
use std::sync::Arc;

use antsreg_core::io::nifti::{SeriesReader, Timing};
use antsreg_core::{Grid, Volume, content, memory};

use super::{InMemory, Task};
use crate::Error;

/// Largest size of a series that stays in memory after its volumes were read, bytes.
const KEPT_BYTES: usize = 512 << 20;
/// Memory that all batches of volumes in process may take together, bytes: volumes that are read ahead, aligned,
/// resampled or written. This limits the number of volumes in a batch.
const BATCH_BYTES: usize = 1 << 30;
/// Number of copies in memory for each volume of a batch in motion correction. The copies are volumes read ahead,
/// volumes smoothed for two levels, their spline coefficients, and corrected volumes.
const COPIES: usize = 12;

/// Reads the volumes of a series. A series that is small enough is read once and stays in memory.
pub(super) struct Feed {
    path: PathBuf,
    /// Reader of the file of the series; `None` for a series in memory.
    reader: Option<SeriesReader>,
    grid: Grid,
    timing: Timing,
    count: usize,
    /// Index of the volume that is read next.
    next: usize,
    /// All volumes read so far, beginning with the first; `None` if the series is too large to stay in memory.
    kept: Option<Vec<Arc<Volume>>>,
}

impl Feed {
    /// Opens the series that a motion correction reads: `series` if the volumes are in memory, else the input file. A
    /// series has at least two volumes.
    ///
    /// # Errors
    /// A file that is no series; volumes on different grids; too little memory.
    pub fn of(task: &Task, series: Option<&InMemory>) -> Result<Feed, Error> {
        let path = task.files.input.clone();
        let expected = "a series of volumes";
        let feed = match series.map(|series| (series, series.volumes.as_slice())) {
            Some((_, [])) => return Err(Error::OtherKind { path, expected, found: [0, 1] }),
            Some((series, all @ [first, ..])) => {
                let grid = first.grid.clone();
                if let Some(other) = all.iter().find(|volume| volume.grid.shape != grid.shape) {
                    let [found, expected] = [other.grid.shape, grid.shape];
                    let index = all.iter().position(|volume| Arc::ptr_eq(volume, other)).unwrap_or(0);
                    let source = antsreg_motion::Error::Shape { found, expected };
                    return Err(Error::MotionVolume { path, index, source });
                }
                let (reader, timing, count) = (None, series.timing, all.len());
                let kept = all.iter().map(|volume| content::without_missing(volume.clone())).collect();
                Feed { path, reader, grid, timing, count, next: count, kept: Some(kept) }
            }
            None => {
                let reader = SeriesReader::open(&path)?;
                let (count, grid, timing) = (reader.count(), reader.grid().clone(), reader.timing());
                let kept = stays(grid.len(), count).then(Vec::new);
                Feed { path, reader: Some(reader), grid, timing, count, next: 0, kept }
            }
        };
        let (path, count) = (&feed.path, feed.count);
        if count < 2 {
            return Err(Error::OtherKind { path: path.clone(), expected, found: [count, 1] });
        }
        memory::check(bytes_held(feed.grid.len(), if feed.reader.is_some() { count } else { 0 }))
            .map_err(|shortage| antsreg_core::io::Error { path: path.clone(), kind: shortage.into() })?;
        Ok(feed)
    }

    /// The grid of every volume of the series.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Number of volumes of the series.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Times at which the volumes of the series were acquired.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Number of volumes that are aligned together; it depends on the size of the volumes alone.
    pub fn batch(&self) -> usize {
        batch(self.grid.len())
    }

    /// Returns volume `index`, counted from 0. Reading is fastest in the order of the volumes.
    ///
    /// # Errors
    /// A damaged file; an index that the series does not have.
    pub fn get(&mut self, index: usize) -> Result<Arc<Volume>, Error> {
        if index >= self.count {
            return Err(Error::NoVolume { path: self.path.clone(), index, count: self.count });
        }
        if let Some(volume) = self.kept.as_ref().and_then(|kept| kept.get(index)) {
            return Ok(volume.clone());
        }
        if index < self.next && self.reader.is_some() {
            self.reader = Some(SeriesReader::open(&self.path)?);
            self.next = 0;
        }
        while self.next < index {
            match self.reader.as_mut().filter(|_| self.kept.is_none()) {
                Some(reader) => {
                    reader.skip_volume()?;
                    self.next += 1;
                }
                None => drop(self.read()?),
            }
        }
        self.read()
    }

    /// Reads the next volume of the series.
    fn read(&mut self) -> Result<Arc<Volume>, Error> {
        let (index, count) = (self.next, self.count);
        let read = self.reader.as_mut().map_or(Ok(None), SeriesReader::next_volume)?;
        self.next += 1;
        let volume = Arc::new(read.ok_or_else(|| Error::NoVolume { path: self.path.clone(), index, count })?);
        if let Some(kept) = &mut self.kept {
            kept.push(volume.clone());
        }
        Ok(volume)
    }
}

/// Whether `count` volumes of `voxels` voxels each stay in memory after they were read.
fn stays(voxels: usize, count: usize) -> bool {
    voxels.saturating_mul(count).saturating_mul(size_of::<f32>()) <= KEPT_BYTES
}

/// Number of volumes that are aligned together, for volumes of `voxels` voxels.
fn batch(voxels: usize) -> usize {
    let bytes = voxels.saturating_mul(size_of::<f32>() * COPIES).max(1);
    (BATCH_BYTES / bytes).clamp(2, antsreg_motion::BATCH)
}

/// Memory that a motion correction needs at most, bytes: the series of `count` volumes if it stays in memory, the
/// batches of volumes in process, and the sums and mean images on the grid of the reference.
fn bytes_held(voxels: usize, count: usize) -> u64 {
    let read = if stays(voxels, count) { count } else { 0 };
    (voxels.saturating_mul(size_of::<f32>()) as u64).saturating_mul((read + COPIES * batch(voxels) + 16) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_of_any_length_take_less_than_two_gigabytes() {
        for [nx, ny, nz] in [[64, 64, 36], [91, 109, 91], [104, 90, 72], [145, 174, 145], [128, 128, 200]] {
            for count in [2, 300, 5000, 32_000] {
                let (voxels, held) = (nx * ny * nz, bytes_held(nx * ny * nz, count));
                assert!(held <= 2 << 30, "{count} volumes of {voxels} voxels: {held} bytes");
            }
        }
        // Volumes of a usual size in functional MRI are aligned in batches of the largest allowed number of volumes.
        assert_eq!(batch(64 * 64 * 36), antsreg_motion::BATCH);
    }
}
