// Windowed cross-correlation of radius 1 (cc_tiled.cuh). Each radius is a module of its own, so that only the radii in
// use are loaded.
#include "cc_tiled.cuh"

CC_KERNELS(1)
