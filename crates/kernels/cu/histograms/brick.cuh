// The fixed volume in bricks of 8×8×4 voxels, of which those are left out that meet nothing but the moving image's
// commonest value: its background. They change no sum of differences from that value and no other counter.
//
// A block takes runs of bricks that follow one another along x, finds out which of them there is something to do for, and
// its warps share these. Bricks come in whichever order: what is added up are whole numbers.
#pragma once
#include "slab.cuh"

#define BRICK_X 8
#define BRICK_Y 8
#define BRICK_Z 4
// Voxels of a lane.
#define STEPS (BRICK_X * BRICK_Y * BRICK_Z / 32)
// Bricks of a run, and the most of a block.
#define RUN 8
#define MOST_BRICKS 248
// Of the fixed bins, for what lies outside the volume.
#define NOT_COUNTED 0xffffu

// What is known of a brick, above its number.
#define NUMBER 0x3fffffffu
// Every voxel is there, counts fully, and can be interpolated without looking at borders.
#define DEEP 0x40000000u
// Whatever it meets is the commonest value.
#define EMPTY 0x80000000u

// As Skipping of src/cuda/histograms/bricks.rs.
struct Bricks {
    // Fixed bins: for each brick those of a lane's voxels after one another; of lane l, step s it is the voxel at
    // x = l % 8, y = l / 8 + 4·(s % 2), z = s / 2.
    const uint4 *fixed;
    // For each cell of 2×2×2 moving voxels: how many cells away the nearest one is that has another value than the commonest.
    const unsigned short *distance;
    // Bricks along each axis, and cells.
    Shape count, cells;
    float common;
    // The fixed bin with most voxels.
    int hot;
};

struct Brick {
    int x, y, z;

    __device__ __forceinline__ Brick(const Bricks &bricks, unsigned int index)
    {
        const unsigned int row = index / bricks.count.x;
        x = (index - row * bricks.count.x) * BRICK_X;
        y = row % bricks.count.y * BRICK_Y;
        z = row / bricks.count.y * BRICK_Z;
    }
};

// How far coordinates reach from the middle of a brick along an axis; the rest covers their rounding.
__device__ __forceinline__ float reach_of(const float *m)
{
    return fabsf(m[0]) * (0.5f * (BRICK_X - 1)) + fabsf(m[1]) * (0.5f * (BRICK_Y - 1)) +
           fabsf(m[2]) * (0.5f * (BRICK_Z - 1)) + 0.01f;
}

__device__ __forceinline__ int cell_of(float at, int cells)
{
    return min(max((int)floorf(0.5f * at), 0), cells - 1);
}

// Whether everything within `reach` of a place, and the voxels it is interpolated from, has the commonest value.
__device__ __forceinline__ bool is_empty(const Bricks &bricks, Vector middle, float reach)
{
    const int i = cell_of(middle.x, bricks.cells.x), j = cell_of(middle.y, bricks.cells.y);
    const int k = cell_of(middle.z, bricks.cells.z);
    return 2.f * (float)bricks.distance[(k * bricks.cells.y + j) * bricks.cells.x + i] >= reach + 3.f;
}

// Whether coordinates around the middle stay where the ramp is 1 and both corners of a cell are there.
__device__ __forceinline__ bool deep_around(float middle, float reach, int n, float per_edge)
{
    return deep(middle - reach, n, per_edge) && deep(middle + reach, n, per_edge);
}

// The brick's number and what is known of it; NUMBER: nothing to do.
template <int SOURCE> __device__ __forceinline__ unsigned int look_at(const Pair &pair, const Bricks &bricks, unsigned int index)
{
    const Brick brick(bricks, index);
    const bool whole = brick.x + BRICK_X <= pair.shape.x && brick.y + BRICK_Y <= pair.shape.y && brick.z + BRICK_Z <= pair.shape.z;
    if (SOURCE == GIVEN) return index | (whole ? DEEP : 0);
    const Vector middle = map(pair, brick.x + 0.5f * (BRICK_X - 1), brick.y + 0.5f * (BRICK_Y - 1), brick.z + 0.5f * (BRICK_Z - 1));
    const Vector reach = {reach_of(pair.m), reach_of(pair.m + 4), reach_of(pair.m + 8)};
    const bool inside = deep_around(middle.x, reach.x, pair.moving_shape.x, pair.per_edge.x) &&
                        deep_around(middle.y, reach.y, pair.moving_shape.y, pair.per_edge.y) &&
                        deep_around(middle.z, reach.z, pair.moving_shape.z, pair.per_edge.z);
    const bool empty = is_empty(bricks, middle, fmaxf(fmaxf(reach.x, reach.y), reach.z));
    if (inside && empty) return NUMBER;
    return index | (inside && whole ? DEEP : 0) | (empty ? EMPTY : 0);
}

