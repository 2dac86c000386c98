//! Files with several volumes of any meaning (time series, channels, components of vectors and tensors), read and
//! written with one volume in memory at a time.

use std::path::{Path, PathBuf};

use ::nifti::NiftiType;

use super::super::formats::header::{Header, VECTOR_INTENT};
use super::super::target::Target;
use super::super::{Error, ErrorKind};
use super::coded::{Coded, Keys, Values, keys_of_real};
use super::file::ImageFile;
use super::grid_rule::GridRule;
use super::header;
use super::series::{Series, Timing};
use super::voxels::Encoding;
use super::write_volumes::{self, File, Piece, Stored};
use crate::{Grid, Volume, content};

/// NIfTI's intent code of symmetric matrices such as diffusion tensors.
const TENSOR_INTENT: i32 = 1005;
/// FSL's intent code of displacements.
const DISPLACEMENT_INTENT: i32 = 2006;

/// Reads the volumes of a file one after the other, whatever the meaning of its fourth and fifth axis.
pub struct PlanesReader {
    path: PathBuf,
    file: ImageFile,
    grid: Grid,
    counts: [usize; 2],
    /// Number of volumes of the file that have not been read yet.
    left: usize,
    keeps_missing: bool,
}

impl PlanesReader {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// Those of [`read_volume`](super::read_volume), as far as the header and the file's length show them; several
    /// volumes along the fourth and fifth axis are allowed.
    pub fn open(rule: GridRule, path: &Path) -> Result<PlanesReader, Error> {
        let wrap = |kind| Error::new(path, kind);
        let mut file = ImageFile::open(path, rule)?;
        let extents = header::extents(&file.header).map_err(wrap)?;
        let count = extents[3..].iter().fold(1u64, |product, &extent| product.saturating_mul(extent));
        if extents[5..] != [1, 1] {
            return Err(wrap(ErrorKind::SeveralVolumes { count, dim: file.header.dim.into() }));
        }
        let grid = file.volume_grid(extents).map_err(wrap)?;
        file.begin(count.saturating_mul(grid.len() as u64))?;
        // The conversion to `usize` loses nothing, because no extent has more than 31 bits.
        let counts = [extents[3] as usize, extents[4] as usize];
        Ok(PlanesReader { path: path.into(), file, grid, counts, left: counts[0] * counts[1], keeps_missing: false })
    }

    /// Lets [`next_volume`](PlanesReader::next_volume) return missing voxels as they are stored, NaN or infinite.
    pub fn keep_missing(&mut self) {
        self.keeps_missing = true;
    }

    /// The grid that all volumes of the file have.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Number of volumes along the fourth and along the fifth axis.
    pub fn counts(&self) -> [usize; 2] {
        self.counts
    }

    /// The intent code of the NIfTI header.
    pub fn intent(&self) -> i16 {
        self.file.header.intent_code as i16
    }

    /// Number of axes that the NIfTI header states, without axes of one element at the end; at least two.
    pub fn dimensions(&self) -> usize {
        let dim = self.file.header.dim;
        (2..=usize::try_from(dim[0]).unwrap_or(0)).rev().find(|axis| dim[*axis] > 1).unwrap_or(2)
    }

    /// The storage type for copies of the file's voxels: that of the file, or the next larger type that can be written.
    pub fn stored(&self) -> Stored {
        match (self.file.encoding.datatype, self.file.encoding.scaling) {
            (NiftiType::Int8, None) => Stored::Int8,
            (NiftiType::Uint8, None) => Stored::Uint8,
            (NiftiType::Int16, None) => Stored::Int16,
            (NiftiType::Uint16 | NiftiType::Int32, None) => Stored::Int32,
            (NiftiType::Float64 | NiftiType::Uint32 | NiftiType::Int64 | NiftiType::Uint64, _) => Stored::Float64,
            _ => Stored::Float32,
        }
    }

    /// The integer type of the file's voxels; `None` if they are real numbers or scaled.
    pub fn whole(&self) -> Option<Stored> {
        match (self.file.encoding.datatype, self.file.encoding.scaling) {
            (NiftiType::Int8, None) => Some(Stored::Int8),
            (NiftiType::Uint8, None) => Some(Stored::Uint8),
            (NiftiType::Int16, None) => Some(Stored::Int16),
            (NiftiType::Uint16, None) => Some(Stored::Uint16),
            (NiftiType::Int32, None) => Some(Stored::Int32),
            (NiftiType::Uint32, None) => Some(Stored::Uint32),
            (NiftiType::Int64, None) => Some(Stored::Int64),
            (NiftiType::Uint64, None) => Some(Stored::Uint64),
            _ => None,
        }
    }

