// Combines the updates of several image channels: computes the magnitude of each update and their weighted sum.
#include "reduce.cuh"
#include "volume.cuh"

// Magnitude of a field: result[0] = √Σ‖u‖² over all voxels, added up in the order of the blocks.
extern "C" __global__ void magnitude(const float *READ field, Shape shape, double *partial, unsigned int *counter,
                                     double *result)
{
    const size_t count = voxels(shape), stride = plane(shape), step = (size_t)gridDim.x * blockDim.x;
    double squares = 0.0;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        const Vector u = load(field, stride, at);
        squares += (double)u.x * u.x + (double)u.y * u.y + (double)u.z * u.z;
    }
    squares = block_sum(squares);
    if (threadIdx.x == 0) partial[blockIdx.x] = squares;
    if (!last_block(counter)) return;
    squares = 0.0;
    for (int block = threadIdx.x; block < gridDim.x; block += blockDim.x) squares += __ldcg(partial + block);
    squares = block_sum(squares);
    if (threadIdx.x == 0) result[0] = sqrt(squares);
}

// Adds a scaled displacement field to another: field ← field + scale·other.
extern "C" __global__ void add_scaled(float *READ field, const float *READ other, float scale, Shape shape)
{
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, stride = plane(shape);
    if (at >= voxels(shape)) return;
    const Vector u = load(field, stride, at), v = load(other, stride, at);
    store(field, stride, at, {u.x + scale * v.x, u.y + scale * v.y, u.z + scale * v.z});
}
