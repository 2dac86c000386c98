// Computes for each field the factor that gives its longest vector a given length. A maximum does not depend on the
// order in which values are compared.
#include "reduce.cuh"
#include "volume.cuh"

// The thread blocks with blockIdx.z = n process field number n.
extern "C" __global__ void max_norm(const Sides<const float *> fields, Shape shape, double length, float *partial,
                                    unsigned int *counter, float *scales)
{
    // Each thread loads four voxels at once. Each component of a field is stored separately, and zeros follow its last
    // voxel.
    const float4 *field = (const float4 *)fields.of(blockIdx.z);
    const size_t stride = plane(shape) / 4, step = (size_t)gridDim.x * blockDim.x;
    float squared = 0.f;
    auto take = [&](float x, float y, float z) { squared = fmaxf(squared, x * x + y * y + z * z); };
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < stride; at += step) {
        const float4 x = __ldg(field + at), y = __ldg(field + stride + at), z = __ldg(field + 2 * stride + at);
        take(x.x, y.x, z.x);
        take(x.y, y.y, z.y);
        take(x.z, y.z, z.z);
        take(x.w, y.w, z.w);
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
