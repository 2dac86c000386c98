// Smoothing with kernels that reach 6 voxels (smooth.cuh). One reach a module: the driver compiles them side by side.
#include "smooth.cuh"

// The parameters are the same as in src/cuda/smooth.rs.
SMOOTH(6, 8, 2)
