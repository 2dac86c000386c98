//! The linear stage as its callers see it.

mod costs;
mod object;
mod observer;
mod prepared;
mod recovery;
mod refusals;
mod robustness;
mod slices;
mod translation;
mod weights;
