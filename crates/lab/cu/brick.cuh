// The fixed volume in bricks of 8×8×4 voxels, of which those are left out that meet nothing but the moving image's
// commonest value: its background. They change no sum of differences from that value and no other counter.
//
// A block takes runs of bricks that follow one another along x, finds out which of them there is something to do for, and
// its warps share these. Bricks come in whichever order: what is added up are whole numbers.
#pragma once
#include "bricks.cuh"
#include "slab.cuh"

// Largest number of bricks of a block.
#define MOST_BRICKS 248

// Tables of bricks, laid out as BrickTables of src/schemes/bricks.rs.
struct Bricks {
    // Fixed bins, brick by brick, in the order that `fixed_bin` reads.
    const uint4 *fixed;
    // Distance to the nearest cell of 2×2×2 moving voxels with another value than the most frequent one, as
    // `is_empty` reads it.
    const unsigned short *distance;
    // Numbers of bricks and of cells along each axis.
    Size count, cells;
    float common;
    // The fixed bin with the most voxels.
    int hot;
};

// Whether coordinates around the middle stay where the ramp is 1 and both corners of a cell are there.
__device__ __forceinline__ bool deep_around(float middle, float reach, int n, float per_edge)
{
    return deep(middle - reach, n, per_edge) && deep(middle + reach, n, per_edge);
}

// The number and flags of the brick; NUMBER means that the brick is left out.
template <int SOURCE> __device__ __forceinline__ unsigned int look_at(const Pair &pair, const Bricks &bricks, unsigned int index)
{
    const Size corner = corner_of(bricks.count, index);
    const bool complete = whole(corner, pair.shape);
    if (SOURCE == GIVEN) return index | (complete ? DEEP : 0);
    const Vector middle = middle_of(corner, pair.map), reach = reach_of(pair.map);
    const bool inside = deep_around(middle.x, reach.x, pair.moving_shape.x, pair.per_edge.x) &&
                        deep_around(middle.y, reach.y, pair.moving_shape.y, pair.per_edge.y) &&
                        deep_around(middle.z, reach.z, pair.moving_shape.z, pair.per_edge.z);
    const bool empty = is_empty(bricks.distance, bricks.cells, middle, reach);
    if (inside && empty) return NUMBER;
    return index | (inside && complete ? DEEP : 0) | (empty ? EMPTY : 0);
}

// Calls use(bin, value) for each voxel of a deep brick.
template <int SOURCE, typename Use>
__device__ __forceinline__ void over_deep(const Pair &pair, const Bricks &bricks, unsigned int index, int lane, Use use)
{
    const Size corner = corner_of(bricks.count, index);
    const uint4 packed = __ldg(bricks.fixed + index * 32u + lane);
    const int x = corner.x + lane % BRICK_X, y = corner.y + lane / BRICK_X;
    float values[STEPS];
    if (SOURCE == GIVEN) {
        const float *given = pair.moving + ((unsigned int)(corner.z * pair.shape.y + y) * pair.shape.x + x);
        const unsigned int slice = pair.shape.x * pair.shape.y;
#pragma unroll
        for (int step = 0; step < STEPS; ++step) values[step] = __ldg(given + step / 2 * slice + step % 2 * 4 * pair.shape.x);
    } else {
        // The texture unit's voxel centres are half a voxel on.
        const float half = SOURCE == FILTERED ? 0.5f : 0.f;
        const float *m = pair.map.m;
        Vector start[2];
#pragma unroll
        for (int which = 0; which < 2; ++which) {
            const float i = (float)x, j = (float)(y + 4 * which);
            start[which] = {fmaf(m[0], i, fmaf(m[1], j, m[3] + half)), fmaf(m[4], i, fmaf(m[5], j, m[7] + half)),
                            fmaf(m[8], i, fmaf(m[9], j, m[11] + half))};
        }
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const float k = (float)(corner.z + step / 2);
            const Vector from = start[step % 2];
            const Vector at = {fmaf(m[2], k, from.x), fmaf(m[6], k, from.y), fmaf(m[10], k, from.z)};
            values[step] = SOURCE == FILTERED ? tex3D<float>(pair.texture, at.x, at.y, at.z)
                                              : read_inside(pair.moving, pair.moving_shape, at);
        }
    }
#pragma unroll
    for (int step = 0; step < STEPS; ++step) use(fixed_bin(packed, step), values[step]);
}

// Calls use(bin, value, weight) for each voxel of another brick, with the commonest value where nothing was read.
template <int SOURCE, typename Use>
__device__ __forceinline__ void over_border(const Pair &pair, const Bricks &bricks, unsigned int entry, int lane, Use use)
{
    const unsigned int index = entry & NUMBER;
    const Size corner = corner_of(bricks.count, index);
    const uint4 packed = __ldg(bricks.fixed + index * 32u + lane);
    const int x = corner.x + lane % BRICK_X;
#pragma unroll 2
    for (int step = 0; step < STEPS; ++step) {
        const int bin = fixed_bin(packed, step);
        if (bin == NOT_COUNTED) continue;
        const int y = corner.y + lane / BRICK_X + step % 2 * 4, z = corner.z + step / 2;
        float weight = 1.f, value = bricks.common;
        if (SOURCE == GIVEN) {
            value = __ldg(pair.moving + ((unsigned int)(z * pair.shape.y + y) * pair.shape.x + x));
        } else {
            const Vector at = mapped(pair, (float)x, (float)y, (float)z);
            weight = ramp(pair, at);
            if (weight > 0.f && !(entry & EMPTY))
                value = SOURCE == FILTERED ? tex3D<float>(pair.texture, at.x + 0.5f, at.y + 0.5f, at.z + 0.5f)
                                           : Cell(at, pair.moving_shape).read(pair.moving);
        }
        use(bin, value, weight);
    }
}

// Calls each(entry) for every brick of this block that is not left out; each warp processes one brick.
template <int SOURCE, typename Each>
__device__ __forceinline__ void over_bricks(const Pair &pair, const Bricks &bricks, Each each)
{
    __shared__ unsigned int list[MOST_BRICKS], listed, taken;
    if (threadIdx.x == 0) listed = taken = 0;
    __syncthreads();
    const unsigned int all = bricks.count.x * bricks.count.y * bricks.count.z;
    const unsigned int run = threadIdx.x / RUN * gridDim.x + blockIdx.x, index = run * RUN + threadIdx.x % RUN;
    if (threadIdx.x < MOST_BRICKS && index < all) {
        const unsigned int entry = look_at<SOURCE>(pair, bricks, index);
        if (entry != NUMBER) list[atomicAdd(&listed, 1u)] = entry;
    }
    __syncthreads();
    const unsigned int count = listed;
    while (true) {
        unsigned int next = 0;
        if (threadIdx.x % 32 == 0) next = atomicAdd(&taken, 1u);
        next = __shfl_sync(0xffffffffu, next, 0);
        if (next >= count) break;
        each(list[next]);
    }
}
