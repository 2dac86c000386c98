//! Opens the CUDA driver's library and looks up its functions.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// A return code of a function of the CUDA driver. Any number is possible, not only the values of the Rust enum in the
/// crate `cust_raw`.
pub(crate) type Code = u32;

/// The driver's error code CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND.
const NO_SYMBOL: Code = 302;
/// The driver's error code CUDA_ERROR_SHARED_OBJECT_INIT_FAILED.
pub(crate) const NOT_LOADED: Code = 303;
/// The driver's error code CUDA_ERROR_UNKNOWN.
const UNKNOWN: Code = 999;

/// Names under which the driver library is looked for: first in the system loader's own search path, then in folders
/// that the loader does not search (WSL, containers).
const PLACES: [&CStr; 3] =
    [c"libcuda.so.1", c"/usr/lib/wsl/lib/libcuda.so.1", c"/usr/local/nvidia/lib64/libcuda.so.1"];

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// A handle of the CUDA driver's library, which is never closed.
struct Library(*mut c_void);

// SAFETY: dlsym may be called with one handle from any thread, and the handle is never closed.
unsafe impl Send for Library {}
// SAFETY: dlsym may be called with one handle from several threads at once.
unsafe impl Sync for Library {}

fn library() -> Result<&'static Library, &'static str> {
    const RTLD_NOW: c_int = 2;
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    let opened = LIBRARY.get_or_init(|| {
        let mut first_reason = None;
        for place in PLACES {
            // SAFETY: the path ends in NUL, and the flags are valid.
            let handle = unsafe { dlopen(place.as_ptr(), RTLD_NOW) };
            if !handle.is_null() {
                return Ok(Library(handle));
            }
            // SAFETY: the function has no argument. It returns null, or a text that exists until this thread's next dl*
            // call.
            let reason = unsafe { dlerror() };
            if first_reason.is_none() && !reason.is_null() {
                // SAFETY: `reason` is not null, so dlerror returned a text that ends in NUL. The text is copied here.
                first_reason = Some(unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned());
            }
        }
        Err(first_reason.unwrap_or_else(|| "libcuda.so.1 cannot be opened".into()))
    });
    opened.as_ref().map_err(String::as_str)
}

/// Opens the library of the CUDA driver.
///
/// # Errors
/// The system's message if the library cannot be opened.
pub fn load() -> Result<(), &'static str> {
    library().map(|_| ())
}

/// The address of a driver function, looked up once and kept in `slot`.
pub(crate) fn resolve(slot: &AtomicPtr<c_void>, name: &CStr) -> Result<*mut c_void, Code> {
    let known = slot.load(Ordering::Acquire);
    if !known.is_null() {
        return Ok(known);
    }
    let library = library().map_err(|_| NOT_LOADED)?;
    // SAFETY: the library is open, and the name ends in NUL.
    let address = unsafe { dlsym(library.0, name.as_ptr()) };
    if address.is_null() {
        return Err(NO_SYMBOL);
    }
    slot.store(address, Ordering::Release);
    Ok(address)
}

static LAST_UNLISTED: AtomicU32 = AtomicU32::new(0);

/// The last return code of the CUDA driver that the crate `cust_raw` does not know, or 0 if there was none. The crate
/// `cust`, which calls the driver, received 999 (unknown error) in its place.
pub fn last_unlisted_error() -> u32 {
    LAST_UNLISTED.load(Ordering::Relaxed)
}

/// Replaces a return code of the driver that `cust_raw` does not know by 999. `cust` receives the code as a Rust enum,
/// and a value outside the enum would be undefined behaviour.
pub(crate) fn listed(code: Code) -> Code {
    match code {
        0..=8 | 34 | 100..=102 | 200..=202 | 205..=224 | 300..=304 | 400 | 401 | 500 | 600 => code,
        700..=705 | 708..=720 | 800..=809 | 900..=911 | 999 => code,
        _ => {
            LAST_UNLISTED.store(code, Ordering::Relaxed);
            UNKNOWN
        }
    }
}
