// Smoothing with kernels that reach 3 voxels (smooth.cuh). One reach a module: the driver compiles them side by side.
#include "smooth.cuh"

// The parameters are the same as in src/cuda/smooth.rs.
SMOOTH(3, 10, 2)
