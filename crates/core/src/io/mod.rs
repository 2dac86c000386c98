//! Files: NIfTI volumes, ITK and FSL transforms. Each foreign convention lives in one module here and nowhere else.

mod deflate;
mod error;
mod foreign;
pub mod fsl;
mod gzip;
pub mod itk;
pub mod label_list;
pub mod nifti;
pub mod outputs;
pub mod points;
mod replace;
mod small;
mod source;
mod target;

pub use error::{Error, ErrorKind};
pub use small::{read_bytes, read_text};
pub use target::{Listener, Target};
