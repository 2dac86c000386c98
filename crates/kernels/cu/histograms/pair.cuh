// What is histogrammed: the bin of each fixed voxel against a moving value, sampled through a map or given as it is.
#pragma once
#include "grid.cuh"

#define EVERY_LANE 0xffffffffu

// Where the moving value of a fixed voxel comes from.
#define GIVEN 0
#define EXACT 1
#define FILTERED 2

// As Operands of src/cuda/histograms/pair.rs.
struct Pair {
    // Bin of each fixed voxel, x fastest.
    const unsigned short *fixed;
    // The moving image; where values are given, one for each fixed voxel.
    const float *moving;
    cudaTextureObject_t texture;
    int source;
    Shape shape, moving_shape;
    // 1 / width of the ramp at the moving image's edge, per axis; infinite: none.
    Vector per_edge;
    // The bin of a moving value is ⌊(value − low)·scale⌋, clamped.
    float low, scale;
    int bins;
    // Fixed to moving voxel indices, row-major 3×4.
    float m[12];
};

struct Sample {
    // 0: the voxel does not count.
    float weight, value;
};

// Distance from the border in widths of the ramp, clamped to 0…1; 0 outside.
__device__ __forceinline__ float ramp(float at, int n, float per_edge)
{
    const float distance = fminf(at, (float)(n - 1) - at);
    // NaN goes to 0 as well; 0·∞, on the border without a ramp, to 1.
    return distance >= 0.f ? fminf(distance * per_edge, 1.f) : 0.f;
}

__device__ __forceinline__ float ramp(const Pair &pair, Vector at)
{
    return ramp(at.x, pair.moving_shape.x, pair.per_edge.x) * ramp(at.y, pair.moving_shape.y, pair.per_edge.y) *
           ramp(at.z, pair.moving_shape.z, pair.per_edge.z);
}

__device__ __forceinline__ Vector map(const Pair &pair, float i, float j, float k)
{
    const float *m = pair.m;
    return {fmaf(m[0], i, fmaf(m[1], j, fmaf(m[2], k, m[3]))), fmaf(m[4], i, fmaf(m[5], j, fmaf(m[6], k, m[7]))),
            fmaf(m[8], i, fmaf(m[9], j, fmaf(m[10], k, m[11])))};
}

// The moving value at a place inside.
__device__ __forceinline__ float value_at(const Pair &pair, Vector at)
{
    return pair.source == FILTERED ? tex3D<float>((cudaTextureObject_t)pair.texture, at.x + 0.5f, at.y + 0.5f, at.z + 0.5f)
                                   : Cell(at, pair.moving_shape).read(pair.moving);
}

// Of the fixed voxel with this index.
__device__ __forceinline__ Sample sample(const Pair &pair, unsigned int voxel)
{
    if (pair.source == GIVEN) return {1.f, pair.moving[voxel]};
    const unsigned int row = voxel / pair.shape.x;
    const float i = (float)(voxel - row * pair.shape.x), j = (float)(row % pair.shape.y), k = (float)(row / pair.shape.y);
    const Vector at = map(pair, i, j, k);
    const float weight = ramp(pair, at);
    return {weight, weight > 0.f ? value_at(pair, at) : 0.f};
}

__device__ __forceinline__ int bin_of(const Pair &pair, float value)
{
    return (int)fminf(fmaxf((value - pair.low) * pair.scale, 0.f), (float)(pair.bins - 1));
}

// Place in the joint histogram, row by row of fixed bins; negative: the voxel does not count.
__device__ __forceinline__ int joint_bin(const Pair &pair, unsigned int voxel)
{
    const Sample moving = sample(pair, voxel);
    return moving.weight > 0.f ? pair.fixed[voxel] * pair.bins + bin_of(pair, moving.value) : -1;
}

__device__ __forceinline__ unsigned int voxel_count(const Pair &pair)
{
    return (unsigned int)voxels(pair.shape);
}

__device__ __forceinline__ unsigned int thread_of_grid()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ unsigned int threads_of_grid()
{
    return gridDim.x * blockDim.x;
}
