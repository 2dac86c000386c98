// The inverse of a displacement field by fixed-point steps, each voxel on its own.
#include "inverse.cuh"

// Improves v(x) until the residual u(x + v(x)) + v(x) is small. The border stays zero. Small blocks, because one goes only
// when its last voxel is done.
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
