// A volume divided into bricks of 8×8×4 voxels. A CUDA warp processes one brick at a time, and each of its lanes eight
// voxels. Bricks that are mapped into nothing but background of the moving image are skipped.
#pragma once

#include "points.cuh"

#define BRICK_X 8
#define BRICK_Y 8
#define BRICK_Z 4
// Number of voxels of a brick (a block of fixed voxels) that each lane of the warp processes.
#define STEPS (BRICK_X * BRICK_Y * BRICK_Z / 32)
// Number of successive bricks (8×8×4 voxels) along x that one thread block processes together, as a run.
#define RUN 8
// A voxel of a brick may be outside the volume; it has this number in place of a histogram bin.
#define NOT_COUNTED 0xffffu

// A thread block keeps a list of bricks; an entry contains the number of a brick in the low bits and flags in the bits
// above. NUMBER is the mask of the low bits. An entry equal to NUMBER stands for a brick that is skipped.
#define NUMBER 0x3fffffffu
// Flag of a brick (a block of fixed voxels): all its voxels are in the fixed volume and have weight 1. They are mapped
// so far inside the moving image that interpolation needs no test for its border.
#define DEEP 0x40000000u
// Flag of a brick (a block of fixed voxels): where it is mapped, and around, the moving image has only background.
#define EMPTY 0x80000000u

// Index of the voxel with the lowest coordinates in a brick. `bricks` is the number of bricks along each axis.
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

// Position of the brick's centre in the moving image under a map.
__device__ __forceinline__ Vector middle_of(const Size &corner, const Map &map)
{
    return mapped(map, {corner.x + 0.5f * (BRICK_X - 1), corner.y + 0.5f * (BRICK_Y - 1), corner.z + 0.5f * (BRICK_Z - 1)});
}

// Largest distance along one axis of the moving image, in voxels, between the mapped centre of a brick and the mapped
// position of any voxel of the brick. `row` is the affine map's row for this axis. The constant 0.01 is added because
// of rounding.
__device__ __forceinline__ float reach_of(const float *row)
{
    return fabsf(row[0]) * (0.5f * (BRICK_X - 1)) + fabsf(row[1]) * (0.5f * (BRICK_Y - 1)) +
           fabsf(row[2]) * (0.5f * (BRICK_Z - 1)) + 0.01f;
}

__device__ __forceinline__ Vector reach_of(const Map &map)
{
    return {reach_of(map.m), reach_of(map.m + 4), reach_of(map.m + 8)};
}

// Whether the moving image is only background within `reach` of the position `at`, including the voxels used for
// interpolation there. `distance` gives for each cell of 2×2×2 moving voxels the number of cells to the nearest cell
// that is not background.
__device__ __forceinline__ bool is_empty(const unsigned short *distance, const Size &cells, Vector at, Vector reach)
{
    const auto cell_of = [](float at, int count) { return min(max((int)floorf(0.5f * at), 0), count - 1); };
    const int i = cell_of(at.x, cells.x), j = cell_of(at.y, cells.y), k = cell_of(at.z, cells.z);
    // The cell that contains `at` is two voxels wide, and interpolation reads one further voxel. So along each axis
    // every voxel that is read is less than reach + 3 voxels away from each voxel of this cell.
    return 2.f * (float)distance[(k * cells.y + j) * cells.x + i] >= fmaxf(reach.x, fmaxf(reach.y, reach.z)) + 3.f;
}

// Bin of the fixed voxel that a lane l of the warp processes at step s: the voxel at x = l % 8, y = l / 8 + 4·(s % 2),
// z = s / 2 of the brick. `packed` holds the bins of a lane's eight voxels, 16 bits each.
__device__ __forceinline__ unsigned int fixed_bin(const uint4 &packed, int step)
{
    const unsigned int word = step < 2 ? packed.x : step < 4 ? packed.y : step < 6 ? packed.z : packed.w;
    return step % 2 ? word >> 16 : word & 0xffff;
}
