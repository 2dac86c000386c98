//! Stand-in for `find_cuda_helper` 0.2, the only thing the build scripts of `cust` and `cust_raw` call.
//!
//! The original looks for a CUDA toolkit, panics without one and links `libcuda`. Here nothing is looked for and
//! nothing is linked: `antsreg-cuda-driver` defines the driver's functions and opens the library at run time.

/// Does nothing.
pub fn include_cuda() {}
