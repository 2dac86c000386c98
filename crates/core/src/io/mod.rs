//! Reading and writing of files: images, and transforms of ITK and FSL. Outside of these modules, all
//! coordinates are RAS mm. The module of each format converts the format's own coordinates.

mod ahead;
mod deflate;
mod error;
pub mod exchange;
mod foreign;
mod formats;
pub mod fsl;
pub mod fsl_warp;
pub mod geometry;
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

pub use deflate::Deflated;
pub use error::{Error, ErrorKind, FieldNotServed};
pub use formats::{ImageFormat, companion};
pub use small::{read_bytes, read_text};
pub use target::{Listener, Target};
