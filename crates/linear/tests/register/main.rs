//! The linear stage as its callers see it.

mod object;
mod prepared;
mod recovery;
mod refusals;
mod weights;
