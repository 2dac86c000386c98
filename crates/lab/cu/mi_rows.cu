// Joint histogram of fixed voxels that are sorted by bin. Each thread block processes a segment of the sorted list,
// whose voxels all have the same fixed bin. So the block needs only one row of the histogram, and each of its warps has
// its own copy of that row.
#include "pair.cuh"

extern "C" __global__ void mi_rows(const __grid_constant__ Pair pair, const unsigned int *READ block_start,
                                   const unsigned int *READ sorted, const unsigned int *READ block_bin,
                                   unsigned int *joint)
{
    extern __shared__ unsigned int row[];
    const int warps = blockDim.x / 32, bins = pair.bins;
    for (int at = threadIdx.x; at < bins * warps; at += blockDim.x) row[at] = 0;
    __syncthreads();
    unsigned int *own = row + threadIdx.x / 32 * bins;
    const unsigned int end = block_start[blockIdx.x + 1];
    for (unsigned int at = block_start[blockIdx.x] + threadIdx.x; at < end; at += blockDim.x) {
        const Sample moving = sample(pair, sorted[at]);
        if (moving.weight > 0.f) atomicAdd(own + bin_of(pair, moving.value), 1u);
    }
    __syncthreads();
    unsigned int *to = joint + block_bin[blockIdx.x] * bins;
    for (int at = threadIdx.x; at < bins; at += blockDim.x) {
        unsigned int sum = 0;
        for (int warp = 0; warp < warps; ++warp) sum += row[warp * bins + at];
        if (sum) atomicAdd(to + at, sum);
    }
}
