// Between the three values of a voxel side by side (the host's order) and three planes (the device's).
#include "volume.cuh"

extern "C" __global__ void split_vectors(const float *READ vectors, float *field, Shape shape)
{
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= voxels(shape)) return;
    store(field, plane(shape), at, {vectors[3 * at], vectors[3 * at + 1], vectors[3 * at + 2]});
}

// `_turned`: each vector multiplied by a matrix.
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

extern "C" __global__ void join_turned(const float *READ field, Vector x, Vector y, Vector z, float *vectors, Shape shape)
{
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= voxels(shape)) return;
    const Vector v = times(x, y, z, load(field, plane(shape), at));
    vectors[3 * at] = v.x;
    vectors[3 * at + 1] = v.y;
    vectors[3 * at + 2] = v.z;
}
