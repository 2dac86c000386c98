// Joint histograms for a device with much shared memory. Every thread block has a whole histogram there, with 32-bit
// counters or with two 16-bit counters in a word, and processes voxels in the order of the volume. With 16-bit counters
// a block processes fewer than 2¹⁶ voxels, so that no counter overflows. The bin that was fullest in an earlier
// histogram is counted in registers.
#include "reduce.cuh"
#include "slab.cuh"

// Counts the voxels of the slabs (parts of slices, SLAB slices deep) of this block, with counters of 16 or 32 bits.
// This block counts the `rows` fixed bins from blockIdx.y · rows on.
template <int SOURCE, int BITS>
__device__ __forceinline__ void count_slabs(const Pair &pair, int rows, int hot, unsigned int *joint)
{
    extern __shared__ unsigned int counters[];
    const int first_row = blockIdx.y * rows, first = first_row * pair.bins;
    const int own = min(rows, pair.bins - first_row) * pair.bins;
    const int words = BITS == 16 ? (own + 1) / 2 : own;
    for (int word = threadIdx.x; word < words; word += blockDim.x) counters[word] = 0;
    __syncthreads();
    unsigned int in_hot = 0;
    const unsigned int slabs = slab_count(pair);
    for (unsigned int slab = blockIdx.x; slab < slabs; slab += gridDim.x)
        over_slab<SOURCE>(pair, slab, [&](int fixed, float value, float) {
            const int bin = fixed * pair.bins + bin_of(pair, value) - first;
            if (bin == hot - first) {
                ++in_hot;
            } else if (BITS == 32) {
                if ((unsigned int)bin < (unsigned int)own) atomicAdd(counters + bin, 1u);
            } else {
                if ((unsigned int)bin < (unsigned int)own) atomicAdd(counters + bin / 2, bin % 2 ? 1u << 16 : 1u);
            }
        });
    in_hot = warp_sum(in_hot);
    // If the joint histogram does not fit into shared memory, its rows are divided into parts (blockIdx.y), and the
    // blocks of each part process the whole volume. The bin that was fullest in an earlier histogram is counted in
    // registers; only the blocks of the first part add this count, so that it is added once.
    if (threadIdx.x % 32 == 0 && in_hot && blockIdx.y == 0) atomicAdd(joint + hot, in_hot);
    __syncthreads();
    for (int word = threadIdx.x; word < words; word += blockDim.x) {
        const unsigned int count = counters[word];
        if (!count) continue;
        if (BITS == 32) {
            atomicAdd(joint + first + word, count);
        } else {
            if (count & 0xffff) atomicAdd(joint + first + 2 * word, count & 0xffff);
            if (count >> 16) atomicAdd(joint + first + 2 * word + 1, count >> 16);
        }
    }
}

#define SLABS(name, source, bits)                                                                                      \
    extern "C" __global__ void __launch_bounds__(1024)                                                                 \
        name(const __grid_constant__ Pair pair, int rows, int hot, unsigned int *joint)                                \
    {                                                                                                                  \
        count_slabs<source, bits>(pair, rows, hot, joint);                                                             \
    }

SLABS(mi_slabs_16_given, GIVEN, 16)
SLABS(mi_slabs_16_exact, EXACT, 16)
SLABS(mi_slabs_16_filtered, FILTERED, 16)
SLABS(mi_slabs_32_given, GIVEN, 32)
SLABS(mi_slabs_32_exact, EXACT, 32)
SLABS(mi_slabs_32_filtered, FILTERED, 32)
