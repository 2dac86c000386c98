//! The formats of transforms.

/// A format of transforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransformFormat {
    /// ITK and ANTs: affine `.mat`, `.txt`, `.tfm`; displacement field (an image); composite `.h5`. LPS mm.
    Itk,
    /// FSL's FLIRT: a 4 × 4 matrix, moving to fixed, in scaled mm.
    Fsl,
    /// FreeSurfer's LTA: an affine map, moving to fixed, RAS mm or voxels.
    Lta,
    /// AFNI's `.aff12.1D`: an affine map, fixed to moving, LPS mm.
    Afni,
    /// MRtrix: a 4 × 4 matrix, or an image of positions in the moving image along the fourth axis; RAS mm.
    Mrtrix,
    /// NiftyReg: a 4 × 4 matrix, or an image of positions in the moving image; RAS mm.
    NiftyReg,
    /// NiftyReg's displacement fields. In all else like [`TransformFormat::NiftyReg`].
    NiftyRegDisplacements,
    /// SPM's deformations (`y_…nii`): an image of positions in the moving image, RAS mm.
    Spm,
    /// X5, the HDF5 files of nitransforms: an affine map or a displacement field, RAS mm.
    X5,
}
