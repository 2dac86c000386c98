// Samples of the moving image at fixed voxels, in the arithmetic of src/cpu/samples.rs, operation by operation.
#pragma once
#include "volume.cuh"

// A map of fixed to moving voxel indices, row-major 3×4.
struct Map {
    float m[12];
};

struct Moving {
    cudaTextureObject_t image, weight;
    int weighted;
    Shape shape;
    // 1 / width of the ramp at the edge, per axis.
    Vector per_edge;
};

struct Segment {
    unsigned int start, end;
};

__device__ __forceinline__ float edge_ramp(float at, int n, float per_edge)
{
    const float distance = fminf(at, (float)(n - 1) - at);
    // NaN goes to 0 as well; 0·∞, on the border without a ramp, to 1.
    return distance >= 0.f ? fminf(distance * per_edge, 1.f) : 0.f;
}

// Low corner of the cell of a coordinate clamped to the image, and where in the cell it is.
__device__ __forceinline__ float cell(float at, int n, float &within)
{
    const float clamped = fminf(fmaxf(at, 0.f), (float)(n - 1)), low = fminf(floorf(clamped), (float)(n - 2));
    within = clamped - low;
    return low;
}

// Where a fixed voxel falls in the moving image, and its weight there.
struct Sample {
    float weight;
    // Low corner of the cell and position in it.
    float x, y, z, tx, ty, tz;

    __device__ __forceinline__ Sample(const Map &map, const Moving &moving, unsigned int voxel, Shape fixed,
                                      const float *own_weight)
    {
        const unsigned int row = voxel / fixed.x;
        const float i = (float)(voxel - row * fixed.x), j = (float)(row % fixed.y), k = (float)(row / fixed.y);
        const float ax = fmaf(map.m[0], i, fmaf(map.m[1], j, fmaf(map.m[2], k, map.m[3])));
        const float ay = fmaf(map.m[4], i, fmaf(map.m[5], j, fmaf(map.m[6], k, map.m[7])));
        const float az = fmaf(map.m[8], i, fmaf(map.m[9], j, fmaf(map.m[10], k, map.m[11])));
        weight = edge_ramp(ax, moving.shape.x, moving.per_edge.x) * edge_ramp(ay, moving.shape.y, moving.per_edge.y) *
                 edge_ramp(az, moving.shape.z, moving.per_edge.z);
        if (!(weight > 0.f)) return;
        x = cell(ax, moving.shape.x, tx);
        y = cell(ay, moving.shape.y, ty);
        z = cell(az, moving.shape.z, tz);
        if (own_weight) weight *= *own_weight;
        if (moving.weighted) weight *= value(moving.weight);
    }

    __device__ __forceinline__ float at(cudaTextureObject_t texture, int a, int b, int c) const
    {
        return tex3D<float>(texture, x + (a + 0.5f), y + (b + 0.5f), z + (c + 0.5f));
    }

    // Trilinear: along y, then z, then x.
    __device__ __forceinline__ float value(cudaTextureObject_t texture) const
    {
        const float left = lerp(lerp(at(texture, 0, 0, 0), at(texture, 0, 1, 0), ty),
                                lerp(at(texture, 0, 0, 1), at(texture, 0, 1, 1), ty), tz);
        const float right = lerp(lerp(at(texture, 1, 0, 0), at(texture, 1, 1, 0), ty),
                                 lerp(at(texture, 1, 0, 1), at(texture, 1, 1, 1), ty), tz);
        return lerp(left, right, tx);
    }
};
