//! Brings raw scans of heads to a template: removes the shading, finds the brain, registers it, and writes the results
//! under the names that BIDS defines for derivatives. A normalisation is a [`batch`](crate::batch) of registrations.
//! [`Normalising`] adds the work before and after each registration.

mod carried;
mod contrast;
mod dataset;
mod listing;
mod names;
mod request;
mod shard;
mod sidecar;
mod space;
mod steps;

pub use listing::{Scan, list};
pub use names::{BidsName, Derivatives, Place};
pub use request::{Normalisation, Output, Request, run};
pub use shard::Shard;
pub use space::Space;
pub use steps::Normalising;
