// How the schemes find the voxels around a point. Their own, from the shape alone, so that what was measured of them does
// not change with the kernels that registrations use.
#pragma once
#include "points.cuh"

__device__ __forceinline__ size_t voxels(Size shape)
{
    return (size_t)shape.x * shape.y * shape.z;
}

// Low corner and position within the cell (0…1) of a coordinate clamped to the volume.
__device__ __forceinline__ int locate(float at, int n, float &within)
{
    const float clamped = fminf(fmaxf(at, 0.f), (float)(n - 1));
    const int low = (int)fminf(clamped, (float)max(n - 2, 0));
    within = clamped - (float)low;
    return low;
}

// The eight voxels around a point, clamped to the volume.
struct Cell : Trilinear {
    __device__ __forceinline__ Cell(Vector point, Size shape)
    {
        const unsigned int i = locate(point.x, shape.x, tx);
        const unsigned int j = locate(point.y, shape.y, ty);
        const unsigned int k = locate(point.z, shape.z, tz);
        const unsigned int step_y = shape.y > 1 ? 4 * shape.x : 0;
        const unsigned int step_z = shape.z > 1 ? 4 * shape.x * shape.y : 0;
        c00 = 4 * ((k * shape.y + j) * shape.x + i);
        c10 = c00 + step_y;
        c01 = c00 + step_z;
        c11 = c10 + step_z;
    }
};
