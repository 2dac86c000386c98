//! The driver's texts for error codes. They must work without a driver: `cust` prints errors with them, and a failure
//! here would make `println!` panic.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::AtomicPtr;

use crate::library::{Code, NOT_LOADED, resolve};

fn text(slot: &AtomicPtr<c_void>, name: &CStr, code: Code, out: *mut *const c_char) -> Code {
    if let Ok(address) = resolve(slot, name) {
        // SAFETY: the driver's cuGetErrorString and cuGetErrorName have this signature.
        let function: unsafe extern "C" fn(Code, *mut *const c_char) -> Code =
            unsafe { std::mem::transmute(address) };
        // SAFETY: the caller of the exported function gives a valid `out`.
        let known = unsafe { function(code, out) == 0 && !(*out).is_null() };
        if known {
            return 0;
        }
    }
    let fallback = match code {
        NOT_LOADED => c"the CUDA driver library is not loaded",
        _ => c"unrecognised CUDA error",
    };
    // SAFETY: as above; the text is static.
    unsafe { *out = fallback.as_ptr() };
    0
}

// Hidden, as in `functions.rs`: other libraries of the process must not resolve these names to these functions.
#[cfg(target_os = "linux")]
std::arch::global_asm!(
    ".globl cuGetErrorString",
    ".hidden cuGetErrorString",
    ".globl cuGetErrorName",
    ".hidden cuGetErrorName"
);

/// The description of an error.
///
/// # Safety
/// `out` must be valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: Code, out: *mut *const c_char) -> Code {
    static SLOT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    text(&SLOT, c"cuGetErrorString", code, out)
}

/// The name of an error.
///
/// # Safety
/// `out` must be valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: Code, out: *mut *const c_char) -> Code {
    static SLOT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    text(&SLOT, c"cuGetErrorName", code, out)
}

/// Name and description of an error code, from the driver if it is loaded.
pub fn error_text(code: u32) -> String {
    let read = |function: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
        let mut text = std::ptr::null();
        // SAFETY: `text` is valid for writing; both functions leave text that ends in NUL and is never freed.
        unsafe {
            function(code, &mut text);
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    };
    format!("{}: {}", read(cuGetErrorName), read(cuGetErrorString))
}
