// The input of a histogram: the bin of each fixed voxel, and its moving value, which is sampled from the moving image
// through a map or given directly.
#pragma once
#include "grid.cuh"

// Where the moving value of a fixed voxel comes from: given directly, interpolated in single precision, or interpolated
// by the texture unit's filter.
#define GIVEN 0
#define EXACT 1
#define FILTERED 2

// The input of a histogram algorithm: the bins of the fixed image, the moving image, and the affine map between their
// voxels. The layout is that of Operands in src/schemes/pair.rs.
struct Pair {
    // Bin of each fixed voxel; x varies fastest.
    const unsigned short *fixed;
    // The voxels of the moving image or, if `source` is GIVEN, one moving value for each fixed voxel.
    const float *moving;
    cudaTextureObject_t texture;
    int source;
    Size shape, moving_shape;
    // At the edge of the moving image is a zone (the ramp) in which weights rise from 0 to 1. For each axis, 1 / width
    // of this zone, in 1 / voxels; infinite if there is no such zone.
    Vector per_edge;
    // A moving value has the bin ⌊(value − low)·scale⌋, clamped to 0 … bins − 1.
    float low, scale;
    int bins;
    Map map;
};

struct Sample {
    // Weight of the voxel, 0 to 1; 0 if the voxel is mapped to a point outside the moving image.
    float weight, value;
};

__device__ __forceinline__ float ramp(const Pair &pair, Vector at)
{
    return ramp(at, pair.moving_shape, pair.per_edge);
}

__device__ __forceinline__ Vector mapped(const Pair &pair, float i, float j, float k)
{
    return mapped(pair.map, {i, j, k});
}

// The interpolated value of the moving image at a point inside this image, in moving voxels.
__device__ __forceinline__ float value_at(const Pair &pair, Vector at)
{
    return pair.source == FILTERED ? tex3D<float>(pair.texture, at.x + 0.5f, at.y + 0.5f, at.z + 0.5f)
                                   : Cell(at, pair.moving_shape).read(pair.moving);
}

// The moving value at a point whose eight surrounding voxels are all in the moving image.
template <int SOURCE> __device__ __forceinline__ float value_inside(const Pair &pair, Vector at)
{
    return SOURCE == FILTERED ? tex3D<float>(pair.texture, at.x + 0.5f, at.y + 0.5f, at.z + 0.5f)
                              : read_inside(pair.moving, pair.moving_shape, at);
}

// The moving value and the weight of the fixed voxel with this index.
__device__ __forceinline__ Sample sample(const Pair &pair, unsigned int voxel)
{
    if (pair.source == GIVEN) return {1.f, pair.moving[voxel]};
    const Vector at = mapped(pair.map, index_of(voxel, pair.shape));
    const float weight = ramp(pair, at);
    return {weight, weight > 0.f ? value_at(pair, at) : 0.f};
}

__device__ __forceinline__ int bin_of(const Pair &pair, float value)
{
    return (int)fminf(fmaxf((value - pair.low) * pair.scale, 0.f), (float)(pair.bins - 1));
}

// Index of a voxel's counter in the joint histogram, which has one row for each fixed bin; −1 for a voxel with weight
// 0, which is not counted.
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

// Adds up Σw, Σw·y and Σw·y² over the fixed voxels of each bin, where y is a voxel's moving value and w its weight.
// Threads add by atomics, because they share the sums.
template <typename T> __device__ __forceinline__ void add_all(const Pair &pair, int bins, T *sums)
{
    const unsigned int count = voxel_count(pair), step = threads_of_grid();
    for (unsigned int voxel = thread_of_grid(); voxel < count; voxel += step) {
        const Sample moving = sample(pair, voxel);
        if (!(moving.weight > 0.f)) continue;
        const int bin = pair.fixed[voxel];
        atomicAdd(sums + bin, (T)moving.weight);
        // Moving values of 0 are skipped as in Li 2015, because most of the background is 0. The paper also skips
        // negative values, which are added here.
        if (moving.value != 0.f) {
            atomicAdd(sums + bins + bin, (T)(moving.weight * moving.value));
            atomicAdd(sums + 2 * bins + bin, (T)(moving.weight * moving.value * moving.value));
        }
    }
}
