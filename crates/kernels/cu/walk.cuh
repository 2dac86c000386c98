// Trilinear interpolation along a column of voxels, slice by slice. Displacements differ little from one slice to the
// next, so most cells lie directly above the cell before: the upper corners of that cell are reused from registers.
#pragma once

#include "volume.cuh"

// The voxels that a thread processes: (x, y, z) for z0 ≤ z < z1.
struct Column {
    int x, y, z0, z1;
};

// The voxels that this thread processes, if every thread processes `slices` slices. `v` is the voxel of the thread in a
// launch with one slice for each thread; the host launches fewer threads along z accordingly.
__device__ __forceinline__ Column column(Voxel v, const Shape &shape, int slices)
{
    const int z0 = v.z * slices, z1 = min(z0 + slices, shape.z);
    return {v.x, v.y, z0, v.x < shape.x && v.y < shape.y ? z1 : z0};
}

// Interpolates PLANES scalar volumes of the same shape, such as the components of a field, at successive points.
template <int PLANES> struct Walk {
    Corners low[PLANES], high[PLANES];
    // Byte offset of the upper slice of the cell that was interpolated last. `high` has the values of the cell in this
    // slice.
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
