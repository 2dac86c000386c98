//! Reading and writing of volumes and label maps in files of all formats of images: NIfTI-1 and NIfTI-2 (`.nii`,
//! `.nii.gz`; `.hdr` with `.img` for reading), FreeSurfer's (`.mgh`, `.mgz`), NRRD (`.nrrd`, `.nhdr`) and MetaImage
//! (`.mha`, `.mhd`). The header is that of NIfTI in all of them (`io/formats`).

mod coded;
mod file;
mod grid_rule;
mod header;
mod inspect;
mod itk_geometry;
mod planes;
mod read;
mod series;
mod voxels;
mod warnings;
mod write;
mod write_volumes;

pub use coded::{Coded, Values};
pub use grid_rule::GridRule;
pub use inspect::{Inspection, inspect};
pub use planes::{Planes, PlanesFile, PlanesReader, write_series, write_series_by_volume};
pub(crate) use read::{Meaning, Vectors, read_vectors};
pub use read::{read_grid, read_labels, read_volume};
pub use series::{Series, SeriesReader, Timing, read_series};
pub use warnings::HeaderWarning;
pub use write::{stored_grid, write_deflated_volume, write_labels, write_values, write_volume};
pub(crate) use write::{write_deflated_vectors, write_meant_vectors, write_vectors};
pub use write_volumes::Stored;
