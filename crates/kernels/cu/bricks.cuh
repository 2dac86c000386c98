// A volume in bricks of 8×8×4 voxels, of which a warp takes one at a time, eight voxels a lane. Bricks that meet nothing but
// background are left out.
#pragma once

#include "points.cuh"

#define BRICK_X 8
#define BRICK_Y 8
#define BRICK_Z 4
// Number of voxels of a lane.
#define STEPS (BRICK_X * BRICK_Y * BRICK_Z / 32)
// Number of bricks of a run along x; a block processes whole runs.
#define RUN 8
// The bin of voxels outside the volume.
#define NOT_COUNTED 0xffffu

// Bits of the number of a brick; the flags are in the bits above. An entry equal to NUMBER means that there is no brick.
#define NUMBER 0x3fffffffu
// Flag: every voxel of the brick exists, has full weight, and can be interpolated without tests at the border.
#define DEEP 0x40000000u
// Flag: all moving voxels that the brick meets are background.
#define EMPTY 0x80000000u

// The lowest voxel of a brick. `bricks` are the numbers of bricks along the axes.
__device__ __forceinline__ Size corner_of(const Size &bricks, unsigned int brick)
{
    const unsigned int row = brick / bricks.x;
    return {(int)(brick - row * bricks.x) * BRICK_X, (int)(row % bricks.y) * BRICK_Y, (int)(row / bricks.y) * BRICK_Z};
}

// Whether all voxels of the brick are in the volume.
__device__ __forceinline__ bool whole(const Size &corner, const Size &shape)
{
    return corner.x + BRICK_X <= shape.x && corner.y + BRICK_Y <= shape.y && corner.z + BRICK_Z <= shape.z;
}

// The image of the brick's centre under a map.
__device__ __forceinline__ Vector middle_of(const Size &corner, const Map &map)
{
    return mapped(map, {corner.x + 0.5f * (BRICK_X - 1), corner.y + 0.5f * (BRICK_Y - 1), corner.z + 0.5f * (BRICK_Z - 1)});
}

// Largest distance between the image of a voxel of the brick and that of its centre, along the axis of a row of the
// map; the added constant covers rounding.
__device__ __forceinline__ float reach_of(const float *row)
{
    return fabsf(row[0]) * (0.5f * (BRICK_X - 1)) + fabsf(row[1]) * (0.5f * (BRICK_Y - 1)) +
           fabsf(row[2]) * (0.5f * (BRICK_Z - 1)) + 0.01f;
}

__device__ __forceinline__ Vector reach_of(const Map &map)
{
    return {reach_of(map.m), reach_of(map.m + 4), reach_of(map.m + 8)};
}

// Whether everything within reach of a place, and the voxels it is interpolated from, is background. `distance`: for each
// cell of 2×2×2 voxels, how many cells away the nearest one is that is not.
__device__ __forceinline__ bool is_empty(const unsigned short *distance, const Size &cells, Vector at, Vector reach)
{
    const auto cell_of = [](float at, int count) { return min(max((int)floorf(0.5f * at), 0), count - 1); };
    const int i = cell_of(at.x, cells.x), j = cell_of(at.y, cells.y), k = cell_of(at.z, cells.z);
    // The voxels used in interpolation lie at most reach + 3 voxels from the far corner of the cell.
    return 2.f * (float)distance[(k * cells.y + j) * cells.x + i] >= fmaxf(reach.x, fmaxf(reach.y, reach.z)) + 3.f;
}

// The fixed bin of a lane's voxel at a step, of the lane's bins after one another: of lane l, step s that of the voxel at
// x = l % 8, y = l / 8 + 4·(s % 2), z = s / 2.
__device__ __forceinline__ unsigned int fixed_bin(const uint4 &packed, int step)
{
    const unsigned int word = step < 2 ? packed.x : step < 4 ? packed.y : step < 6 ? packed.z : packed.w;
    return step % 2 ? word >> 16 : word & 0xffff;
}