    /// Start, step and unit of the fourth axis, in most files time.
    pub fn timing(&self) -> Timing {
        Timing::of(&self.file.header)
    }

    /// Skips the next volume.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn skip_volume(&mut self) -> Result<(), Error> {
        self.left = self.left.saturating_sub(1);
        self.file.next_values(self.grid.len() as u64, |_, _| {})
    }

    /// Reads the next volume; an error after the last volume. Voxels that are NaN, infinite or beyond single precision
    /// are missing: they are 0.
    ///
    /// # Errors
    /// The file is damaged; the volume does not fit into memory.
    pub fn next_volume(&mut self) -> Result<Volume, Error> {
        if self.left == 0 {
            return Err(Error::new(&self.path, ErrorKind::Empty));
        }
        let each = self.grid.len() as u64;
        let mut voxels = self.file.room_for(each)?;
        self.file.next_values(each, |encoding, bytes| Encoding::append_f32(encoding, bytes, &mut voxels))?;
        if !self.keeps_missing {
            content::clear_missing(&mut voxels);
        }
        self.left -= 1;
        Ok(Volume { grid: self.grid.clone(), voxels })
    }
}

impl PlanesReader {
    /// Reads the next volume exactly if its voxels are whole numbers. The table of its values also gets the value `also`.
    ///
    /// # Errors
    /// Those of [`PlanesReader::next_volume`], or too many distinct values.
    pub fn next_values(&mut self, also: i128) -> Result<Values, Error> {
        let wrap = |path: &Path, kind| Error::new(path, kind);
        if self.left == 0 {
            return Err(wrap(&self.path, ErrorKind::Empty));
        }
        let each = self.grid.len() as u64;
        let keys = if let Some(stored) = self.whole() {
            let mut keys = self.file.room_for(each)?;
            self.file.next_values(each, |encoding, bytes| Encoding::append_keys(encoding, bytes, &mut keys))?;
            Keys { keys, signed: stored.is_signed() }
        } else {
            let mut values = self.file.room_for(each)?;
            self.file.next_values(each, |encoding, bytes| Encoding::append_f64(encoding, bytes, &mut values))?;
            // Missing voxels are 0, as in `next_volume`.
            values.iter_mut().filter(|value| !value.is_finite()).for_each(|value| *value = 0.0);
            match keys_of_real(&values) {
                Some(keys) => keys,
                None => {
                    let mut voxels: Vec<f32> = values.into_iter().map(|value| value as f32).collect();
                    content::clear_missing(&mut voxels);
                    self.left -= 1;
                    return Ok(Values::Real(Volume { grid: self.grid.clone(), voxels }));
                }
            }
        };
        self.left -= 1;
        keys.coded(self.grid.clone(), also).map(Values::Whole).map_err(|kind| wrap(&self.path, kind))
    }
}

/// Meaning of the volumes in a file of several volumes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Planes {
    /// A single volume.
    One,
    /// A series of volumes along the fourth axis, in most files over time.
    Series(Timing),
    /// The volumes of the file are the components of vectors, or the channels of an image.
    Vectors,
    /// The volumes of the file are the components of symmetric matrices, in the order xx, xy, yy, xz, yz, zz.
    Tensors,
    /// The volumes lie along the fifth axis and have no defined meaning.
    Fifth,
    /// The volumes lie along the fourth axis and are the components of FSL's displacements.
    Displacements,
}

/// Description of a file of several volumes that is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanesFile<'a> {
    /// The grid that all volumes have.
    pub grid: &'a Grid,
    /// Number of volumes in the file.
    pub count: usize,
    /// Meaning of the volumes in the file.
    pub planes: Planes,
    /// Storage type.
    pub stored: Stored,
}

