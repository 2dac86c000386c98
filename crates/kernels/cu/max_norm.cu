// The scale that makes the longest vector of a field as long as a step. A maximum does not depend on the order.
#include "reduce.cuh"
#include "volume.cuh"

extern "C" __global__ void max_norm(const float *READ field, Shape shape, double length, float *partial,
                                    unsigned int *counter, float *scale)
{
    const size_t count = voxels(shape), stride = plane(shape), step = (size_t)gridDim.x * blockDim.x;
    float squared = 0.f;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        const Vector u = load(field, stride, at);
        squared = fmaxf(squared, u.x * u.x + u.y * u.y + u.z * u.z);
    }
    squared = block_max(squared);
    if (threadIdx.x == 0) partial[blockIdx.x] = squared;
    if (!last_block(counter)) return;
    squared = 0.f;
    for (int block = threadIdx.x; block < gridDim.x; block += blockDim.x)
        squared = fmaxf(squared, __ldcg(partial + block));
    squared = block_max(squared);
    const float longest = sqrtf(squared);
    if (threadIdx.x == 0) *scale = longest > 0.f ? (float)(length / (double)longest) : 0.f;
}
