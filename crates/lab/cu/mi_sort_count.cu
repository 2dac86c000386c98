// Joint histogram by "sort and count" (Shams 2010, 3.2 to 3.8). A thread block processes the voxels in chunks. A chunk
// has two elements for each thread of the block; an element is a bin with a count. The chunk is sorted by a bitonic
// network, in which two elements with the same bin are merged: one of them takes over the other's count. At the end
// every bin of a chunk has one counter, and the block adds these counters to its own histogram without conflicts.
#include "pair.cuh"

// Layout of an element, which is a bin with its count: the bin is in the lower 20 bits and the count above. So there
// are at most 1024² bins, and counts up to 2048 fit.
#define BIN_BITS 20
#define BIN ((1u << BIN_BITS) - 1u)

__device__ __forceinline__ void bitonic_sort_and_count(unsigned int *elements)
{
    const unsigned int thread = threadIdx.x, count = 2 * blockDim.x;
    unsigned int log_length = 1;
    for (unsigned int length = 2; length <= count; length <<= 1, ++log_length) {
        const bool ascending = (thread >> (log_length - 1) & 1) == 0;
        unsigned int log_offset = log_length - 1;
        for (unsigned int offset = length >> 1; offset > 0; offset >>= 1, --log_offset) {
            __syncthreads();
            const unsigned int low = (thread >> log_offset << (log_offset + 1)) + (thread & (offset - 1));
            const unsigned int high = low + offset, a = elements[low], b = elements[high];
            if ((a & BIN) == (b & BIN)) {
                // As in Shams 2010, of two elements (a bin and its count) with the same bin, the later one in the
                // current sorting direction takes over the count of the other.
                const unsigned int sum = (a & ~BIN) + b;
                elements[low] = ascending ? a & BIN : sum;
                elements[high] = ascending ? sum : a & BIN;
            } else if (((a & BIN) > (b & BIN)) == ascending) {
                elements[low] = b;
                elements[high] = a;
            }
        }
    }
    __syncthreads();
}

// Computes a joint histogram of bins² counters for each thread block; `bins` is the number of bins of each image. The
// counters of a block are the elements of `partial` from block · bins² on. They must be zero before.
extern "C" __global__ void mi_sort_count(const __grid_constant__ Pair pair, unsigned int *partial)
{
    extern __shared__ unsigned int elements[];
    const unsigned int count = voxel_count(pair), chunk = 2 * blockDim.x;
    unsigned int *own = partial + (size_t)blockIdx.x * pair.bins * pair.bins;
    for (unsigned int start = blockIdx.x * chunk; start < count; start += gridDim.x * chunk) {
        for (unsigned int half = 0; half < 2; ++half) {
            const unsigned int at = threadIdx.x + half * blockDim.x, voxel = start + at;
            const int bin = voxel < count ? joint_bin(pair, voxel) : -1;
            // A voxel outside either image becomes an element (a bin and its count) with bin 0 and count 0.
            elements[at] = bin >= 0 ? (unsigned int)bin | 1u << BIN_BITS : 0;
        }
        bitonic_sort_and_count(elements);
        for (unsigned int half = 0; half < 2; ++half) {
            const unsigned int element = elements[threadIdx.x + half * blockDim.x];
            if (element >> BIN_BITS) own[element & BIN] += element >> BIN_BITS;
        }
        __syncthreads();
    }
}
