// Moments of pairs of fixed and moving values (x, y) for a batch of transforms. Voxels are processed brick by brick
// (8×8×8), so that the threads of a block read the moving image at positions near each other.
#include "reduce.cuh"
#include "samples.cuh"

// Number of voxels that a thread block processes.
#define RUN 4096

// Scales the values of both images by their ranges: (value − low)·scale.
struct Ranges {
    float fixed_low, fixed_scale, moving_low, moving_scale;
};

// Each thread block computes Σw, Σwx, Σwy, Σwx², Σwy² and Σwxy over RUN voxels under one transform, where x is the
// scaled fixed value of a voxel, y the scaled moving value and w the weight. The results are eight successive elements
// of `sums`, the last two of them 0, from 8 · (transform · blocks + block) on; `blocks` is the number of thread blocks
// for each transform.
extern "C" __global__ void __launch_bounds__(256)
    moments(const float *READ values, const float *READ weights, Shape fixed, Moving moving, Ranges ranges,
            const Map *READ maps, float *sums)
{
    const Map &map = maps[blockIdx.y];
    float own[6] = {0.f, 0.f, 0.f, 0.f, 0.f, 0.f};
    for (unsigned int at = threadIdx.x; at < RUN; at += blockDim.x) {
        const Voxel v = in_bricks(blockIdx.x * RUN + at, fixed);
        if (!within(v, fixed)) continue;
        const unsigned int voxel = offset(v, fixed);
        if (weights && !(weights[voxel] > 0.f)) continue;
        const Sample sample(map, moving, voxel, fixed, weights ? weights + voxel : nullptr);
        if (!(sample.weight > 0.f)) continue;
        const float x = (values[voxel] - ranges.fixed_low) * ranges.fixed_scale;
        const float y = (sample.value(moving.image) - ranges.moving_low) * ranges.moving_scale;
        const float wx = sample.weight * x, wy = sample.weight * y;
        own[0] += sample.weight;
        own[1] += wx;
        own[2] += wy;
        own[3] = fmaf(wx, x, own[3]);
        own[4] = fmaf(wy, y, own[4]);
        own[5] = fmaf(wx, y, own[5]);
    }
    float *out = sums + 8 * ((size_t)blockIdx.y * gridDim.x + blockIdx.x);
#pragma unroll
    for (int moment = 0; moment < 6; ++moment) {
        const float sum = block_sum(own[moment]);
        if (threadIdx.x == 0) out[moment] = sum;
    }
}

// Adds the six sums that the thread blocks of the kernel `moments` have computed for each transform. The totals of a
// transform are the elements of `totals` from 6 · transform on. A thread block processes one transform, and each of its
// warps one moment.
extern "C" __global__ void __launch_bounds__(192)
    moments_totals(const float *READ sums, int blocks, double *totals)
{
    const int lane = threadIdx.x % 32, moment = threadIdx.x / 32;
    const float *own = sums + 8 * (size_t)blockIdx.x * blocks;
    double total = 0.0;
    for (int block = lane; block < blocks; block += 32) total += own[8 * block + moment];
    total = warp_sum(total);
    if (lane == 0) totals[6 * blockIdx.x + moment] = total;
}
