// Sorts the fixed voxels by intensity bin, for the conflict-free correlation ratio (Li 2015, 3.6). The counting sort is
// stable, so its result depends on the input alone.
//
// The voxels are processed brick by brick (8×8×8 voxels). So voxels near each other in the sorted list are near each
// other in the volume, and so are the positions at which the moving image is read for them. Each CUDA warp processes
// BRICKS_PER_WARP successive bricks, which are called its run.
#include "binning.cuh"
#include "volume.cuh"

#define BRICKS_PER_WARP 4

// The bin of the fixed voxel at a position in brick order (8×8×8 voxels); −1 outside the volume or without weight.
__device__ __forceinline__ int bin_of(const float *READ fixed, const float *READ weight, Shape shape, Binning binning,
                                      unsigned int position, unsigned int &voxel)
{
    const Voxel v = in_bricks(position, shape);
    if (!within(v, shape)) return -1;
    voxel = offset(v, shape);
    if (weight && !(weight[voxel] > 0.f)) return -1;
    return binning.bin_of(fixed[voxel]);
}

// Counts, for each CUDA warp, the voxels of each bin in the bricks that the warp processes (its run): counts[bin ·
// warps + warp], where `warps` is the number of warps.
extern "C" __global__ void count_bins(const float *READ fixed, const float *READ weight, Shape shape, Binning binning,
                                      unsigned int warps, unsigned int *counts)
{
    extern __shared__ unsigned int seen[];
    const unsigned int run = BRICKS_PER_WARP * BRICK * BRICK * BRICK, bins = (unsigned int)binning.bins;
    for (unsigned int bin = threadIdx.x; bin < bins; bin += 32) seen[bin] = 0;
    __syncwarp();
    for (unsigned int position = threadIdx.x; position < run; position += 32) {
        unsigned int voxel;
        const int bin = bin_of(fixed, weight, shape, binning, blockIdx.x * run + position, voxel);
        if (bin >= 0) atomicAdd(seen + bin, 1u);
    }
    __syncwarp();
    for (unsigned int bin = threadIdx.x; bin < bins; bin += 32) counts[bin * warps + blockIdx.x] = seen[bin];
}

// Prefix sums of each bin's counts: counts[bin · warps + warp] becomes the number of the bin's fixed voxels that
// earlier warps process, and totals[bin] the number of all its voxels. Each thread block processes one bin.
extern "C" __global__ void scan_bins(unsigned int warps, unsigned int *counts, unsigned int *totals)
{
    __shared__ unsigned int sums[32];
    __shared__ unsigned int before;
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int *row = counts + (size_t)blockIdx.x * warps;
    if (threadIdx.x == 0) before = 0;
    for (unsigned int start = 0; start < warps; start += blockDim.x) {
        const unsigned int at = start + threadIdx.x, own = at < warps ? row[at] : 0;
        unsigned int sum = own;
#pragma unroll
        for (int distance = 1; distance < 32; distance <<= 1) {
            const unsigned int other = __shfl_up_sync(0xffffffffu, sum, distance);
            if (lane >= distance) sum += other;
        }
        if (lane == 31) sums[warp] = sum;
        __syncthreads();
        unsigned int offset = before;
        for (unsigned int w = 0; w < warp; ++w) offset += sums[w];
        if (at < warps) row[at] = offset + sum - own;
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1) before = offset + sum;
        __syncthreads();
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = before;
}

// Writes the index of each counted voxel, and the voxel's weight if there are weights, to the sorted list. starts[bin]
// is the first position of a bin in the list.
extern "C" __global__ void scatter_bins(const float *READ fixed, const float *READ weight, Shape shape, Binning binning,
                                        unsigned int warps, const unsigned int *READ counts,
                                        const unsigned int *READ starts, unsigned int *sorted, float *sorted_weight)
{
    extern __shared__ unsigned int place[];
    const unsigned int run = BRICKS_PER_WARP * BRICK * BRICK * BRICK, bins = (unsigned int)binning.bins;
    for (unsigned int bin = threadIdx.x; bin < bins; bin += 32)
        place[bin] = starts[bin] + counts[bin * warps + blockIdx.x];
    __syncwarp();
    for (unsigned int position = threadIdx.x; position < run; position += 32) {
        unsigned int voxel = 0;
        const int bin = bin_of(fixed, weight, shape, binning, blockIdx.x * run + position, voxel);
        const unsigned int peers = __match_any_sync(0xffffffffu, bin);
        const unsigned int before = __popc(peers & ((1u << threadIdx.x) - 1u));
        if (bin >= 0) {
            const unsigned int at = place[bin] + before;
            sorted[at] = voxel;
            if (sorted_weight) sorted_weight[at] = weight[voxel];
        }
        __syncwarp();
        if (bin >= 0 && before == 0) place[bin] += __popc(peers);
        __syncwarp();
    }
}
