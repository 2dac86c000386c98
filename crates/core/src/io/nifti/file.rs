//! An image file opened for reading: its header has been checked, its voxels have not been read.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::super::formats::header::Header;
use super::super::formats::{self, Opened};
use super::super::source::Source;
use super::super::{Error, ErrorKind};
use super::grid_rule::GridRule;
use super::header;
use super::voxels::Encoding;
use crate::{Grid, memory};

/// Number of bytes that are read and converted together; a multiple of every voxel size.
const BLOCK: usize = 1 << 18;
/// Number of values that a thread reads together, if several threads read a file.
const PART: usize = 1 << 16;

/// An open image file whose header has been read.
pub(super) struct ImageFile {
    /// The fields of the header.
    pub header: Header,
    /// Type, byte order and scaling of the stored voxels.
    pub encoding: Encoding,
    /// The rule by which the grid of the image is read from the header.
    rule: GridRule,
    /// Path of the file with the voxels: the `.nii` file itself, or the `.img` file of a `.hdr` and `.img` pair.
    path: PathBuf,
    source: Source,
    /// Position of the first voxel value in `source`, bytes.
    start: u64,
    /// Number of components of each voxel, if these are stored together.
    together: Option<u64>,
    /// Position in the file, bytes, at which the voxel values end that the last call of [`ImageFile::begin`] requested.
    end: u64,
}

impl ImageFile {
    /// Opens the image `path`: a `.nii` file, or either file of a `.hdr` and `.img` pair, gzipped or not.
    pub fn open(path: &Path, rule: GridRule) -> Result<ImageFile, Error> {
        let Opened { header, path: voxels, source, start, together } = formats::open(path)?;
        let encoding = Encoding::of(&header).map_err(|kind| Error::new(path, kind))?;
        Ok(ImageFile { header, encoding, rule, path: voxels, source, start, together, end: 0 })
    }

    /// The grid of a file that must contain one scalar volume.
    pub fn scalar_grid(&self) -> Result<Grid, ErrorKind> {
        let extents = header::extents(&self.header)?;
        let count = extents[3..].iter().fold(1u64, |product, &extent| product.saturating_mul(extent));
        if count != 1 {
            return Err(ErrorKind::SeveralVolumes { count, dim: self.header.dim.into() });
        }
        self.volume_grid(extents)
    }

    /// The grid and the number of volumes of a file that must contain a series of scalar volumes.
    pub fn series_grid(&self) -> Result<(Grid, u64), ErrorKind> {
        let extents = header::extents(&self.header)?;
        match extents[4..] {
            [1, 1, 1] => Ok((self.volume_grid(extents)?, extents[3])),
            _ => self.scalar_grid().map(|grid| (grid, 1)),
        }
    }

    /// The grid and the number of components of a file that must contain one volume of vectors. Vectors have three
    /// components, or two in a slice.
    pub fn vector_grid(&self) -> Result<(Grid, usize), ErrorKind> {
        let extents = header::extents(&self.header)?;
        let components = match extents[2..] {
            [_, 1, 3, 1, 1] => 3,
            [1, 1, 2, 1, 1] => 2,
            _ => return Err(ErrorKind::NotWarp { dim: self.header.dim.into() }),
        };
        Ok((self.volume_grid(extents)?, components))
    }

    /// The grid of the first three dimensions of the header.
    pub fn volume_grid(&self, extents: [u64; 7]) -> Result<Grid, ErrorKind> {
        // The conversion to `usize` loses nothing, because no extent has more than 31 bits.
        let shape = [0, 1, 2].map(|axis| extents[axis] as usize);
        // A slice with several voxels along its first two axes is a two-dimensional image. A single row or column of
        // voxels is refused.
        if shape[..2].contains(&1) {
            return Err(ErrorKind::Flat { shape });
        }
        self.rule.grid(&self.header, shape)
    }

    /// Prepares the reading of voxel values: checks that the file is long enough for `count` values, and moves to the
    /// first value.
    pub fn begin(&mut self, count: u64) -> Result<(), Error> {
        let mut begin = || {
            let start = self.start;
            self.end = count.saturating_mul(self.value_bytes()).saturating_add(start);
            self.source.check_holds(self.end)?;
            if !self.source.skip_to(start)? {
                return Err(self.source.truncated(self.end));
            }
            match self.together.take() {
                Some(components) => self.take_apart(components, count),
                None => Ok(()),
            }
        };
        begin().map_err(|kind| Error::new(&self.path, kind))
    }

