//! Reads volumes, label maps and vector images.

use std::path::Path;

use super::super::{Error, ErrorKind};
use super::file::ImageFile;
use super::grid_rule::GridRule;
use crate::{Grid, LabelVolume, Volume, content};

/// Reads a volume of real numbers of any type, scaled according to the header. The grid is in RAS mm. It is read from
/// the sform, else from the qform, else from the voxel sizes alone along ITK's axes. Voxels that are NaN, infinite or
/// beyond single precision are [missing](crate::content): they are 0.
///
/// # Errors
/// A file that does not exist, is damaged, truncated or no image; complex or vector voxels; several volumes; a
/// header without a usable grid; too little memory.
pub fn read_volume(path: &Path) -> Result<Volume, Error> {
    GridRule::default().read_volume(path)
}

impl GridRule {
    /// Reads a volume as [`read_volume`] does, but reads its grid from the header by the rule `self`.
    ///
    /// # Errors
    /// Those of [`read_volume`].
    pub fn read_volume(self, path: &Path) -> Result<Volume, Error> {
        let wrap = |kind| Error::new(path, kind);
        let mut file = ImageFile::open(path, self)?;
        let grid = file.scalar_grid().map_err(wrap)?;
        let mut voxels = file.read_f32(grid.len() as u64)?;
        content::clear_missing(&mut voxels);
        Ok(Volume { grid, voxels })
    }
}

/// Reads only the header of a file and returns the grid that [`read_volume`] would give.
///
/// # Errors
/// Those of [`read_volume`], as far as the header and the file's length show them.
pub fn read_grid(path: &Path) -> Result<Grid, Error> {
    GridRule::default().read_grid(path)
}

impl GridRule {
    /// Reads a grid as [`read_grid`] does, but by the rule `self`.
    ///
    /// # Errors
    /// Those of [`read_grid`].
    pub fn read_grid(self, path: &Path) -> Result<Grid, Error> {
        let mut file = ImageFile::open(path, self)?;
        let grid = file.scalar_grid().map_err(|kind| Error::new(path, kind))?;
        file.begin(grid.len() as u64)?;
        Ok(grid)
    }
}

/// Reads a label map: a volume of integers, stored in any type. The grid is read as by [`read_volume`]. NaN and infinity
/// are background, label 0.
///
/// # Errors
/// Those of [`read_volume`], or voxels that are not integers within 32 bits.
pub fn read_labels(path: &Path) -> Result<LabelVolume, Error> {
    GridRule::default().read_labels(path)
}

impl GridRule {
    /// Reads a label map as [`read_labels`] does, but reads the grid from the NIfTI header by this rule (ITK's or this
    /// program's).
    ///
    /// # Errors
    /// Those of [`read_labels`].
    pub fn read_labels(self, path: &Path) -> Result<LabelVolume, Error> {
        let wrap = |kind| Error::new(path, kind);
        let mut file = ImageFile::open(path, self)?;
        let grid = file.scalar_grid().map_err(wrap)?;
        let (mut count, mut first) = (0, None);
        let mut block = Vec::new();
        let voxels = file.read(grid.len() as u64, |encoding, bytes, out: &mut Vec<i32>| {
            block.clear();
            encoding.append_f64(bytes, &mut block);
            block.iter_mut().filter(|value| !value.is_finite()).for_each(|value| *value = 0.0);
            out.extend(block.iter().map(|&value| value as i32));
            // Stored numbers are converted to integer labels. Large values are clamped; such a label differs from the
            // stored number, so the voxel is counted as wrong.
            let start = out.len() - block.len();
            let is_label = |at: usize| f64::from(out[start + at]) == block[at];
            let wrong = (0..block.len()).filter(|&at| !is_label(at)).count();
            if wrong > 0 {
                count += wrong;
                let at = (0..block.len()).find(|&at| !is_label(at)).unwrap_or(0);
                first = first.or(Some((start + at, block[at])));
            }
        })?;
        match first {
            Some((at, value)) => Err(wrap(ErrorKind::NotLabels { count, first: index(at, grid.shape), value })),
            None => Ok(LabelVolume { grid, voxels }),
        }
    }
}

/// What a header says about the meaning of vectors, besides the intent code.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Meaning {
    /// NIfTI's name of the intent.
    pub name: String,
    /// NIfTI's first number of the intent.
    pub parameter: f32,
}

/// An image of vectors, with the vectors as stored in the file.
pub(crate) struct Vectors {
    /// The grid of the image's voxels.
    pub grid: Grid,
    /// One vector for each voxel; the first axis of the grid runs fastest.
    pub vectors: Vec<[f32; 3]>,
    /// NIfTI's intent code, which tells the meaning of the vectors.
    pub intent: i32,
    pub meaning: Meaning,
}

/// Reads an image of vectors. The vectors have three components; those of a slice may have two, and then the third
/// component is 0.
pub(crate) fn read_vectors(rule: GridRule, path: &Path) -> Result<Vectors, Error> {
    let wrap = |kind| Error::new(path, kind);
    let mut file = ImageFile::open(path, rule)?;
    let (grid, components) = file.vector_grid().map_err(wrap)?;
    let intent = file.header.intent_code;
    let meaning = Meaning { name: file.header.intent_name.clone(), parameter: file.header.intent_p1 as f32 };
    let voxels = grid.len();
    let count = (components * voxels) as u64;
    file.begin(count)?;
    let mut vectors = file.room_for(voxels as u64)?;
    vectors.resize(voxels, [0.0; 3]);
    let (mut at, mut wrong, mut first) = (0, 0, None);
    let mut block = Vec::new();
    file.next_values(count, |encoding, bytes| {
        block.clear();
        encoding.append_f32(bytes, &mut block);
        let mut rest = block.as_slice();
        while !rest.is_empty() {
            // A NIfTI file stores the first component of the vectors for all voxels, then the second component for all
            // voxels, and so on.
            let (axis, start) = (at / voxels, at % voxels);
            let (values, later) = rest.split_at(rest.len().min(voxels - start));
            for (n, (vector, value)) in vectors[start..].iter_mut().zip(values).enumerate() {
                vector[axis] = *value;
                if !value.is_finite() {
                    wrong += 1;
                    first = first.or(Some(start + n));
                }
            }
            at += values.len();
            rest = later;
        }
    })?;
    match first {
        Some(first) => Err(wrap(ErrorKind::NotFinite { count: wrong, first: index(first, grid.shape) })),
        None => Ok(Vectors { grid, vectors, intent, meaning }),
    }
}

/// Index along each axis of the voxel that is number `at` in file order, counted from 0.
fn index(at: usize, [nx, ny, _]: [usize; 3]) -> [usize; 3] {
    [at % nx, at / nx % ny, at / nx / ny]
}
