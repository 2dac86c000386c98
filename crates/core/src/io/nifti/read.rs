//! Reading NIfTI-1.

use std::path::Path;

use ::nifti::NiftiHeader;

use super::super::source::Source;
use super::super::{Error, ErrorKind};
use super::header;
use super::voxels::Encoding;
use crate::{Grid, LabelVolume, Volume};

/// Bytes converted at a time; a multiple of every voxel size.
const BLOCK: usize = 1 << 18;

/// Reads a volume of real numbers.
pub fn read_volume(path: &Path) -> Result<Volume, Error> {
    let wrap = |kind| Error::new(path, kind);
    let mut file = NiftiFile::open(path)?;
    let grid = file.scalar_grid().map_err(wrap)?;
    let mut voxels = Vec::new();
    file.read(grid.len() as u64, &mut voxels, Encoding::append_f32).map_err(wrap)?;
    check_finite(&voxels, grid.shape).map_err(wrap)?;
    Ok(Volume { grid, voxels })
}

/// Reads a volume of whole numbers, whatever type they are stored in.
pub fn read_labels(path: &Path) -> Result<LabelVolume, Error> {
    let wrap = |kind| Error::new(path, kind);
    let mut file = NiftiFile::open(path)?;
    let grid = file.scalar_grid().map_err(wrap)?;
    let mut voxels = Vec::new();
    let mut wrong: Option<(usize, usize, f64)> = None;
    let mut block = Vec::new();
    file.read(grid.len() as u64, &mut voxels, |encoding, bytes, out: &mut Vec<i32>| {
        block.clear();
        encoding.append_f64(bytes, &mut block);
        for &value in &block {
            // NaN becomes 0 and values out of range the nearest bound, so that neither equals what was stored.
            let label = value as i32;
            if f64::from(label) != value {
                wrong = Some(wrong.map_or((1, out.len(), value), |(count, first, at)| (count + 1, first, at)));
            }
            out.push(label);
        }
    })
    .map_err(wrap)?;
    match wrong {
        Some((count, first, value)) => {
            Err(wrap(ErrorKind::NotLabels { count, first: index(first, grid.shape), value }))
        }
        None => Ok(LabelVolume { grid, voxels }),
    }
}

/// Reads a vector image: its grid and its three components, one after the other, as stored.
pub(crate) fn read_warp(path: &Path) -> Result<(Grid, Vec<f32>), Error> {
    let wrap = |kind| Error::new(path, kind);
    let mut file = NiftiFile::open(path)?;
    let grid = file.vector_grid().map_err(wrap)?;
    let mut values = Vec::new();
    file.read(3 * grid.len() as u64, &mut values, Encoding::append_f32).map_err(wrap)?;
    for component in values.chunks_exact(grid.len()) {
        check_finite(component, grid.shape).map_err(wrap)?;
    }
    Ok((grid, values))
}

struct NiftiFile {
    source: Source,
    header: NiftiHeader,
    encoding: Encoding,
}

impl NiftiFile {
    fn open(path: &Path) -> Result<NiftiFile, Error> {
        let wrap = |kind| Error::new(path, kind);
        let mut source = Source::open(path)?;
        let mut bytes = [0; header::LENGTH];
        let filled = source.fill(&mut bytes).map_err(wrap)?;
        let header = header::parse(&bytes[..filled]).map_err(wrap)?;
        if header.magic != *b"n+1\0" {
            return Err(wrap(ErrorKind::Unsupported("a header without its voxels (.hdr and .img)")));
        }
        let encoding = Encoding::of(&header).map_err(wrap)?;
        Ok(NiftiFile { source, header, encoding })
    }

    fn scalar_grid(&self) -> Result<Grid, ErrorKind> {
        let extents = header::extents(&self.header)?;
        let count = extents[3..].iter().fold(1u64, |product, &extent| product.saturating_mul(extent));
        if count != 1 {
            return Err(ErrorKind::SeveralVolumes { count, dim: header::dimensions(&self.header) });
        }
        self.volume_grid(extents)
    }

    fn vector_grid(&self) -> Result<Grid, ErrorKind> {
        let extents = header::extents(&self.header)?;
        if extents[3..] != [1, 3, 1, 1] {
            return Err(ErrorKind::NotWarp { dim: header::dimensions(&self.header) });
        }
        self.volume_grid(extents)
    }

    fn volume_grid(&self, extents: [u64; 7]) -> Result<Grid, ErrorKind> {
        // At most 32767 each.
        let shape = [0, 1, 2].map(|axis| extents[axis] as usize);
        if shape.contains(&1) {
            return Err(ErrorKind::Flat { shape });
        }
        header::grid(&self.header, shape)
    }

    /// Reads `count` values through `append`, having made sure that the file can hold them.
    fn read<T>(
        &mut self,
        count: u64,
        out: &mut Vec<T>,
        mut append: impl FnMut(&Encoding, &[u8], &mut Vec<T>),
    ) -> Result<(), ErrorKind> {
        let offset = self.header.vox_offset;
        let start = match offset {
            0.0 => header::WITH_EXTENDER as u64,
            _ if offset.fract() == 0.0 && offset >= header::LENGTH as f32 => offset as u64,
            _ => return Err(ErrorKind::Format { expected: "a NIfTI file", found: format!("vox_offset {offset}") }),
        };
        let size = self.encoding.datatype.size_of() as u64;
        let expected = count.saturating_mul(size).saturating_add(start);
        let unpacked = self.source.gzipped;
        if expected > self.source.most_bytes {
            return Err(ErrorKind::Truncated { expected, found: self.source.most_bytes, unpacked });
        }
        let mut block = vec![0; BLOCK];
        while self.source.position < start {
            let step = (start - self.source.position).min(BLOCK as u64) as usize;
            if self.source.fill(&mut block[..step])? < step {
                return Err(ErrorKind::Truncated { expected, found: self.source.position, unpacked });
            }
        }
        let memory = |_| ErrorKind::System(std::io::ErrorKind::OutOfMemory.into());
        out.try_reserve_exact(usize::try_from(count).unwrap_or(usize::MAX)).map_err(memory)?;
        while self.source.position < expected {
            let step = (expected - self.source.position).min(BLOCK as u64) as usize;
            if self.source.fill(&mut block[..step])? < step {
                return Err(ErrorKind::Truncated { expected, found: self.source.position, unpacked });
            }
            append(&self.encoding, &block[..step], out);
        }
        self.source.finish()
    }
}

fn check_finite(voxels: &[f32], shape: [usize; 3]) -> Result<(), ErrorKind> {
    let finite = voxels.iter().filter(|value| value.is_finite()).count();
    match voxels.iter().position(|value| !value.is_finite()) {
        Some(first) => Err(ErrorKind::NotFinite { count: voxels.len() - finite, first: index(first, shape) }),
        None => Ok(()),
    }
}

/// Voxel index of the `at`-th voxel.
fn index(at: usize, [nx, ny, _]: [usize; 3]) -> [usize; 3] {
    [at % nx, at / nx % ny, at / nx / ny]
}
