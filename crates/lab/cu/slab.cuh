// The fixed volume divided into slabs. A slab has as many successive voxels of a slice as a thread block has threads,
// and is SLAB slices deep. So memory lines of the fixed image are read as a whole, and few rows of the moving image
// are read. Every thread has SLAB reads in progress at the same time.
#pragma once
#include "pair.cuh"

#define SLAB 4

__device__ __forceinline__ unsigned int slab_chunks(const Pair &pair)
{
    return ((unsigned int)(pair.shape.x * pair.shape.y) + blockDim.x - 1) / blockDim.x;
}

__device__ __forceinline__ unsigned int slab_count(const Pair &pair)
{
    return slab_chunks(pair) * (unsigned int)((pair.shape.z + SLAB - 1) / SLAB);
}

// Whether a coordinate along one axis of n moving voxels is so far inside the moving image that its weight is 1 and
// both neighbouring voxels used for interpolation exist. 1 / per_edge is the width of the zone at the image border in
// which weights rise from 0 to 1.
__device__ __forceinline__ bool deep(float at, int n, float per_edge)
{
    // The constant 0.01 voxel allows for rounding. Only the first and last slice of a slab (SLAB slices) are tested;
    // the coordinates between them are rounded separately.
    const float edge = (per_edge < 1e6f ? 1.f / per_edge : 0.f) + 0.01f;
    return at > edge && at < (float)(n - 1) - edge;
}

__device__ __forceinline__ bool deep(const Pair &pair, Vector at)
{
    return deep(at.x, pair.moving_shape.x, pair.per_edge.x) && deep(at.y, pair.moving_shape.y, pair.per_edge.y) &&
           deep(at.z, pair.moving_shape.z, pair.per_edge.z);
}

// Calls use(fixed bin, moving value, weight) for each voxel with positive weight of a slab (a part of SLAB slices).
template <int SOURCE, typename Use>
__device__ __forceinline__ void over_slab(const Pair &pair, unsigned int index, Use use)
{
    const unsigned int chunks = slab_chunks(pair), slice = pair.shape.x * pair.shape.y;
    const unsigned int layer = index / chunks, place = (index - layer * chunks) * blockDim.x + threadIdx.x;
    if (place >= slice) return;
    const int z = layer * SLAB, count = min(SLAB, pair.shape.z - z);
    const unsigned int voxel = z * slice + place;
    int bins[SLAB];
    float values[SLAB];
#pragma unroll
    for (int n = 0; n < SLAB; ++n) bins[n] = n < count ? pair.fixed[voxel + n * slice] : 0;
    if (SOURCE == GIVEN) {
#pragma unroll
        for (int n = 0; n < SLAB; ++n) values[n] = n < count ? __ldg(pair.moving + voxel + n * slice) : 0.f;
#pragma unroll
        for (int n = 0; n < SLAB; ++n)
            if (n < count) use(bins[n], values[n], 1.f);
        return;
    }
    const unsigned int y = place / pair.shape.x;
    const float i = (float)(place - y * pair.shape.x), j = (float)y;
    if (deep(pair, mapped(pair, i, j, (float)z)) && deep(pair, mapped(pair, i, j, (float)(z + count - 1)))) {
#pragma unroll
        for (int n = 0; n < SLAB; ++n) {
            // The last slab of a volume may have fewer than SLAB slices. Then its last slice is read again in place of
            // the missing slices, and these values are not used.
            const Vector at = mapped(pair, i, j, (float)(z + min(n, count - 1)));
            values[n] = value_inside<SOURCE>(pair, at);
        }
#pragma unroll
        for (int n = 0; n < SLAB; ++n)
            if (n < count) use(bins[n], values[n], 1.f);
    } else {
#pragma unroll 1
        for (int n = 0; n < count; ++n) {
            const Vector at = mapped(pair, i, j, (float)(z + n));
            const float weight = ramp(pair, at);
            if (weight > 0.f) use((int)pair.fixed[voxel + n * slice], value_at(pair, at), weight);
        }
    }
}
