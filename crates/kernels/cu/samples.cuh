// Samples of the moving image at mapped fixed voxels. The arithmetic is that of src/cpu/similarity/samples.rs, operation by
// operation.
#pragma once
#include "volume.cuh"

struct Moving {
    cudaTextureObject_t image, weight;
    int weighted;
    Shape shape;
    // 1 / width of the ramp along each axis; width in voxels. The ramp is the band at the border of the moving image in
    // which weights rise from 0 to 1.
    Vector per_edge;
};

struct Segment {
    unsigned int start, end;
};

// Along one axis: the low corner of the cell around a coordinate, which is clamped to the image first, and the position
// of the coordinate within the cell (0 … 1).
__device__ __forceinline__ float cell(float at, int n, float &within)
{
    const float clamped = fminf(fmaxf(at, 0.f), (float)(n - 1)), low = fminf(floorf(clamped), (float)(n - 2));
    within = clamped - low;
    return low;
}

// The position of a fixed voxel in the moving image, and the weight of the voxel.
struct Sample {
    float weight;
    // Around the position in the moving image: the voxel with the lowest indices, and the distance from it (0 … 1).
    float x, y, z, tx, ty, tz;

    __device__ __forceinline__ Sample(const Map &map, const Moving &moving, unsigned int voxel, Shape fixed,
                                      const float *own_weight)
    {
        const Vector at = mapped(map, index_of(voxel, fixed));
        weight = ramp(at, moving.shape, moving.per_edge);
        if (!(weight > 0.f)) return;
        x = cell(at.x, moving.shape.x, tx);
        y = cell(at.y, moving.shape.y, ty);
        z = cell(at.z, moving.shape.z, tz);
        if (own_weight) weight *= *own_weight;
        if (moving.weighted) weight *= value(moving.weight);
    }

    __device__ __forceinline__ float at(cudaTextureObject_t texture, int a, int b, int c) const
    {
        return tex3D<float>(texture, x + (a + 0.5f), y + (b + 0.5f), z + (c + 0.5f));
    }

    // Trilinear interpolation along y, then z, then x.
    __device__ __forceinline__ float value(cudaTextureObject_t texture) const
    {
        const float left = lerp(lerp(at(texture, 0, 0, 0), at(texture, 0, 1, 0), ty),
                                lerp(at(texture, 0, 0, 1), at(texture, 0, 1, 1), ty), tz);
        const float right = lerp(lerp(at(texture, 1, 0, 0), at(texture, 1, 1, 0), ty),
                                 lerp(at(texture, 1, 0, 1), at(texture, 1, 1, 1), ty), tz);
        return lerp(left, right, tx);
    }
};
