// Scores of displacement fields: statistics of their Jacobian determinants, and of the inverse consistency of two
// fields. No volume is written: each thread processes a column of voxels, and thread blocks add up the statistics of
// their threads.
#include "corners.cuh"
#include "jacobian.cuh"
#include "reduce.cuh"
#include "walk.cuh"

// Statistics of a quantity that has one number for each voxel.
struct Statistics {
    double sum;
    float low, high;
    unsigned int counted, not_positive;
    // For Jacobian determinants: of the smallest determinant at the trilinear cells' corners that meet at a voxel, the
    // minimum over all voxels, and the number of voxels where it is not positive.
    float corner_low;
    unsigned int corner_not_positive;

    __device__ __forceinline__ void add_corner(float smallest)
    {
        corner_low = fminf(corner_low, smallest);
        corner_not_positive += smallest > 0.f ? 0 : 1;
    }

    __device__ __forceinline__ void add(float value)
    {
        sum += (double)value;
        // The minimum and the maximum over voxels ignore NaN. The number of values that are not positive includes NaN.
        low = fminf(low, value);
        high = fmaxf(high, value);
        ++counted;
        not_positive += value > 0.f ? 0 : 1;
    }

    __device__ __forceinline__ void add(const Statistics &other)
    {
        sum += other.sum;
        low = fminf(low, other.low);
        high = fmaxf(high, other.high);
        counted += other.counted;
        not_positive += other.not_positive;
        corner_low = fminf(corner_low, other.corner_low);
        corner_not_positive += other.corner_not_positive;
    }

    __device__ __forceinline__ Statistics of_lane(int distance) const
    {
        const unsigned int all = 0xffffffffu;
        return {__shfl_xor_sync(all, sum, distance), __shfl_xor_sync(all, low, distance),
                __shfl_xor_sync(all, high, distance), __shfl_xor_sync(all, counted, distance),
                __shfl_xor_sync(all, not_positive, distance), __shfl_xor_sync(all, corner_low, distance),
                __shfl_xor_sync(all, corner_not_positive, distance)};
    }
};

__device__ __forceinline__ Statistics nothing()
{
    const float infinity = __int_as_float(0x7f800000);
    return {0.0, infinity, -infinity, 0u, 0u, infinity, 0u};
}

__device__ __forceinline__ Statistics of_warp(Statistics own)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance >>= 1) own.add(own.of_lane(distance));
    return own;
}

// Reads the statistics of another thread block from memory, past the first-level cache, which may have old values.
__device__ __forceinline__ Statistics fresh(const Statistics *part)
{
    return {__ldcg(&part->sum), __ldcg(&part->low), __ldcg(&part->high), __ldcg(&part->counted),
            __ldcg(&part->not_positive), __ldcg(&part->corner_low), __ldcg(&part->corner_not_positive)};
}

// Combines the statistics of all threads: first within each block, then over the blocks in a fixed order. All threads
// must call this function.
__device__ __noinline__ void finish(Statistics own, Statistics *parts, unsigned int *counter, double *result)
{
    own = of_block(own, of_warp, nothing());
    const int thread = thread_index(), blocks = gridDim.x * gridDim.y * gridDim.z;
    if (thread == 0) parts[block_index()] = own;
    if (!last_block(counter)) return;
    own = nothing();
    for (int at = thread; at < blocks; at += blockDim.x * blockDim.y * blockDim.z) own.add(fresh(parts + at));
    own = of_block(own, of_warp, nothing());
    if (thread > 0) return;
    result[0] = own.sum;
    result[1] = (double)own.low;
    result[2] = (double)own.high;
    result[3] = (double)own.counted;
    result[4] = (double)own.not_positive;
    result[5] = (double)own.corner_low;
    result[6] = (double)own.corner_not_positive;
}

// Statistics of the Jacobian determinants det(I + ∂u/∂x), and of the smallest determinant at the cell corners of each
// voxel.
extern "C" __global__ void __launch_bounds__(256, 4)
    jacobian_summary(const float *READ field, const float *READ mask, const __grid_constant__ Shape shape, int slices,
                     Statistics *parts, unsigned int *counter, double *result)
{
    const Column at = column(voxel(), shape, slices);
    Statistics own = nothing();
#pragma unroll 1
    for (int z = at.z0; z < at.z1; ++z) {
        const Voxel v = {at.x, at.y, z};
        if (!counts(mask, offset(v, shape))) continue;
        own.add(determinant(field, v, shape));
        own.add_corner(Edges::at(field, v, shape).smallest());
    }
    finish(own, parts, counter, result);
}

// Statistics of the inverse consistency ‖u(x) + v(x + u(x))‖ in voxels; u is `first` and v is `then`.
extern "C" __global__ void __launch_bounds__(256, 4)
    inverse_consistency(const float *READ first, const float *READ then, const float *READ mask,
                        const __grid_constant__ Shape shape, int slices, Statistics *parts, unsigned int *counter, double *result)
{
    const Column at = column(voxel(), shape, slices);
    const size_t stride = plane(shape);
    Statistics own = nothing();
    Walk<3> walk;
#pragma unroll 1
    for (int z = at.z0; z < at.z1; ++z) {
        const Voxel v = {at.x, at.y, z};
        const size_t here = offset(v, shape);
        if (!counts(mask, here)) continue;
        const Vector u = load(first, stride, here);
        const Cell cell(moved(v, u), shape);
        walk.to(cell, then, stride);
        own.add(sqrtf(squared({u.x + walk.read(0, cell), u.y + walk.read(1, cell), u.z + walk.read(2, cell)})));
    }
    finish(own, parts, counter, result);
}
