// How volumes and fields lie in memory, and how they are read between voxel centres.
//
// Compiled with -fmad=false: the arithmetic is that of the CPU, operation by operation. Where a product may be fused
// with a sum, the code says fmaf.
#pragma once

#define READ __restrict__

struct Shape {
    int x, y, z;
};

// A map between voxel indices, row-major 3×4.
struct Affine {
    double m[12];
};

struct Vector {
    float x, y, z;
};

__device__ __forceinline__ size_t voxels(Shape shape)
{
    return (size_t)shape.x * shape.y * shape.z;
}

// Distance between the three planes of a field; the host allocates with the same rule (src/cuda/field.rs). At least one
// float behind each plane is zero: a cell's right neighbours may be read without asking whether there are any.
__device__ __forceinline__ size_t plane(Shape shape)
{
    return (voxels(shape) + 64) / 64 * 64;
}

// Kernels that read at scattered places wait for memory: as many threads as fit share a multiprocessor.
#define SCATTERED __launch_bounds__(256, 8)

// One thread a voxel, one warp a piece of a row; the host chooses how many rows and slices a block takes.
struct Voxel {
    int x, y, z;
};

__device__ __forceinline__ Voxel voxel()
{
    return {(int)(blockIdx.x * 32 + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y),
            (int)(blockIdx.z * blockDim.z + threadIdx.z)};
}

__device__ __forceinline__ bool within(Voxel v, Shape shape)
{
    return v.x < shape.x && v.y < shape.y && v.z < shape.z;
}

__device__ __forceinline__ size_t offset(Voxel v, Shape shape)
{
    return ((size_t)v.z * shape.y + v.y) * shape.x + v.x;
}

__device__ __forceinline__ bool on_edge(int i, int n)
{
    return n > 1 && (i == 0 || i == n - 1);
}

__device__ __forceinline__ bool on_edge(Voxel v, Shape shape)
{
    return on_edge(v.x, shape.x) || on_edge(v.y, shape.y) || on_edge(v.z, shape.z);
}

__device__ __forceinline__ Vector load(const float *READ field, size_t stride, size_t at)
{
    return {field[at], field[stride + at], field[2 * stride + at]};
}

__device__ __forceinline__ void store(float *field, size_t stride, size_t at, Vector v)
{
    field[at] = v.x;
    field[stride + at] = v.y;
    field[2 * stride + at] = v.z;
}

// The image of voxel (x, y, z): a row starts in double precision and is walked in single precision, as on the CPU. The
// whole warp must call this with one y and z: lanes 0 to 2 compute the start for all.
__device__ __forceinline__ Vector along_row(const Affine &map, int x, int y, int z)
{
    const int lane = threadIdx.x;
    float start = 0.f;
    if (lane < 3) {
        // Picked one by one: an index that depends on the lane would move the map to local memory.
        const double a = lane == 0 ? map.m[1] : lane == 1 ? map.m[5] : map.m[9];
        const double b = lane == 0 ? map.m[2] : lane == 1 ? map.m[6] : map.m[10];
        const double c = lane == 0 ? map.m[3] : lane == 1 ? map.m[7] : map.m[11];
        start = (float)(a * (double)y + b * (double)z + c);
    }
    const float i = (float)x;
    return {__shfl_sync(0xffffffffu, start, 0) + i * (float)map.m[0],
            __shfl_sync(0xffffffffu, start, 1) + i * (float)map.m[4],
            __shfl_sync(0xffffffffu, start, 2) + i * (float)map.m[8]};
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

    __device__ __forceinline__ Vector read(const float *READ field, size_t stride) const
    {
        return {read(field), read(field + stride), read(field + 2 * stride)};
    }
};

// A field between voxel centres: trilinear, clamped to the edge.
__device__ __forceinline__ Vector sample(const float *READ field, Shape shape, Vector point)
{
    return Cell(point, shape).read(field, plane(shape));
}

// Whether a point is within half a voxel of the volume.
__device__ __forceinline__ bool contains(Shape shape, Vector p)
{
    return p.x >= -0.5f && p.x <= (float)(shape.x - 1) + 0.5f && p.y >= -0.5f && p.y <= (float)(shape.y - 1) + 0.5f &&
           p.z >= -0.5f && p.z <= (float)(shape.z - 1) + 0.5f;
}

__device__ __forceinline__ float linear(const float *READ image, Shape shape, Vector point, float outside)
{
    return contains(shape, point) ? Cell(point, shape).read(image) : outside;
}

__device__ __forceinline__ int nearest_index(float at, int n)
{
    return (int)fminf(fmaxf(at + 0.5f, 0.f), (float)(n - 1));
}

// The nearest voxel; ties go up.
__device__ __forceinline__ float nearest(const float *READ image, Shape shape, Vector point, float outside)
{
    if (!contains(shape, point)) return outside;
    const int i = nearest_index(point.x, shape.x), j = nearest_index(point.y, shape.y),
              k = nearest_index(point.z, shape.z);
    return image[((size_t)k * shape.y + j) * shape.x + i];
}
