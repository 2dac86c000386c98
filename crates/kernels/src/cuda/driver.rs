//! Errors of the driver.

use cust::error::CudaError;
use cust::sys;

use crate::Error;

/// Converts a return code of the driver to a result.
pub(super) fn check(operation: &'static str, result: sys::CUresult) -> Result<(), Error> {
    check_code(operation, result as u32)
}

/// Like [`check`], for a return code as a number.
pub(super) fn check_code(operation: &'static str, code: u32) -> Result<(), Error> {
    if code == 0 { Ok(()) } else { Err(code_error(operation, code)) }
}

pub(super) fn driver_error(operation: &'static str, error: CudaError) -> Error {
    code_error(operation, error as u32)
}

fn code_error(operation: &'static str, code: u32) -> Error {
    /// The error code that the library `cust` returns in place of driver codes that are not in its list.
    const UNKNOWN: u32 = 999;
    let code = match (code, antsreg_cuda_driver::last_unlisted_error()) {
        (UNKNOWN, unlisted) if unlisted != 0 => unlisted,
        _ => code,
    };
    Error::Driver { operation, code, reason: antsreg_cuda_driver::error_text(code) }
}
