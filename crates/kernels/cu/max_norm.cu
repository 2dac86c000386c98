// The scales that make the longest vectors of fields as long as a step. A maximum does not depend on the order.
#include "reduce.cuh"
#include "volume.cuh"

// blockIdx.z is the side.
extern "C" __global__ void max_norm(const Sides<const float *> fields, Shape shape, double length, float *partial,
                                    unsigned int *counter, float *scales)
{
    const float *READ field = fields.of(blockIdx.z);
    const size_t count = voxels(shape), stride = plane(shape), step = (size_t)gridDim.x * blockDim.x;
    float squared = 0.f;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        const Vector u = load(field, stride, at);
        squared = fmaxf(squared, u.x * u.x + u.y * u.y + u.z * u.z);
    }
    squared = block_max(squared);
    if (threadIdx.x == 0) partial[block_index()] = squared;
    if (!last_block(counter)) return;
    for (int side = 0; side < gridDim.z; ++side) {
        squared = 0.f;
        for (int block = threadIdx.x; block < gridDim.x; block += blockDim.x)
            squared = fmaxf(squared, __ldcg(partial + side * gridDim.x + block));
        squared = block_max(squared);
        const float longest = sqrtf(squared);
        if (threadIdx.x == 0) scales[side] = longest > 0.f ? (float)(length / (double)longest) : 0.f;
    }
}
