// Two kernels of Gaussian smoothing besides smooth.cuh: blending of a smoothed with the original volume, and smoothing
// along a single axis by wider kernels.
#include "smooth.cuh"

// Blends smoothed volumes with the original ones, voxel by voxel: out ← share·out + (1 − share)·before. `out` contains
// the smoothed volumes, such as the three components of a field, and `before` the original ones. Border voxels stay as
// they are if `clear` is set. The thread blocks of the volumes follow each other along z.
extern "C" __global__ void blend(const float *READ before, float *out, Shape shape, float share, int clear)
{
    const int slabs = (shape.z + blockDim.z - 1) / blockDim.z;
    const Voxel v = voxel(blockIdx.z % slabs);
    if (!within(v, shape) || (clear && on_edge(v, shape))) return;
    const size_t at = (size_t)(blockIdx.z / slabs) * plane(shape) + offset(v, shape);
    out[at] = share * out[at] + (1.f - share) * before[at];
}

// Smooths volumes, such as the three components of a field, along one axis with a Gaussian kernel of any radius. It
// serves for kernels wider than those of smooth.cuh. Each thread processes one voxel. The thread blocks of the volumes
// follow each other along z.
extern "C" __global__ void smooth_axis(const float *READ in, float *out, Shape shape, Weights weights, int axis,
                                       int radius, int clear)
{
    const int slabs = (shape.z + blockDim.z - 1) / blockDim.z;
    const Voxel v = voxel(blockIdx.z % slabs);
    if (!within(v, shape)) return;
    const size_t base = (size_t)(blockIdx.z / slabs) * plane(shape), at = base + offset(v, shape);
    const int index = axis == 0 ? v.x : axis == 1 ? v.y : v.z, n = axis == 0 ? shape.x : axis == 1 ? shape.y : shape.z;
    const size_t step = axis == 0 ? 1 : axis == 1 ? shape.x : (size_t)shape.x * shape.y;
    const float *w = axis == 0 ? weights.x : axis == 1 ? weights.y : weights.z;
    const float *below = in + at, *above = in + at;
    float sum = w[0] * *below;
#pragma unroll 4
    for (int k = 1; k <= radius; ++k) {
        if (index - k >= 0) below -= step;
        if (index + k < n) above += step;
        sum = fmaf(w[k], __ldg(below) + __ldg(above), sum);
    }
    out[at] = clear && on_edge(v, shape) ? 0.f : sum;
}
