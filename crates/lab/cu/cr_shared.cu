// Li 2015, 3.4 and 3.5: the correlation ratio's sums in shared memory, a copy a block or a warp, added by atomics.
// Sums lie as Σw, Σw·y, Σw·y², each over the bins.
#include "pair.cuh"

extern __shared__ float shadow[];

__device__ __forceinline__ void clear(int count)
{
    for (int at = threadIdx.x; at < count; at += blockDim.x) shadow[at] = 0.f;
    __syncthreads();
}

// shared_atomic: blocks add to global memory.
extern "C" __global__ void cr_shared_atomic(const __grid_constant__ Pair pair, int bins, float *sums)
{
    clear(3 * bins);
    add_all(pair, bins, shadow);
    __syncthreads();
    for (int at = threadIdx.x; at < 3 * bins; at += blockDim.x)
        if (shadow[at] != 0.f) atomicAdd(sums + at, shadow[at]);
}

// shared_merge: a row for each block, merged afterwards.
extern "C" __global__ void cr_shared_rows(const __grid_constant__ Pair pair, int bins, float *rows)
{
    clear(3 * bins);
    add_all(pair, bins, shadow);
    __syncthreads();
    for (int at = threadIdx.x; at < 3 * bins; at += blockDim.x) rows[(size_t)blockIdx.x * 3 * bins + at] = shadow[at];
}

// shared_warp: a copy for each warp, merged within the block, then a row for each block.
extern "C" __global__ void cr_warp_rows(const __grid_constant__ Pair pair, int bins, float *rows)
{
    const int warps = blockDim.x / 32;
    clear(3 * bins * warps);
    add_all(pair, bins, shadow + threadIdx.x / 32 * 3 * bins);
    __syncthreads();
    for (int at = threadIdx.x; at < 3 * bins; at += blockDim.x) {
        float sum = 0.f;
        for (int warp = 0; warp < warps; ++warp) sum += shadow[warp * 3 * bins + at];
        rows[(size_t)blockIdx.x * 3 * bins + at] = sum;
    }
}
