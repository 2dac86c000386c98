//! Resampling of a series volume by volume: volumes are read and resampled while earlier volumes are compressed and
//! written.

use std::path::Path;

use antsreg_console::CliError;
use antsreg_core::io::nifti::{self, SeriesReader};
use antsreg_core::io::{self, ErrorKind};
use antsreg_core::{AffineTransform, Grid, Transform, TransformChain, Volume};
use antsreg_kernels::apply::{self, Interpolation};
use crossbeam_channel::bounded;

/// Largest number of resampled volumes that wait to be written.
pub const AHEAD: usize = 4;

/// A series of images (several volumes in one file) that is to be resampled, and how.
pub struct Series<'a> {
    /// Path of the file with the series.
    pub input: &'a Path,
    /// Grid of the resampled volumes.
    pub onto: &'a Grid,
    /// Transforms that map points of the output grid to the space of the series.
    pub chain: &'a TransformChain,
    /// Interpolation of the volumes.
    pub interpolation: Interpolation,
    /// Value of output voxels that lie outside the input volume.
    pub outside: f32,
    /// With motion correction, one affine map for each volume of the series. A point passes through the transforms in
    /// `chain` first, and then through the map of the volume.
    pub motion: Option<&'a [AffineTransform]>,
}

impl Series<'_> {
    /// Reads all volumes of the series one after the other, resamples them and writes the result to `path`.
    ///
    /// # Errors
    /// A file that is damaged or cannot be written.
    pub fn write(&self, mut reader: SeriesReader, path: &Path) -> Result<(), CliError> {
        let (count, timing) = (reader.count(), reader.timing());
        let (send, resampled) = bounded(AHEAD);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut chain = self.chain.clone();
                for index in 0..count {
                    if let Some(motion) = self.motion {
                        chain.steps.truncate(self.chain.steps.len());
                        chain.steps.extend(TransformChain::from(vec![Transform::Affine(motion[index])]).steps);
                    }
                    let volume = reader.next_volume().and_then(|volume| volume.ok_or_else(|| self.too_few()));
                    let resampled = volume.map(|volume| self.resampled(&volume, &chain));
                    let failed = resampled.is_err();
                    if send.send(resampled).is_err() || failed {
                        return;
                    }
                }
            });
            nifti::write_series_by_volume(path, self.onto, count, timing, |_| {
                Ok::<_, CliError>(resampled.recv().unwrap_or_else(|_| Err(self.too_few()))?)
            })
        })
    }

    fn resampled(&self, volume: &Volume, chain: &TransformChain) -> Volume {
        apply::resample(volume, self.onto, chain, self.interpolation, self.outside)
    }

    /// The error of a file with fewer volumes than its header announces.
    fn too_few(&self) -> io::Error {
        io::Error { path: self.input.into(), kind: ErrorKind::Empty }
    }
}
