// Joint histogram with adaptive bin sizes (Brosch 2009, Algorithm 1). In shared memory a bin has no counter, or 1, 2, …
// 32 counters of one byte, by its count in an earlier histogram. A counter that is full is added to global memory.
//
// The paper marks each write with the thread's number to detect conflicts. Here compare-and-swap is used instead: it
// retries in the same way, and needs no bits for marks.
#include "pair.cuh"

// Number of counters that a bin has in shared memory, computed from the bin's entry in `table`. The upper 8 bits of the
// entry are the bin's level; the lower bits are the offset of its first counter, in bytes. A bin of level 0 has no
// counter, and a bin of level l has 2^(l−1) counters.
__device__ __forceinline__ unsigned int counters(unsigned int entry)
{
    return 1u << (entry >> 24) >> 1;
}

extern "C" __global__ void mi_adaptive(const __grid_constant__ Pair pair, const unsigned int *READ table,
                                       unsigned int words, unsigned int *joint)
{
    extern __shared__ unsigned int cache[];
    const unsigned int count = voxel_count(pair), step = threads_of_grid(), full = 0xff;
    for (unsigned int word = threadIdx.x; word < words; word += blockDim.x) cache[word] = 0;
    __syncthreads();
    for (unsigned int voxel = thread_of_grid(); voxel < count; voxel += step) {
        const int bin = joint_bin(pair, voxel);
        if (bin < 0) continue;
        const unsigned int entry = table[bin];
        if (entry >> 24 == 0) {
            atomicAdd(joint + bin, 1u);
            continue;
        }
        const unsigned int byte = (entry & 0xffffff) + (threadIdx.x & (counters(entry) - 1));
        unsigned int *word = cache + byte / 4, seen = *(volatile unsigned int *)word;
        const unsigned int shift = byte % 4 * 8;
        for (;;) {
            const bool overflow = (seen >> shift & full) == full;
            const unsigned int next = overflow ? seen & ~(full << shift) : seen + (1u << shift);
            const unsigned int before = atomicCAS(word, seen, next);
            if (before == seen) {
                if (overflow) atomicAdd(joint + bin, full + 1);
                break;
            }
            seen = before;
        }
    }
    __syncthreads();
    const unsigned int all = (unsigned int)(pair.bins * pair.bins);
    for (unsigned int bin = threadIdx.x; bin < all; bin += blockDim.x) {
        const unsigned int entry = table[bin], byte = entry & 0xffffff;
        if (entry >> 24 == 0) continue;
        unsigned int sum = 0;
        for (unsigned int at = byte; at < byte + counters(entry); ++at) sum += cache[at / 4] >> at % 4 * 8 & full;
        if (sum) atomicAdd(joint + bin, sum);
    }
}
