// Joint histogram by method 2 of Shams 2010, 4.1.2: each thread has a histogram in global memory. Shared memory holds
// the lowest bits of each thread's counters. When the bits of a counter are full, its count goes to global memory.
#include "pair.cuh"

// Counts all voxels in a joint histogram. A counter has BITS bits in shared memory (0: none there). Each thread of the
// launch has a histogram of bins² counters in `shadows`, from thread · bins² on; `bins` is the number of bins of each
// image. At the end, the counts in shared memory are added to `joint`.
template <unsigned int BITS>
__device__ __forceinline__ void count_all(const Pair &pair, unsigned int *shadows, unsigned int *joint)
{
    extern __shared__ unsigned int packed[];
    const unsigned int all = (unsigned int)(pair.bins * pair.bins), count = voxel_count(pair), step = threads_of_grid();
    const unsigned int per_word = BITS ? 32 / (BITS ? BITS : 1) : 1, full = (1u << BITS) - 1u;
    const unsigned int words = (all + per_word - 1) / per_word;
    unsigned int *own = shadows + (size_t)thread_of_grid() * all;
    if (BITS)
        for (unsigned int word = 0; word < words; ++word) packed[word * blockDim.x + threadIdx.x] = 0;
    for (unsigned int voxel = thread_of_grid(); voxel < count; voxel += step) {
        const int bin = joint_bin(pair, voxel);
        if (bin < 0) continue;
        if (!BITS) {
            ++own[bin];
            continue;
        }
        unsigned int *word = packed + bin / per_word * blockDim.x + threadIdx.x;
        const unsigned int shift = bin % per_word * BITS, old = *word;
        if ((old >> shift & full) == full) {
            *word = old & ~(full << shift);
            own[bin] += full + 1;
        } else {
            *word = old + (1u << shift);
        }
    }
    if (!BITS) return;
    __syncthreads();
    for (unsigned int bin = threadIdx.x; bin < all; bin += blockDim.x) {
        unsigned int sum = 0;
        for (unsigned int thread = 0; thread < blockDim.x; ++thread)
            sum += packed[bin / per_word * blockDim.x + thread] >> bin % per_word * BITS & full;
        if (sum) atomicAdd(joint + bin, sum);
    }
}

#define THREAD_SHADOWS(bits)                                                                                           \
    extern "C" __global__ void mi_thread_shadows_##bits(const __grid_constant__ Pair pair, unsigned int *shadows,      \
                                                        unsigned int *joint)                                           \
    {                                                                                                                  \
        count_all<bits>(pair, shadows, joint);                                                                         \
    }

THREAD_SHADOWS(0)
THREAD_SHADOWS(1)
THREAD_SHADOWS(2)
THREAD_SHADOWS(4)
THREAD_SHADOWS(8)
