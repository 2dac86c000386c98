// Gaussian smoothing with kernels of radius 5 voxels (smooth.cuh). Each radius is a module of its own, so that the
// driver can compile them at the same time.
#include "smooth.cuh"

// This kernel: radius of the Gaussian in voxels, rows of a tile (part of a slice), and smallest number of thread blocks
// that a multiprocessor must hold. src/cuda/intensity/smooth.rs has the same radius and number of rows.
SMOOTH(5, 10, 2)
