// Computes Pearson's correlation of two images with the same grid.
#include "reduce.cuh"
#include "volume.cuh"

// Sums for Pearson's correlation of two images: over the pairs (a, b) of values that the images have at the same voxel.
struct Sums {
    double a, b, aa, bb, ab;
    unsigned int counted;
};

// Adds the sums of all threads of a block; the first thread receives the result.
__device__ __noinline__ Sums block_sums(Sums own)
{
    return {block_sum(own.a), block_sum(own.b), block_sum(own.aa), block_sum(own.bb), block_sum(own.ab),
            block_sum(own.counted)};
}

// result = Σa, Σb, Σa², Σb², Σab for the values a and b of two images at a voxel, and the number of voxels, over the
// mask. Each thread block writes its sums, and the last block adds them in a fixed order.
extern "C" __global__ void __launch_bounds__(256)
    correlation(const float *READ first, const float *READ second, const float *READ mask, Shape shape, Sums *parts,
                unsigned int *counter, double *result)
{
    const size_t count = voxels(shape), step = (size_t)gridDim.x * blockDim.x;
    Sums own = {0.0, 0.0, 0.0, 0.0, 0.0, 0u};
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        if (!counts(mask, at)) continue;
        const double a = (double)first[at], b = (double)second[at];
        own.a += a;
        own.b += b;
        own.aa += a * a;
        own.bb += b * b;
        own.ab += a * b;
        ++own.counted;
    }
    own = block_sums(own);
    if (threadIdx.x == 0) parts[blockIdx.x] = own;
    if (!last_block(counter)) return;
    own = {0.0, 0.0, 0.0, 0.0, 0.0, 0u};
    for (int block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
        const Sums *part = parts + block;
        own.a += __ldcg(&part->a);
        own.b += __ldcg(&part->b);
        own.aa += __ldcg(&part->aa);
        own.bb += __ldcg(&part->bb);
        own.ab += __ldcg(&part->ab);
        own.counted += __ldcg(&part->counted);
    }
    own = block_sums(own);
    if (threadIdx.x > 0) return;
    result[0] = own.a;
    result[1] = own.b;
    result[2] = own.aa;
    result[3] = own.bb;
    result[4] = own.ab;
    result[5] = (double)own.counted;
}
