//! The linear stage as its callers see it.

mod costs;
mod object;
mod prepared;
mod recovery;
mod refusals;
mod robustness;
mod slices;
mod weights;
