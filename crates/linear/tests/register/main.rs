//! The linear stage as its callers see it.

mod object;
mod recovery;
mod refusals;
mod weights;
