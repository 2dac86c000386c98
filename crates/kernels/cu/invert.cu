// The inverse of a displacement field by fixed-point steps, each voxel on its own.
#include "inverse.cuh"

// Improves v(x), from `start`, until the residual u(x + v(x)) + v(x) is small. The border stays zero. `start` and `inverse`
// may be one field. Small blocks, because one goes only when its last voxel is done.
extern "C" __global__ void __launch_bounds__(128, 8)
    invert(const float *READ field, const float *start, float *inverse, int steps, Residuals limits,
           const __grid_constant__ Shape shape)
{
    const Voxel at = voxel();
    if (!within(at, shape)) return;
    const size_t here = offset(at, shape), stride = plane(shape);
    const Vector v = on_edge(at, shape) ? Vector{0.f, 0.f, 0.f}
                                        : improved(at, load(start, stride, here), field, steps, limits, shape);
    store(inverse, stride, here, v);
}
