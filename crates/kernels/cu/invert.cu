// The inverse of a displacement field by fixed-point steps, each voxel on its own; and how good it is.
#include "inverse.cuh"
#include "reduce.cuh"

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

// result[0] = Σ‖u(x+v(x)) + v(x)‖, result[1] = its maximum.
extern "C" __global__ void SCATTERED inversion_error(const float *READ field, const float *READ inverse, Shape shape,
                                           double2 *partial, unsigned int *counter, double *result)
{
    const Voxel at = voxel();
    float length = 0.f;
    if (within(at, shape)) {
        const Vector v = load(inverse, plane(shape), offset(at, shape));
        const Vector u = sample(field, shape, {(float)at.x + v.x, (float)at.y + v.y, (float)at.z + v.z});
        length = sqrtf(squared(residual(u, v)));
    }
    double sum = block_sum((double)length);
    float longest = block_max(length);
    const int blocks = gridDim.x * gridDim.y * gridDim.z, thread = thread_index();
    if (thread == 0) partial[block_index()] = {sum, (double)longest};
    if (!last_block(counter)) return;
    sum = 0.0;
    longest = 0.f;
    for (int block = thread; block < blocks; block += blockDim.x * blockDim.y * blockDim.z) {
        const double2 part = __ldcg(partial + block);
        sum += part.x;
        longest = fmaxf(longest, (float)part.y);
    }
    sum = block_sum(sum);
    longest = block_max(longest);
    if (thread == 0) {
        result[0] = sum;
        result[1] = (double)longest;
    }
}
