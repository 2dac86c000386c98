// The inverse of a displacement field, computed for each voxel on its own by the iteration of inverse.cuh.
#include "inverse.cuh"

// Improves v(x) until the residual u(x + v(x)) + v(x) is small. At border voxels v is zero. The thread blocks are
// small, because a block occupies its registers until its slowest voxel is done.
extern "C" __global__ void __launch_bounds__(128, 8)
    invert(const Sides<const float *> fields, const Sides<float *> inverses, int sides, int steps, Residuals limits,
           const __grid_constant__ Shape shape)
{
    const int side = side_of_block(sides);
    const Voxel at = voxel(z_block(side));
    if (!within(at, shape)) return;
    const float *READ field = fields.of(side);
    float *inverse = inverses.of(side);
    const size_t here = offset(at, shape), stride = plane(shape);
    const Vector v = on_edge(at, shape) ? Vector{0.f, 0.f, 0.f}
                                        : improved(at, load(inverse, stride, here), field, steps, limits, shape);
    store(inverse, stride, here, v);
}
