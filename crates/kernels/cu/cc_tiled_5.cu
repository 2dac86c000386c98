// Windowed cross-correlation of radius 5 (cc_tiled.cuh). One radius a module: only those used are loaded.
#include "cc_tiled.cuh"

CC_KERNELS(5)
