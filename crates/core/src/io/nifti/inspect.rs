//! Inspection of a NIfTI header without reading the voxels.

use std::path::Path;

use ::nifti::Endianness;

use super::super::Error;
use super::doubts::{self, HeaderDoubt};
use super::file::NiftiFile;
use super::grid_rule::GridRule;
use super::header;
use crate::Grid;

/// The main fields of the header of a NIfTI file.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// The field `dim`: number of dimensions, then the size along each.
    pub dim: [i16; 8],
    /// Type of the stored values, such as "Int16".
    pub datatype: String,
    /// Whether numbers are big-endian.
    pub big_endian: bool,
    /// (slope, intercept) applied to stored values, if any.
    pub scaling: Option<(f64, f64)>,
    /// Code of the qform's space; 0 without qform.
    pub qform_code: i16,
    /// Code of the sform's space; 0 without sform.
    pub sform_code: i16,
    /// Fields of the header that ITK, and therefore ANTs, interprets differently.
    pub doubts: Vec<HeaderDoubt>,
    /// Code for the meaning of the values; 0 without, 1007 for vectors.
    pub intent_code: i16,
    /// The text of the field `descrip`.
    pub description: String,
    /// Grid of the first three dimensions.
    pub grid: Grid,
}

/// Reads the header of a file, but no voxels. Files with several volumes are allowed.
///
/// # Errors
/// The file does not exist or is not NIfTI-1; the header has impossible dimensions, an unknown voxel type or no
/// usable
/// grid.
pub fn inspect(path: &Path) -> Result<Inspection, Error> {
    GridRule::default().inspect(path)
}

impl GridRule {
    /// Does what [`inspect`] does, with the grid by this rule.
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
