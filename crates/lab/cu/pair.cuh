// The input of a histogram: the bin of each fixed voxel, and a moving value that is sampled through a map or given.
#pragma once
#include "grid.cuh"

// The source of the moving value of a fixed voxel.
#define GIVEN 0
#define EXACT 1
#define FILTERED 2

// The operands, laid out as Operands of src/schemes/pair.rs.
struct Pair {
    // Bin of each fixed voxel; x varies fastest.
    const unsigned short *fixed;
    // The moving image, or one given moving value for each fixed voxel.
    const float *moving;
    cudaTextureObject_t texture;
    int source;
    Size shape, moving_shape;
    // 1 / width of the ramp at the moving image's edge, per axis; infinite: none.
    Vector per_edge;
    // The bin of a moving value is ⌊(value − low)·scale⌋, clamped.
    float low, scale;
    int bins;
    Map map;
};

struct Sample {
    // Weight of the voxel; 0 if the voxel does not count.
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

// The moving value at a point inside the image.
__device__ __forceinline__ float value_at(const Pair &pair, Vector at)
{
    return pair.source == FILTERED ? tex3D<float>(pair.texture, at.x + 0.5f, at.y + 0.5f, at.z + 0.5f)
                                   : Cell(at, pair.moving_shape).read(pair.moving);
}

// The moving value at a point whose eight surrounding voxels are known to exist.
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

// Adds Σw, Σw·y and Σw·y² of all voxels, each over the bins, to sums that other threads add to as well.
template <typename T> __device__ __forceinline__ void add_all(const Pair &pair, int bins, T *sums)
{
    const unsigned int count = voxel_count(pair), step = threads_of_grid();
    for (unsigned int voxel = thread_of_grid(); voxel < count; voxel += step) {
        const Sample moving = sample(pair, voxel);
        if (!(moving.weight > 0.f)) continue;
        const int bin = pair.fixed[voxel];
        atomicAdd(sums + bin, (T)moving.weight);
        // As printed in the paper, except for negative values: most of the background is 0.
        if (moving.value != 0.f) {
            atomicAdd(sums + bins + bin, (T)(moving.weight * moving.value));
            atomicAdd(sums + 2 * bins + bin, (T)(moving.weight * moving.value * moving.value));
        }
    }
}
