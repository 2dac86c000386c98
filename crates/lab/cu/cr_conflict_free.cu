// Correlation ratio after section 3.6 and Listing 3 of Li 2015. Fixed voxels are sorted by intensity, and the sorted
// list is cut into segments; all voxels of a segment are in one bin. Each thread block adds up one segment, and each of
// its threads keeps its sums in registers.
#include "pair.cuh"

extern "C" __global__ void cr_conflict_free(const __grid_constant__ Pair pair, int bins,
                                            const unsigned int *READ block_start, const unsigned int *READ sorted,
                                            const unsigned int *READ block_bin, float *sums)
{
    extern __shared__ float parts[];
    float *count = parts, *first = parts + blockDim.x, *second = parts + 2 * blockDim.x;
    const unsigned int end = block_start[blockIdx.x + 1];
    float n = 0.f, s = 0.f, ss = 0.f;
    for (unsigned int at = block_start[blockIdx.x] + threadIdx.x; at < end; at += blockDim.x) {
        const Sample moving = sample(pair, sorted[at]);
        if (!(moving.weight > 0.f)) continue;
        n += moving.weight;
        s += moving.weight * moving.value;
        ss += moving.weight * moving.value * moving.value;
    }
    count[threadIdx.x] = n;
    first[threadIdx.x] = s;
    second[threadIdx.x] = ss;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) {
            count[threadIdx.x] += count[threadIdx.x + half];
            first[threadIdx.x] += first[threadIdx.x + half];
            second[threadIdx.x] += second[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        const unsigned int bin = block_bin[blockIdx.x];
        atomicAdd(sums + bin, count[0]);
        atomicAdd(sums + bins + bin, first[0]);
        atomicAdd(sums + 2 * bins + bin, second[0]);
    }
}
