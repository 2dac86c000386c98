// Sections 3.4 and 3.5 of Li 2015: the sums of the correlation ratio in shared memory, with a copy for each block or
// each warp, to which threads add by atomics. A copy holds three lists with one entry for each bin: Σw, Σw·y and Σw·y²,
// where y is the moving value and w its weight.
#include "pair.cuh"

extern __shared__ float shadow[];

__device__ __forceinline__ void clear(int count)
{
    for (int at = threadIdx.x; at < count; at += blockDim.x) shadow[at] = 0.f;
    __syncthreads();
}

// The algorithm shared_atomic of Li 2015: blocks add their sums Σw, Σw·y and Σw·y² to global memory by atomics.
extern "C" __global__ void cr_shared_atomic(const __grid_constant__ Pair pair, int bins, float *sums)
{
    clear(3 * bins);
    add_all(pair, bins, shadow);
    __syncthreads();
    for (int at = threadIdx.x; at < 3 * bins; at += blockDim.x)
        if (shadow[at] != 0.f) atomicAdd(sums + at, shadow[at]);
}

// The algorithm shared_merge of Li 2015: a block writes its sums as one row of a table; a later kernel adds the rows.
extern "C" __global__ void cr_shared_rows(const __grid_constant__ Pair pair, int bins, float *rows)
{
    clear(3 * bins);
    add_all(pair, bins, shadow);
    __syncthreads();
    for (int at = threadIdx.x; at < 3 * bins; at += blockDim.x) rows[(size_t)blockIdx.x * 3 * bins + at] = shadow[at];
}

// The algorithm shared_warp of Li 2015: each warp has a copy of the sums Σw, Σw·y and Σw·y². Each block adds the copies
// of its warps, and writes the result as one row of a table; a later kernel adds the rows.
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
