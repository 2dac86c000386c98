// Reading between voxel centres along a column of voxels, one slice after the other. Displacements hardly differ from a
// slice to the next, so that most cells stand on the one before: its upper corners are read again from registers.
#pragma once

#include "volume.cuh"

// The voxels of a thread: (x, y, z) for z0 ≤ z < z1.
struct Column {
    int x, y, z0, z1;
};

// Every thread takes so many slices, the host's grid is cut alike; `v` is a thread's voxel if it took one.
__device__ __forceinline__ Column column(Voxel v, const Shape &shape, int slices)
{
    const int z0 = v.z * slices, z1 = min(z0 + slices, shape.z);
    return {v.x, v.y, z0, v.x < shape.x && v.y < shape.y ? z1 : z0};
}

// Reads PLANES planes of one shape at one point after the other.
template <int PLANES> struct Walk {
    Corners low[PLANES], high[PLANES];
    // Place of the upper corners of the last cell.
    unsigned int held = ~0u;

    __device__ __forceinline__ void to(const Cell &cell, const float *READ values, size_t stride)
    {
#pragma unroll
        for (int p = 0; p < PLANES; ++p) low[p] = high[p];
        if (cell.c00 != held)
#pragma unroll
            for (int p = 0; p < PLANES; ++p) low[p] = corners(values + p * stride, cell.c00, cell.c10);
#pragma unroll
        for (int p = 0; p < PLANES; ++p) high[p] = corners(values + p * stride, cell.c01, cell.c11);
        held = cell.c01;
    }

    __device__ __forceinline__ float read(int p, const Cell &cell) const
    {
        return lerp(low[p].at(cell), high[p].at(cell), cell.tz);
    }
};
