// Interpolation for the GPU algorithms for histograms in this crate. It is separate from the interpolation in the
// registration's kernels. So measurements of these algorithms stay valid when the registration's kernels change.
#pragma once
#include "points.cuh"

__device__ __forceinline__ size_t voxels(Size shape)
{
    return (size_t)shape.x * shape.y * shape.z;
}

// Along one axis of n voxels: the lower of the two neighbouring voxel indices of the coordinate `at`, which is first
// clamped to the volume. `within` is the distance from this voxel to the coordinate, 0 … 1 voxel.
__device__ __forceinline__ int locate(float at, int n, float &within)
{
    const float clamped = fminf(fmaxf(at, 0.f), (float)(n - 1));
    const int low = (int)fminf(clamped, (float)max(n - 2, 0));
    within = clamped - (float)low;
    return low;
}

// Trilinear interpolation at a point: the eight voxels around the point, which is first clamped to the volume.
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
