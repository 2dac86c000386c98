// Points in volumes: their positions under maps, their weights near the border, and interpolation between the voxels
// around them.
#pragma once

#define READ __restrict__

struct Vector {
    float x, y, z;
};

// Three numbers, one for each axis: of the voxels of a volume, of its bricks (blocks of voxels) or of its cells.
struct Size {
    int x, y, z;
};

// An affine map from fixed to moving voxel indices: a 3×4 matrix, row by row.
struct Map {
    float m[12];
};

// The indices (x, y, z) of the voxel with this number in memory; x varies fastest.
template <typename Extent> __device__ __forceinline__ Vector index_of(unsigned int voxel, const Extent &shape)
{
    const unsigned int row = voxel / shape.x;
    return {(float)(voxel - row * shape.x), (float)(row % shape.y), (float)(row / shape.y)};
}

// The position of a voxel under a map, computed as in src/cpu/similarity/samples.rs.
__device__ __forceinline__ Vector mapped(const Map &map, Vector at)
{
    const float *m = map.m;
    return {fmaf(m[0], at.x, fmaf(m[1], at.y, fmaf(m[2], at.z, m[3]))),
            fmaf(m[4], at.x, fmaf(m[5], at.y, fmaf(m[6], at.z, m[7]))),
            fmaf(m[8], at.x, fmaf(m[9], at.y, fmaf(m[10], at.z, m[11])))};
}

// Weight of a coordinate near the border of the volume: the distance of the coordinate from the border divided by the
// width of the ramp, at most 1; 0 outside. The ramp is the band at the border in which weights rise from 0 to 1.
__device__ __forceinline__ float ramp(float at, int n, float per_edge)
{
    const float distance = fminf(at, (float)(n - 1) - at);
    // The weight of a NaN coordinate is 0. If the width of the ramp is 0, `per_edge` is infinite. Then, for a
    // coordinate exactly on the border, distance · per_edge is 0·∞ = NaN, and fminf returns 1.
    return distance >= 0.f ? fminf(distance * per_edge, 1.f) : 0.f;
}

// The weight of a point near the border: the product of the weights of its coordinates. Along each axis the weight
// rises from 0 at the border to 1 at a distance of 1/`per_edge` voxels.
template <typename Extent> __device__ __forceinline__ float ramp(Vector at, const Extent &shape, Vector per_edge)
{
    return ramp(at.x, shape.x, per_edge.x) * ramp(at.y, shape.y, per_edge.y) * ramp(at.z, shape.z, per_edge.z);
}

__device__ __forceinline__ float lerp(float a, float b, float t)
{
    return a + t * (b - a);
}

// Trilinear interpolation between the eight voxels around a point. If the volume has only one voxel along y or z, both
// corners along that axis are this voxel. If it has only one voxel along x, the right corner is the next value in
// memory, with weight zero.
struct Trilinear {
    // Byte offsets in memory of the cell's corners with the lower x, for each choice of y and z.
    unsigned int c00, c10, c01, c11;
    // Position of the point between the eight voxels around it, along each axis, 0…1.
    float tx, ty, tz;

    // Interpolates along x between the voxel at a byte offset and the next voxel.
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

// Trilinear interpolation with fewer operations than the structure Trilinear has, and slightly different rounding. Of
// the eight voxels around a point, (i, j, k) has the lowest indices; all eight must be in the volume.
__device__ __forceinline__ float read_inside(const float *READ image, const Size &shape, int i, int j, int k, float tx,
                                             float ty, float tz)
{
    const float *r00 = image + ((k * shape.y + j) * shape.x + i), *r10 = r00 + shape.x;
    const float *r01 = r00 + shape.x * shape.y, *r11 = r01 + shape.x;
    const float a = __ldg(r00), b = __ldg(r10), c = __ldg(r01), d = __ldg(r11);
    const float c00 = fmaf(tx, __ldg(r00 + 1) - a, a), c10 = fmaf(tx, __ldg(r10 + 1) - b, b);
    const float c01 = fmaf(tx, __ldg(r01 + 1) - c, c), c11 = fmaf(tx, __ldg(r11 + 1) - d, d);
    const float low = fmaf(ty, c10 - c00, c00), high = fmaf(ty, c11 - c01, c01);
    return fmaf(tz, high - low, low);
}

// Trilinear interpolation at a point whose eight surrounding voxels are all in the volume.
__device__ __forceinline__ float read_inside(const float *READ image, const Size &shape, Vector at)
{
    const int i = (int)at.x, j = (int)at.y, k = (int)at.z;
    return read_inside(image, shape, i, j, k, at.x - (float)i, at.y - (float)j, at.z - (float)k);
}
