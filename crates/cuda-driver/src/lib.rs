//! The functions of the CUDA driver that `cust` is linked against, each forwarded to the driver library, which is
//! opened at the first call.
//!
//! So one binary builds with Rust alone, starts where there is no driver, says why there is no device, and uses the
//! GPU where there is one. Call [`load`] before anything of `cust`.
#![expect(unsafe_code, reason = "defines C functions and calls into a library opened at run time")]

mod functions;
mod library;
mod text;

pub use library::{last_unlisted_error, load};
pub use text::error_text;
