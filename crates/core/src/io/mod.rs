//! Files: NIfTI volumes, ITK and FSL transforms. Each foreign convention lives in one module here and nowhere else.

pub mod nifti;
