// The gradient of an image as an update of a displacement field. The formulas are those of src/ops/fields.rs.
#pragma once

#include "volume.cuh"

// Image gradient by central differences, one-sided at the border, for the voxels of one column along z.
struct Gradient {
    // Distances in memory from a voxel to its four neighbours along x and y; 0 if a neighbour does not exist.
    int left, right, up, down;
    float along_x, along_y;

    // Factor by which the difference of image values along one axis is multiplied: 1/2 for the difference between the
    // two neighbours of a voxel, 1 for the one-sided difference at the border.
    static __device__ __forceinline__ float share(int index, int n)
    {
        return index > 0 && index + 1 < n ? 0.5f : 1.f;
    }

    // `metric` is (finest spacing / spacing)² for each axis: it converts a gradient per voxel to a displacement in
    // voxels along the physical gradient.
    __device__ __forceinline__ void start(const Shape &shape, Vector metric, int x, int y)
    {
        left = x > 0 ? -1 : 0;
        right = x + 1 < shape.x ? 1 : 0;
        up = y > 0 ? -shape.x : 0;
        down = y + 1 < shape.y ? shape.x : 0;
        along_x = share(x, shape.x) * metric.x;
        along_y = share(y, shape.y) * metric.y;
    }

    // The gradient at the voxel of slice z with offset `here` in an image.
    __device__ __forceinline__ Vector at(const Shape &shape, Vector metric, const float *image, int z, size_t here) const
    {
        const int slice = shape.x * shape.y;
        const int below = z > 0 ? -slice : 0, above = z + 1 < shape.z ? slice : 0;
        const float along_z = share(z, shape.z) * metric.z;
        const float *centre = image + here;
        return {(__ldg(centre + right) - __ldg(centre + left)) * along_x,
                (__ldg(centre + down) - __ldg(centre + up)) * along_y,
                (__ldg(centre + above) - __ldg(centre + below)) * along_z};
    }
};
