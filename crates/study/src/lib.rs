//! Image registration studies from files to files: one pair, many subjects, templates, labels of atlases.
//!
//! [`pair`] is one registration: reading, checking, the record, writing. [`batch`] registers many subjects to one
//! fixed image and can be continued after a stop. [`labels`] labels an image by several atlases. [`subjects`] lists
//! the subjects of a study. [`normalise`] brings raw scans of heads to a template. [`longitudinal`] compares images of one
//! person. [`undistort`] removes the distortion of echo-planar images. The library prints nothing; front
//! ends convert arguments to its types and show its results.

pub mod apply;
pub mod batch;
pub mod bias;
pub mod brain;
mod carried_page;
mod error;
pub mod geometry;
mod identity;
pub mod inputs;
pub mod labels;
pub mod longitudinal;
pub mod memory;
pub mod motion;
pub mod normalise;
mod observer;
mod outliers;
pub mod pair;
pub mod points;
pub mod skulls;
pub mod subjects;
pub mod template;
pub mod transforms;
pub mod undistort;
pub mod words;

pub use carried_page::{Carried, carried_page};
pub use error::Error;
pub use identity::{FileIdentity, WrittenFile};
pub use observer::{Event, Invocation, Observer, RunWarning};
