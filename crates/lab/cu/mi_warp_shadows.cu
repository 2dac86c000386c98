// Shams 2007 (method 1 of Shams 2010, 4.1.1): a partial histogram for each warp in shared memory. Where the bins do not
// fit, the image is gone through once for each range of bins. The atomics are the hardware's, not a mutex of tags.
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
