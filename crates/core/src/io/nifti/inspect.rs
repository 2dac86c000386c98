//! Inspection of the header of an image. The voxels are not read.

use std::path::Path;

use ::nifti::Endianness;

use super::super::Error;
use super::file::ImageFile;
use super::grid_rule::GridRule;
use super::header;
use super::warnings::{self, HeaderWarning};
use crate::Grid;

/// The main fields of the header of an image. Files of other formats than NIfTI have an sform of code 1, and no qform.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// The field `dim`: number of dimensions, then the number of elements along each dimension.
    pub dim: [i64; 8],
    /// Storage type of the voxels in the file, such as "Int16".
    pub datatype: String,
    /// Whether the numbers in the file are big-endian.
    pub big_endian: bool,
    /// Slope and intercept that are applied to stored values; `None` if values are stored unscaled.
    pub scaling: Option<(f64, f64)>,
    /// NIfTI's code of the world space of the qform; 0 if the header has no qform.
    pub qform_code: i16,
    /// NIfTI's code of the world space of the sform; 0 if the header has no sform.
    pub sform_code: i16,
    /// Contradictions in the header because of which ITK, and therefore ANTs, places the image elsewhere.
    pub warnings: Vec<HeaderWarning>,
    /// NIfTI's intent code, which tells the meaning of the values: 0 if the header has none, 1007 for vectors.
    pub intent_code: i16,
    /// NIfTI's name of the intent.
    pub intent_name: String,
    /// The text of the header field `descrip`.
    pub description: String,
    /// Grid of the first three dimensions. [`inspect`] reads this grid by this program's rule, [`GridRule::inspect`] by
    /// the rule for which it is called.
    pub grid: Grid,
}

/// Reads the header of a file, but no voxels. Files with several volumes are allowed.
///
/// # Errors
/// The file does not exist or is no image; the header has impossible dimensions, an unknown voxel type or no
/// usable
/// grid.
pub fn inspect(path: &Path) -> Result<Inspection, Error> {
    GridRule::default().inspect(path)
}

impl GridRule {
    /// Inspects a header as [`inspect`] does, but reads its grid by the rule `self`.
    ///
    /// # Errors
    /// Those of [`inspect`].
    pub fn inspect(self, path: &Path) -> Result<Inspection, Error> {
        let ImageFile { header, encoding, .. } = ImageFile::open(path, self)?;
        let wrap = |kind| Error::new(path, kind);
        let extents = header::extents(&header).map_err(wrap)?;
        let shape = [0, 1, 2].map(|axis| extents[axis] as usize);
        let grid = self.grid(&header, shape).map_err(wrap)?;
        Ok(Inspection {
            dim: header.dim,
            datatype: format!("{:?}", encoding.datatype),
            big_endian: header.endianness == Endianness::Big,
            scaling: encoding.scaling,
            qform_code: header.qform_code as i16,
            sform_code: header.sform_code as i16,
            warnings: warnings::of(&header, shape),
            intent_code: header.intent_code as i16,
            intent_name: header.intent_name,
            description: header.descrip,
            grid,
        })
    }
}
