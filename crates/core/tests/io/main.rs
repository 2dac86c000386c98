//! Tests of file formats: files that were written are read back, files of other programs are read, damaged files are
//! refused.

mod bad_nifti;
mod composites;
mod exchange;
mod formats;
mod geometry;
mod headers;
mod itk_geometry;
mod nifti_volumes;
mod planes;
mod slices;
mod support;
mod transforms;
mod warps;
