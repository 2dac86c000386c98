// Joint histograms for a device with much shared memory: every block has a whole one there, of 32-bit or of two 16-bit
// counters a word, and takes voxels in the volume's own order. A block of 16-bit counters takes fewer than 2¹⁶ voxels, so
// that none overflows. The bin that held most in an earlier histogram is counted in registers.
#include "reduce.cuh"
#include "slab.cuh"

// BITS 16 or 32 a counter; `rows` fixed bins from blockIdx.y · rows are this block's.
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
    // Every part of the histogram goes through the whole volume; one of them says how full the fullest bin is.
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
