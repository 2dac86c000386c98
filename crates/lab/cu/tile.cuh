// The fixed volume divided into tiles of 32×8×8 voxels. A GPU warp (32 threads) reads whole rows of a tile, so its
// samples of the moving image lie along rows too. If a tile is mapped well inside the moving image, all weights are 1,
// and interpolation needs no tests at the border.
#pragma once
#include "slab.cuh"

#define TILE_X 32
#define TILE_Y 8
#define TILE_Z 8
#define TILE (TILE_X * TILE_Y * TILE_Z)

enum Where { OUTSIDE, BORDER, INSIDE };

struct Tile {
    int x, y, z;

    __device__ __forceinline__ Tile(Size shape, unsigned int index)
    {
        const unsigned int columns = (shape.x + TILE_X - 1) / TILE_X, rows = (shape.y + TILE_Y - 1) / TILE_Y;
        const unsigned int row = index / columns;
        x = (index - row * columns) * TILE_X;
        y = row % rows * TILE_Y;
        z = row / rows * TILE_Z;
    }
};

// Returns where a tile (32×8×8 voxels) lies along one axis of n moving voxels. The tile is mapped to the coordinates
// from middle − reach to middle + reach, in moving voxels. If all these coordinates are outside the moving image, the
// result is OUTSIDE; if all are where weights are 1, it is INSIDE; otherwise it is BORDER. 1 / per_edge is the width of
// the zone at the border of the moving image in which weights rise from 0 to 1.
__device__ __forceinline__ Where where(float middle, float reach, int n, float per_edge)
{
    // Allowance for the rounding of coordinates, voxels. It ensures that both neighbouring voxels used for
    // interpolation are in the volume.
    const float margin = 0.01f;
    reach += margin;
    if (middle + reach < 0.f || middle - reach > (float)(n - 1)) return OUTSIDE;
    const float edge = per_edge < 1e6f ? 1.f / per_edge : 0.f;
    return middle - reach > edge && middle + reach < (float)(n - 1) - edge ? INSIDE : BORDER;
}

__device__ __forceinline__ Where where(const Pair &pair, const Tile &tile)
{
    if (pair.source == GIVEN) return INSIDE;
    const float i = 0.5f * (TILE_X - 1), j = 0.5f * (TILE_Y - 1), k = 0.5f * (TILE_Z - 1);
    const Vector middle = mapped(pair, tile.x + i, tile.y + j, tile.z + k);
    const float *m = pair.map.m;
    const Where x = where(middle.x, fabsf(m[0]) * i + fabsf(m[1]) * j + fabsf(m[2]) * k, pair.moving_shape.x, pair.per_edge.x);
    const Where y = where(middle.y, fabsf(m[4]) * i + fabsf(m[5]) * j + fabsf(m[6]) * k, pair.moving_shape.y, pair.per_edge.y);
    const Where z = where(middle.z, fabsf(m[8]) * i + fabsf(m[9]) * j + fabsf(m[10]) * k, pair.moving_shape.z, pair.per_edge.z);
    if (x == OUTSIDE || y == OUTSIDE || z == OUTSIDE) return OUTSIDE;
    return x == INSIDE && y == INSIDE && z == INSIDE ? INSIDE : BORDER;
}

// The interpolated moving value at a fixed voxel of a tile (32×8×8 voxels) that is mapped inside the moving image.
template <int SOURCE>
__device__ __forceinline__ float inside_value(const Pair &pair, unsigned int voxel, float i, float j, float k)
{
    if (SOURCE == GIVEN) return __ldg(pair.moving + voxel);
    return value_inside<SOURCE>(pair, mapped(pair, i, j, k));
}
