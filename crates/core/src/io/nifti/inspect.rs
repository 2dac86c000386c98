//! Inspection of a NIfTI header without reading the voxels.

use std::path::Path;

use ::nifti::Endianness;

use super::super::Error;
use super::doubts::{self, HeaderDoubt};
use super::file::NiftiFile;
use super::grid_rule::GridRule;
use super::header;
use crate::Grid;

/// The relevant parts of the header of a NIfTI file.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// `dim`: number of dimensions, then their extents.
    pub dim: [i16; 8],
    /// Type of the stored values, such as "Int16".
    pub datatype: String,
    /// Whether numbers are big-endian.
    pub big_endian: bool,
    /// (slope, intercept) applied to stored values, if any.
    pub scaling: Option<(f64, f64)>,
    /// Space of the qform; 0 for none.
    pub qform_code: i16,
    /// Space of the sform; 0 for none.
    pub sform_code: i16,
    /// Fields of the header that ITK, and therefore ANTs, interprets differently.
    pub doubts: Vec<HeaderDoubt>,
    /// Meaning of the values; 0 for none, 1007 for vectors.
    pub intent_code: i16,
    /// Free text.
    pub description: String,
    /// Grid of the first three dimensions.
    pub grid: Grid,
}

/// Reads only the header; files with several volumes are allowed.
///
/// # Errors
/// A file that does not exist or is no NIfTI-1, or whose header has impossible dimensions, unknown voxels or no
/// usable grid.
pub fn inspect(path: &Path) -> Result<Inspection, Error> {
    GridRule::default().inspect(path)
}

impl GridRule {
    /// [`inspect`] with the grid by this rule.
    ///
    /// # Errors
    /// Those of [`inspect`].
    pub fn inspect(self, path: &Path) -> Result<Inspection, Error> {
        let NiftiFile { header, encoding, .. } = NiftiFile::open(path, self)?;
        let wrap = |kind| Error::new(path, kind);
        let extents = header::extents(&header).map_err(wrap)?;
        let shape = [0, 1, 2].map(|axis| extents[axis] as usize);
        let grid = self.grid(&header, shape).map_err(wrap)?;
        let text = header.descrip.split(|&byte| byte == 0).next().unwrap_or_default();
        Ok(Inspection {
            dim: header::dimensions(&header),
            datatype: format!("{:?}", encoding.datatype),
            big_endian: header.endianness == Endianness::Big,
            scaling: encoding.scaling,
            qform_code: header.qform_code,
            sform_code: header.sform_code,
            doubts: doubts::of(&header, shape),
            intent_code: header.intent_code,
            description: String::from_utf8_lossy(text).into_owned(),
            grid,
        })
    }
}
