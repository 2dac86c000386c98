//! The CUDA driver's texts for error codes. These functions must work without a driver: the crate `cust` prints errors
//! with them, and a failure here would make `println!` panic.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::AtomicPtr;

use crate::library::{Code, NOT_LOADED, resolve};

fn text(slot: &AtomicPtr<c_void>, name: &CStr, code: Code, out: *mut *const c_char) -> Code {
    if let Ok(address) = resolve(slot, name) {
        // SAFETY: the address is that of cuGetErrorString or cuGetErrorName. Both functions of the driver have this
        // signature.
        let function: unsafe extern "C" fn(Code, *mut *const c_char) -> Code =
            unsafe { std::mem::transmute(address) };
        // SAFETY: the caller of the exported function promises that `out` is valid for writing.
        let known = unsafe { function(code, out) == 0 && !(*out).is_null() };
        if known {
            return 0;
        }
    }
    let fallback = match code {
        NOT_LOADED => c"the CUDA driver library is not loaded",
        _ => c"unrecognised CUDA error",
    };
    // SAFETY: the caller of the exported function promises that `out` is valid for writing. The text is static.
    unsafe { *out = fallback.as_ptr() };
    0
}

// The functions defined here have the names of functions in the CUDA driver. So their names are hidden from the other
// libraries of the process, such as those of Python, which must call the driver itself.
#[cfg(target_os = "linux")]
std::arch::global_asm!(
    ".globl cuGetErrorString",
    ".hidden cuGetErrorString",
    ".globl cuGetErrorName",
    ".hidden cuGetErrorName"
);

/// Sets `out` to the description of a CUDA error code.
///
/// # Safety
/// `out` must be valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: Code, out: *mut *const c_char) -> Code {
    static SLOT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    text(&SLOT, c"cuGetErrorString", code, out)
}

/// Sets `out` to the name of a CUDA error code.
///
/// # Safety
/// `out` must be valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: Code, out: *mut *const c_char) -> Code {
    static SLOT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    text(&SLOT, c"cuGetErrorName", code, out)
}

/// Name and description of a CUDA error code, from the driver if its library is loaded.
pub fn error_text(code: u32) -> String {
    let read = |function: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
        let mut text = std::ptr::null();
        // SAFETY: the pointer `text` is valid for writing. `function` sets this pointer to an error text that ends in
        // NUL and is never freed.
        unsafe {
            function(code, &mut text);
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    };
    format!("{}: {}", read(cuGetErrorName), read(cuGetErrorString))
}
