// Joint histogram after Shams 2007 (method 1 of Shams 2010, 4.1.1): each warp has a partial histogram in shared memory.
// If not all bins fit there, the kernel is launched once for each range of bins, and each launch reads the whole image.
// Atomics of the hardware are used instead of the paper's mutex.
#include "pair.cuh"

extern "C" __global__ void mi_warp_shadows(const __grid_constant__ Pair pair, unsigned int first, unsigned int range,
                                           unsigned int *joint)
{
    extern __shared__ unsigned int shadow[];
    const unsigned int warps = blockDim.x / 32, count = voxel_count(pair), step = threads_of_grid();
    for (unsigned int at = threadIdx.x; at < range * warps; at += blockDim.x) shadow[at] = 0;
    __syncthreads();
    unsigned int *own = shadow + threadIdx.x / 32 * range;
    for (unsigned int voxel = thread_of_grid(); voxel < count; voxel += step) {
        const unsigned int bin = (unsigned int)joint_bin(pair, voxel) - first;
        if (bin < range) atomicAdd(own + bin, 1u);
    }
    __syncthreads();
    const unsigned int all = (unsigned int)(pair.bins * pair.bins);
    for (unsigned int at = threadIdx.x; at < range && first + at < all; at += blockDim.x) {
        unsigned int sum = 0;
        for (unsigned int warp = 0; warp < warps; ++warp) sum += shadow[warp * range + at];
        if (sum) atomicAdd(joint + first + at, sum);
    }
}
