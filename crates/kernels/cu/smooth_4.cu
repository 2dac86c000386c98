// Gaussian smoothing with kernels of radius 4 voxels (smooth.cuh). Each radius is a module of its own, so that the
// driver can compile them at the same time.
#include "smooth.cuh"

// Radius, rows of a tile, and smallest number of blocks of a multiprocessor; src/cuda/smooth.rs has the same numbers.
SMOOTH(4, 10, 2)
