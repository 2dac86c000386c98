//! Files: NIfTI volumes, ITK and FSL transforms. Each foreign convention lives in one module here and nowhere else.

mod error;
mod foreign;
pub mod fsl;
mod gzip;
pub mod itk;
pub mod nifti;
pub mod outputs;
pub mod points;
mod replace;
mod source;
mod target;

pub use error::{Error, ErrorKind};
pub use target::{Listener, Target};
