// The fixed volume divided into bricks of 8×8×4 voxels. Bricks that are mapped only to background of the moving image
// are skipped; the background is the most frequent moving value. Such a brick adds 0 to sums of differences from that
// value. In a histogram, it changes only the counters of the background.
//
// A thread block takes runs of bricks that follow each other along x, makes a list of the bricks that must be
// processed, and its warps share that list. The bricks are processed in any order, because the sums are sums of
// integers.
#pragma once
#include "bricks.cuh"
#include "slab.cuh"

// Largest number of bricks (boxes of 8×8×4 voxels) that a thread block processes.
#define MOST_BRICKS 248

// Bricks (boxes of 8×8×4 voxels) of the fixed image, and cells of the moving image; layout: BrickTables in bricks.rs.
struct Bricks {
    // Bins of the fixed voxels, grouped by bricks (boxes of 8×8×4 voxels). Within a brick, the eight bins that one
    // thread of a GPU warp (32 threads) reads follow each other.
    const uint4 *fixed;
    // For each cell of 2×2×2 moving voxels, the distance to the nearest cell with another value than the most frequent
    // one, in cells; `is_empty` reads it.
    const unsigned short *distance;
    // `count`: bricks (boxes of 8×8×4 voxels) along each axis. `cells`: cells of 2×2×2 moving voxels along each axis.
    Size count, cells;
    float common;
    // The fixed bin with the most voxels.
    int hot;
};

// Whether a brick (8×8×4 voxels) is `deep` (slab.cuh) along one axis of n moving voxels. The brick is mapped to the
// coordinates from middle − reach to middle + reach, in moving voxels. It is deep if, at all these coordinates, the
// weight is 1 and both neighbouring voxels used for interpolation exist.
__device__ __forceinline__ bool deep_around(float middle, float reach, int n, float per_edge)
{
    return deep(middle - reach, n, per_edge) && deep(middle + reach, n, per_edge);
}

// Returns the entry of a brick (a box of 8×8×4 voxels) in the list of bricks to process: the number `index` of the
// brick, with the flags DEEP and EMPTY of bricks.cuh. The entry NUMBER means that the brick is skipped.
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

// Calls use(bin, value) for each voxel of a brick (a box of 8×8×4 voxels) with the flag DEEP. With this flag, all
// voxels are in the fixed volume, have weight 1, and need no tests at the border of the moving image.
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
        // In the texture unit's coordinates, voxel centres are at half-integers.
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

// Calls use(bin, value, weight) for each voxel of a brick (8×8×4 voxels) without the flag DEEP, which may lie at a
// border of either image. Where the moving image is not read, the value is its most frequent value.
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

// Calls each(entry) for each brick (8×8×4 voxels) of this block that is not skipped. One GPU warp handles one brick.
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
