// Converts displacement fields between two layouts in memory: on the host the three components of a voxel are adjacent,
// and on the device each component is a plane of its own.
#include "volume.cuh"

extern "C" __global__ void split_vectors(const float *READ vectors, float *field, Shape shape)
{
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= voxels(shape)) return;
    store(field, plane(shape), at, {vectors[3 * at], vectors[3 * at + 1], vectors[3 * at + 2]});
}

// Kernels with the suffix `_turned` also multiply each displacement by a 3×3 matrix; its rows are x, y and z.
extern "C" __global__ void split_turned(const float *READ vectors, Vector x, Vector y, Vector z, float *field, Shape shape)
{
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= voxels(shape)) return;
    const Vector v = {vectors[3 * at], vectors[3 * at + 1], vectors[3 * at + 2]};
    store(field, plane(shape), at, times(x, y, z, v));
}

extern "C" __global__ void join_vectors(const float *READ field, float *vectors, Shape shape)
{
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= voxels(shape)) return;
    const Vector v = load(field, plane(shape), at);
    vectors[3 * at] = v.x;
    vectors[3 * at + 1] = v.y;
    vectors[3 * at + 2] = v.z;
}

// Rounds to the nearest multiple of `step`, a power of two. The value stays as it is if `step` is zero or if it is at
// least 2^22 steps. The arithmetic is that of rounding.rs.
__device__ float rounded(float value, float step)
{
    const float shift = 1.5f * 8388608.f * step;
    return fabsf(value) < 4194304.f * step ? value + shift - shift : value;
}

__device__ Vector rounded(Vector v, float step)
{
    return {rounded(v.x, step), rounded(v.y, step), rounded(v.z, step)};
}

extern "C" __global__ void join_turned(const float *READ field, Vector x, Vector y, Vector z, float step, float *vectors,
                                       Shape shape)
{
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= voxels(shape)) return;
    const Vector v = rounded(times(x, y, z, load(field, plane(shape), at)), step);
    vectors[3 * at] = v.x;
    vectors[3 * at + 1] = v.y;
    vectors[3 * at + 2] = v.z;
}

// Writes the first `count` components of the vectors as planes without padding. The vectors are multiplied by a 3×3
// matrix and rounded to multiples of `step`, then their components are multiplied by the factors in `signs`.
extern "C" __global__ void turned_planes(const float *READ field, Vector x, Vector y, Vector z, float step, Vector signs,
                                         int count, float *planes, Shape shape)
{
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, stride = voxels(shape);
    if (at >= stride) return;
    const Vector v = rounded(times(x, y, z, load(field, plane(shape), at)), step);
    planes[at] = signs.x * v.x;
    if (count > 1) planes[stride + at] = signs.y * v.y;
    if (count > 2) planes[2 * stride + at] = signs.z * v.z;
}

// Multiplies vectors by one 3×3 matrix, rounds them to multiples of `step`, and multiplies them by another matrix.
extern "C" __global__ void round_vectors(const float *READ field, Vector x, Vector y, Vector z, Vector back_x, Vector back_y,
                                         Vector back_z, float step, float *out, Shape shape)
{
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= voxels(shape)) return;
    const Vector v = rounded(times(x, y, z, load(field, plane(shape), at)), step);
    store(out, plane(shape), at, times(back_x, back_y, back_z, v));
}
