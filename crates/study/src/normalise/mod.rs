//! Raw scans of heads brought to a template: shading removed, the brain found, registered, and written under the names that
//! BIDS gives derivatives. It is a [`batch`](crate::batch) with [`Normalising`] as its steps.

mod carried;
mod dataset;
mod listing;
mod names;
mod request;
mod shard;
mod sidecar;
mod space;
mod steps;

pub use dataset::Dataset;
pub use listing::{Scan, list};
pub use names::{BidsName, Derivatives, Place};
pub use request::{Normalisation, Output, Request};
pub use shard::Shard;
pub use space::Space;
pub use steps::Normalising;
