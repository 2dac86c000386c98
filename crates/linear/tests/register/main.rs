//! Tests of linear registration through the crate's public interface.

mod boundary;
mod costs;
mod exchange;
mod object;
mod observer;
mod prepared;
mod recovery;
mod refusals;
mod robustness;
mod slices;
mod translation;
mod units;
mod weights;
