// Between the three values of a voxel side by side (the host's order) and three planes (the device's).
#include "volume.cuh"

extern "C" __global__ void split_vectors(const float *READ vectors, float *field, Shape shape)
{
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= voxels(shape)) return;
    store(field, plane(shape), at, {vectors[3 * at], vectors[3 * at + 1], vectors[3 * at + 2]});
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

// The same, each vector multiplied by the matrix of these rows, in the order of sums that the host has.
extern "C" __global__ void join_turned(const float *READ field, Vector x, Vector y, Vector z, float *vectors, Shape shape)
{
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= voxels(shape)) return;
    const Vector v = load(field, plane(shape), at);
    vectors[3 * at] = x.x * v.x + x.y * v.y + x.z * v.z;
    vectors[3 * at + 1] = y.x * v.x + y.y * v.y + y.z * v.z;
    vectors[3 * at + 2] = z.x * v.x + z.y * v.y + z.z * v.z;
}
