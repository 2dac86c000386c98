//! A launch that may begin early. The crate `cust_raw` does not know the driver's function.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::AtomicPtr;

use cust_raw::{CUfunction, CUstream};

use crate::library::{Code, listed, resolve};

/// The driver's structure CUlaunchConfig.
#[repr(C)]
struct Config {
    blocks: [c_uint; 3],
    threads: [c_uint; 3],
    shared: c_uint,
    stream: CUstream,
    attributes: *const Attribute,
    count: c_uint,
}

/// The driver's structure CUlaunchAttribute, whose value is a union of 64 bytes.
#[repr(C, align(8))]
struct Attribute {
    id: c_uint,
    padding: c_int,
    value: [c_int; 16],
}

/// The attribute CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.
const EARLY: Attribute = {
    let mut value = [0; 16];
    value[0] = 1;
    Attribute { id: 6, padding: 0, value }
};

/// Calls `cuLaunchKernelEx`. The kernel may begin before the kernel launched before it on the stream has ended, and must
/// wait for it by the instruction `griddepcontrol.wait` before it reads or writes memory. Returns the driver's code.
///
/// # Safety
/// `function` belongs to a loaded module and waits as described, and `stream` exists. `arguments` has the address of a
/// value for each parameter of the kernel.
pub unsafe fn launch_early(
    function: CUfunction,
    blocks: [u32; 3],
    threads: [u32; 3],
    shared: u32,
    stream: CUstream,
    arguments: &mut [*mut c_void],
) -> u32 {
    type Launch = unsafe extern "C" fn(*const Config, CUfunction, *mut *mut c_void, *mut *mut c_void) -> Code;
    static SLOT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let address = match resolve(&SLOT, c"cuLaunchKernelEx") {
        Ok(address) => address,
        Err(code) => return code,
    };
    // SAFETY: the address is that of cuLaunchKernelEx, which has this signature.
    let launch: Launch = unsafe { std::mem::transmute(address) };
    let config = Config { blocks, threads, shared, stream, attributes: &EARLY, count: 1 };
    // SAFETY: `config` and its attribute live until the driver returns, which copies them. The caller promises the rest.
    listed(unsafe { launch(&config, function, arguments.as_mut_ptr(), std::ptr::null_mut()) })
}
