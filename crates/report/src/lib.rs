//! HTML pages for the visual inspection of registrations. A page is one self-contained file, made from volumes,
//! transforms and numbers.
//!
//! A page makes no network request, shows its main pictures without script, and has a light and a dark mode. Images are
//! resampled only on the slices that are shown. Pictures are in the radiological convention: the subject's right is on
//! the left.
//!
//! [`Reference`] is the image with which other images are compared; it is prepared once for any number of pages.
//! [`compare`] makes the pictures of one image next to the reference. [`comparison_page`] makes the page of one result,
//! [`group_page`] the page of many results.

mod chart;
mod comparison;
mod error;
mod facts;
mod group;
mod label_map;
mod lattice;
mod links;
mod motion;
mod outline;
mod overview;
mod picture;
mod reference;
pub mod robust;
mod slices;
mod stretch;
mod thumbnail;
mod viewer;
mod views;

pub use chart::{Curve, Curves, curves, histograms};
pub use comparison::{Chart, ComparisonPage, Page, comparison_page};
pub use error::Error;
pub use facts::{Facts, File, Section};
pub use group::{GroupPage, Measure, Member, Worse, group_page};
pub use links::{link_to, thumbnail_in};
pub use motion::{MotionPage, carpet, motion_page};
pub use overview::{Overview, overview};
pub use reference::Reference;
pub use viewer::{Compared, Pictures, compare};