    /// Reads all voxels, whose components are stored together, and replaces the source by one that gives all voxels of
    /// the first component, then all of the second, and so on.
    fn take_apart(&mut self, components: u64, count: u64) -> Result<(), ErrorKind> {
        let size = self.value_bytes() as usize;
        let mut stored: Vec<u8> = memory::room_for(count * size as u64)?;
        stored.resize(count as usize * size, 0);
        if self.source.fill(&mut stored)? < stored.len() {
            return Err(self.source.truncated(self.end));
        }
        self.source.finish()?;
        let mut apart = memory::room_for::<u8>(count * size as u64)?;
        // No extent has more than 31 bits.
        let components = components as usize;
        for component in 0..components {
            for voxel in stored.chunks_exact(size * components) {
                apart.extend_from_slice(&voxel[component * size..(component + 1) * size]);
            }
        }
        self.source = Source::of_bytes(apart);
        (self.start, self.end) = (0, count * size as u64);
        Ok(())
    }

    /// Reads the next `count` of the values requested by [`ImageFile::begin`], and passes their bytes to `take` block
    /// by block.
    pub fn next_values(&mut self, count: u64, mut take: impl FnMut(&Encoding, &[u8])) -> Result<(), Error> {
        let mut next = || {
            let end = self.source.position().saturating_add(count.saturating_mul(self.value_bytes())).min(self.end);
            let mut block = vec![0; (end - self.source.position()).min(BLOCK as u64) as usize];
            while self.source.position() < end {
                let step = (end - self.source.position()).min(BLOCK as u64) as usize;
                if self.source.fill(&mut block[..step])? < step {
                    return Err(self.source.truncated(self.end));
                }
                take(&self.encoding, &block[..step]);
            }
            // After the last voxel value, the checksum of a compressed file is read and checked.
            if end == self.end { self.source.finish() } else { Ok(()) }
        };
        next().map_err(|kind| Error::new(&self.path, kind))
    }

    /// Reads `count` values, which `append` converts and appends to the result.
    ///
    /// # Errors
    /// The file is too short for the values, memory is short, or the file is damaged.
    pub fn read<T>(
        &mut self,
        count: u64,
        mut append: impl FnMut(&Encoding, &[u8], &mut Vec<T>),
    ) -> Result<Vec<T>, Error> {
        self.begin(count)?;
        let mut values = self.room_for(count)?;
        self.next_values(count, |encoding, bytes| append(encoding, bytes, &mut values))?;
        Ok(values)
    }

    /// Reads `count` values in single precision. All threads share the work if the file is not compressed.
    ///
    /// # Errors
    /// Those of [`ImageFile::read`].
    pub fn read_f32(&mut self, count: u64) -> Result<Vec<f32>, Error> {
        self.begin(count)?;
        let Some(plain) = self.source.plain() else {
            let mut values = self.room_for(count)?;
            self.next_values(count, |encoding, bytes| encoding.append_f32(bytes, &mut values))?;
            return Ok(values);
        };
        let mut values = memory::zeros(count).map_err(|shortage| Error::new(&self.path, shortage))?;
        let (encoding, start, size, end) = (self.encoding, self.source.position(), self.value_bytes(), self.end);
        let read = |(bytes, converted): &mut (Vec<u8>, Vec<f32>), (n, part): (usize, &mut [f32])| {
            bytes.resize(part.len() * size as usize, 0);
            plain.read_at(start + (n * PART) as u64 * size, bytes, end)?;
            converted.clear();
            encoding.append_f32(bytes, converted);
            part.copy_from_slice(converted);
            Ok(())
        };
        let parts = values.par_chunks_mut(PART).enumerate();
        parts.try_for_each_init(Default::default, read).map_err(|kind: ErrorKind| Error::new(&self.path, kind))?;
        Ok(values)
    }

    /// Allocates memory for `count` values; an error names this file.
    pub fn room_for<T>(&self, count: u64) -> Result<Vec<T>, Error> {
        memory::room_for(count).map_err(|shortage| Error::new(&self.path, shortage))
    }

    /// Size of one stored value, bytes.
    fn value_bytes(&self) -> u64 {
        self.encoding.datatype.size_of() as u64
    }
}
