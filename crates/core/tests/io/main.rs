//! File formats: what is written comes back, what other programs wrote is understood, what is damaged is refused.

mod bad_nifti;
mod composites;
mod headers;
mod nifti_volumes;
mod planes;
mod slices;
mod support;
mod transforms;
