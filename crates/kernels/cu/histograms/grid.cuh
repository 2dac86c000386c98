// How the schemes see volumes and read between voxel centres. Their own, so that what was measured of them does not change
// with the kernels that registrations use.
#pragma once

#define READ __restrict__

struct Shape {
    int x, y, z;
};

struct Vector {
    float x, y, z;
};

__device__ __forceinline__ size_t voxels(Shape shape)
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

__device__ __forceinline__ float lerp(float a, float b, float t)
{
    return a + t * (b - a);
}

// The eight voxels around a point. Along y and z, where there is one voxel, both corners are that voxel; along x the
// right one is what stands next in memory, and counts for nothing.
struct Cell {
    // Byte offsets of the four left corners.
    unsigned int c00, c10, c01, c11;
    float tx, ty, tz;

    __device__ __forceinline__ Cell(Vector point, Shape shape)
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

    // Along x between the two voxels at a byte offset.
    __device__ __forceinline__ float pair(const float *READ values, unsigned int bytes) const
    {
        const float *left = (const float *)((const char *)values + bytes);
        return lerp(__ldg(left), __ldg(left + 1), tx);
    }

    __device__ __forceinline__ float read(const float *READ values) const
    {
        const float low = lerp(pair(values, c00), pair(values, c10), ty);
        const float high = lerp(pair(values, c01), pair(values, c11), ty);
        return lerp(low, high, tz);
    }
};