impl<'g> PlanesFile<'g> {
    fn of_series(grid: &'g Grid, count: usize, timing: Timing) -> PlanesFile<'g> {
        PlanesFile { grid, count, planes: Planes::Series(timing), stored: Stored::Float32 }
    }

    pub(super) fn header(&self) -> Result<Header, ErrorKind> {
        let count = i32::try_from(self.count).ok().filter(|count| *count > 0);
        let count = count.ok_or(ErrorKind::Volumes { found: self.count })?;
        let axes = match self.planes {
            Planes::Vectors | Planes::Tensors | Planes::Fifth => Some(self.count),
            Planes::One | Planes::Series(_) | Planes::Displacements => None,
        };
        let mut header = header::for_grid(self.grid, self.stored.datatype(), axes);
        match self.planes {
            Planes::One => {}
            Planes::Series(timing) => timing.put(&mut header, count.into()),
            Planes::Vectors => header.intent_code = VECTOR_INTENT,
            Planes::Tensors => header.intent_code = TENSOR_INTENT,
            Planes::Fifth => header.intent_code = 0,
            Planes::Displacements => {
                Timing::default().put(&mut header, count.into());
                header.intent_code = DISPLACEMENT_INTENT;
            }
        }
        Ok(header)
    }

    /// Writes the file. `volume(index)` makes each volume when it is needed, so that the volumes need not all fit
    /// into memory. The file appears when it is complete, in the format of its name.
    ///
    /// # Errors
    /// A name of another format; too many volumes or voxels; a volume of another size; a folder that does not exist
    /// or is full; errors of `volume`.
    pub fn write<'a, E: From<Error>>(
        &self,
        to: impl Into<Target<'a>>,
        mut volume: impl FnMut(usize) -> Result<Volume, E>,
    ) -> Result<(), E> {
        self.write_voxels(to.into(), |index, voxels| {
            voxels.extend_from_slice(&volume(index)?.voxels);
            Ok(())
        })
    }

    /// Writes the file as [`PlanesFile::write`] does. Whole numbers are stored exactly.
    ///
    /// # Errors
    /// Those of [`PlanesFile::write`], or a whole number that the storage type cannot represent.
    pub fn write_values<'a, E: From<Error>>(
        &self,
        to: impl Into<Target<'a>>,
        mut values: impl FnMut(usize) -> Result<Values, E>,
    ) -> Result<(), E> {
        let (to, stored) = (to.into(), self.stored);
        let path = to.path;
        self.write_voxels(to, |index, voxels| {
            match values(index)? {
                Values::Real(volume) => voxels.extend(volume.voxels.iter().map(|value| stored.bits_of_real(*value))),
                Values::Whole(Coded { indices, table }) => {
                    let table: Vec<_> = table.iter().map(|value| stored.bits(*value).ok_or(*value)).collect();
                    for index in &indices.voxels {
                        let bits = table[*index as usize].map_err(|value| {
                            Error::new(path, ErrorKind::NotExact { value, stored: stored.name() })
                        })?;
                        voxels.push(bits);
                    }
                }
            }
            Ok(())
        })
    }

    fn write_voxels<T: Piece, E: From<Error>>(
        &self,
        to: Target,
        next: impl FnMut(usize, &mut Vec<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let header = self.header().map_err(|kind| Error::new(to.path, kind))?;
        write_volumes::write(
            to,
            &File { header, each: self.grid.len(), count: self.count, stored: self.stored },
            next,
        )
    }
}

/// Writes a series in single precision, on the grid of its first volume. The file is like that of
/// [`write_volume`](super::write_volume).
///
/// # Errors
/// Those of [`write_volume`](super::write_volume), or a wrong number of volumes or voxels.
pub fn write_series<'a>(to: impl Into<Target<'a>>, series: &Series) -> Result<(), Error> {
    let to = to.into();
    let Series { volumes, timing } = series;
    let Some(first) = volumes.first() else {
        return Err(Error::new(to.path, ErrorKind::Volumes { found: 0 }));
    };
    PlanesFile::of_series(&first.grid, volumes.len(), *timing).write_voxels(to, |index, voxels| {
        voxels.extend_from_slice(&volumes[index].voxels);
        Ok(())
    })
}

/// Writes a series of `count` volumes on `grid`. `volume(index)` makes each volume when it is needed, so that the
/// series need not fit into memory. The file is like that of [`write_series`].
///
/// # Errors
/// Those of [`write_series`] and of `volume`; after an error no file is written.
pub fn write_series_by_volume<'a, E: From<Error>>(
    to: impl Into<Target<'a>>,
    grid: &Grid,
    count: usize,
    timing: Timing,
    volume: impl FnMut(usize) -> Result<Volume, E>,
) -> Result<(), E> {
    PlanesFile::of_series(grid, count, timing).write(to, volume)
}
