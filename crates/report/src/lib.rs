//! Pages to judge registrations by: from volumes, transforms and figures to one self-contained HTML file each.
//!
//! A page makes no request, shows its main pictures without script, and has a light and a dark look. Only the slices that are
//! shown are resampled. Pictures are in the radiological convention: the subject's right is on the left.
//!
//! [`Reference`] is the image that others are compared with; it is prepared once for any number of pages. [`compare`] makes
//! the pictures of one image beside it. [`comparison_page`] makes the page of one result, [`group_page`] that of many.

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
