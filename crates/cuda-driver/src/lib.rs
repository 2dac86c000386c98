//! Functions of the CUDA driver, to which the crate `cust` links. Each function forwards to the driver library, which
//! is opened at the first call.
//!
//! So a program builds with Rust alone, starts on a machine without a driver, reports why no device can be used, and
//! uses the GPU where there is one. Call [`load`] before any function of `cust`.
#![expect(unsafe_code, reason = "this crate calls C functions of a library that is opened at run time")]

mod functions;
mod launch;
mod library;
mod text;

pub use launch::launch_early;
pub use library::{last_unlisted_error, load};
pub use text::error_text;