__device__ __forceinline__ int fixed_bin(const uint4 &packed, int step)
{
    const unsigned int word = step < 2 ? packed.x : step < 4 ? packed.y : step < 6 ? packed.z : packed.w;
    return step % 2 ? word >> 16 : word & 0xffff;
}

// Calls use(bin, value) for each voxel of a deep brick.
template <int SOURCE, typename Use>
__device__ __forceinline__ void over_deep(const Pair &pair, const Bricks &bricks, unsigned int index, int lane, Use use)
{
    const Brick brick(bricks, index);
    const uint4 packed = __ldg(bricks.fixed + index * 32u + lane);
    const int x = brick.x + lane % BRICK_X, y = brick.y + lane / BRICK_X;
    float values[STEPS];
    if (SOURCE == GIVEN) {
        const float *given = pair.moving + ((unsigned int)(brick.z * pair.shape.y + y) * pair.shape.x + x);
        const unsigned int slice = pair.shape.x * pair.shape.y;
#pragma unroll
        for (int step = 0; step < STEPS; ++step) values[step] = __ldg(given + step / 2 * slice + step % 2 * 4 * pair.shape.x);
    } else {
        // The texture unit's voxel centres are half a voxel on.
        const float half = SOURCE == FILTERED ? 0.5f : 0.f;
        const float *m = pair.m;
        Vector start[2];
#pragma unroll
        for (int which = 0; which < 2; ++which) {
            const float i = (float)x, j = (float)(y + 4 * which);
            start[which] = {fmaf(m[0], i, fmaf(m[1], j, m[3] + half)), fmaf(m[4], i, fmaf(m[5], j, m[7] + half)),
                            fmaf(m[8], i, fmaf(m[9], j, m[11] + half))};
        }
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const float k = (float)(brick.z + step / 2);
            const Vector from = start[step % 2];
            const Vector at = {fmaf(m[2], k, from.x), fmaf(m[6], k, from.y), fmaf(m[10], k, from.z)};
            values[step] = SOURCE == FILTERED ? tex3D<float>(pair.texture, at.x, at.y, at.z)
                                              : read_deep(pair.moving, pair.moving_shape, at);
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
    const Brick brick(bricks, index);
    const uint4 packed = __ldg(bricks.fixed + index * 32u + lane);
    const int x = brick.x + lane % BRICK_X;
#pragma unroll 2
    for (int step = 0; step < STEPS; ++step) {
        const int bin = fixed_bin(packed, step);
        if (bin == NOT_COUNTED) continue;
        const int y = brick.y + lane / BRICK_X + step % 2 * 4, z = brick.z + step / 2;
        float weight = 1.f, value = bricks.common;
        if (SOURCE == GIVEN) {
            value = __ldg(pair.moving + ((unsigned int)(z * pair.shape.y + y) * pair.shape.x + x));
        } else {
            const Vector at = map(pair, (float)x, (float)y, (float)z);
            weight = ramp(pair, at);
            if (weight > 0.f && !(entry & EMPTY)) value = SOURCE == FILTERED ? tex3D<float>(pair.texture, at.x + 0.5f, at.y + 0.5f, at.z + 0.5f)
                                           : Cell(at, pair.moving_shape).read(pair.moving);
        }
        use(bin, value, weight);
    }
}

// Calls each(entry) for each brick of this block that is not left out, from a warp each.
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
        next = __shfl_sync(EVERY_LANE, next, 0);
        if (next >= count) break;
        each(list[next]);
    }
}
