// How volumes and fields lie in memory, and how they are read between voxel centres.
//
// Compiled with -fmad=false: the arithmetic is that of the CPU, operation by operation. Where a product may be fused
// with a sum, the code says fmaf.
#pragma once

#include "points.cuh"

// Numbers of voxels along each axis, and numbers derived from them. The host fills this structure in
// (src/cuda/launch.rs).
struct Shape {
    int x, y, z;
    // Index of the last voxel along each axis, and of the last voxel that has a right neighbour.
    Vector last, last_cell;
    // Number of bytes of a row and of a slice; distances to the neighbours along y and z, 0 along an axis of one
    // voxel.
    unsigned int row, slice, step_y, step_z;
    // Byte offset that `locate` returns for the voxel (0, 0, 0).
    unsigned int origin;
    // Floats from one plane of a field to the next. At least one behind each plane is zero: a cell's right neighbours
    // may be read without asking whether there are any.
    unsigned long long plane;
};

// A map between voxel indices, row-major 3×4, in double and in single precision.
struct Affine {
    double m[12];
    float f[12];
};

__device__ __forceinline__ size_t voxels(const Shape &shape)
{
    return (size_t)shape.x * shape.y * shape.z;
}

__device__ __forceinline__ size_t plane(const Shape &shape)
{
    return shape.plane;
}

// Kernels that read at scattered places wait for memory: as many threads as fit share a multiprocessor.
#define SCATTERED __launch_bounds__(256, 8)

// Each thread processes one voxel and each warp a piece of a row; the host chooses the number of rows and slices of a
// block.
struct Voxel {
    int x, y, z;
};

// The voxel of this thread in this block, or in the block with another number along z.
__device__ __forceinline__ Voxel voxel(unsigned int z_block = blockIdx.z)
{
    return {(int)(blockIdx.x * 32 + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y),
            (int)(z_block * blockDim.z + threadIdx.z)};
}

// One or two operands of the same shape that are processed alike: the blocks of the second operand follow those of
// the first along z.
template <typename T> struct Sides {
    T first, second;

    __device__ __forceinline__ T of(int side) const
    {
        return side ? second : first;
    }
};

// The side that this block processes. `sides` is the number of sides.
__device__ __forceinline__ int side_of_block(int sides)
{
    return sides > 1 && blockIdx.z >= gridDim.z / 2;
}

// This block's number along z on its side.
__device__ __forceinline__ unsigned int z_block(int side)
{
    return blockIdx.z - (side ? gridDim.z / 2 : 0);
}

__device__ __forceinline__ bool within(Voxel v, const Shape &shape)
{
    return v.x < shape.x && v.y < shape.y && v.z < shape.z;
}

// The number of bytes of a plane fits into 32 bits.
__device__ __forceinline__ size_t offset(Voxel v, const Shape &shape)
{
    return (unsigned int)((v.z * shape.y + v.y) * shape.x + v.x);
}

// Voxels of a brick along each axis, as src/cuda/bins.rs, src/cuda/moments.rs and src/relax.rs have it.
#define BRICK 8

// The voxel at a position in the order of bricks: voxels near each other in it are near each other in the volume. It may
// be outside.
__device__ __forceinline__ Voxel in_bricks(unsigned int position, const Shape &shape)
{
    const unsigned int brick = position / (BRICK * BRICK * BRICK), local = position % (BRICK * BRICK * BRICK);
    const unsigned int columns = (shape.x + BRICK - 1) / BRICK, rows = (shape.y + BRICK - 1) / BRICK;
    return {(int)(brick % columns * BRICK + local % BRICK), (int)(brick / columns % rows * BRICK + local / BRICK % BRICK),
            (int)(brick / columns / rows * BRICK + local / (BRICK * BRICK))};
}

// Whether a voxel is inside the mask; true without a mask.
__device__ __forceinline__ bool counts(const float *READ mask, size_t at)
{
    return !mask || mask[at] > 0.5f;
}

__device__ __forceinline__ bool on_edge(int i, int n)
{
    return n > 1 && (i == 0 || i == n - 1);
}

__device__ __forceinline__ bool on_edge(Voxel v, const Shape &shape)
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

__device__ __forceinline__ float dot(Vector a, Vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__device__ __forceinline__ Vector cross(Vector a, Vector b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

__device__ __forceinline__ float squared(Vector v)
{
    return dot(v, v);
}

// The product with the matrix of these rows, in the order of sums that the host has.
__device__ __forceinline__ Vector times(Vector x, Vector y, Vector z, Vector v)
{
    return {dot(x, v), dot(y, v), dot(z, v)};
}

// A row starts in double precision and is walked in single precision, as on the CPU. The whole warp must call this with
// one y and z: lane 3n + axis gets that coordinate of the image of (0, y, z + n).
template <int ROWS> __device__ __forceinline__ float starts_of_rows(const Affine &map, int y, int z)
{
    const int lane = threadIdx.x, axis = lane % 3;
    if (lane >= 3 * ROWS) return 0.f;
    // The values are selected one by one: an index that depends on the lane would move the map to local memory.
    const double a = axis == 0 ? map.m[1] : axis == 1 ? map.m[5] : map.m[9];
    const double b = axis == 0 ? map.m[2] : axis == 1 ? map.m[6] : map.m[10];
    const double c = axis == 0 ? map.m[3] : axis == 1 ? map.m[7] : map.m[11];
    return (float)(a * (double)y + b * (double)(z + lane / 3) + c);
}

// The start of row n, for the whole warp.
__device__ __forceinline__ Vector start_of_row(float starts, int n)
{
    return {__shfl_sync(0xffffffffu, starts, 3 * n), __shfl_sync(0xffffffffu, starts, 3 * n + 1),
            __shfl_sync(0xffffffffu, starts, 3 * n + 2)};
}

// The image of voxel (x, y, z). The whole warp must call this with one y and z.
__device__ __forceinline__ Vector along_row(const Affine &map, int x, int y, int z)
{
    const Vector start = start_of_row(starts_of_rows<1>(map, y, z), 0);
    const float i = (float)x;
    return {start.x + i * map.f[0], start.y + i * map.f[4], start.z + i * map.f[8]};
}

// The image of a voxel under a displacement.
__device__ __forceinline__ Vector moved(Voxel at, Vector u)
{
    return {(float)at.x + u.x, (float)at.y + u.y, (float)at.z + u.z};
}

// The image of a mapped point under a displacement that is multiplied by the map's matrix.
__device__ __forceinline__ Vector moved(const Vector &point, const Affine &map, const Vector &u)
{
    const float *m = map.f;
    return {point.x + (m[0] * u.x + m[1] * u.y + m[2] * u.z), point.y + (m[4] * u.x + m[5] * u.y + m[6] * u.z),
            point.z + (m[8] * u.x + m[9] * u.y + m[10] * u.z)};
}

// Low corner and position within the cell (0…1) of a coordinate clamped to the volume. The corner comes as the bits of
// 2²³ + itself: adding 2²³ downwards is floor, and faster than converting to an integer and back.
__device__ __forceinline__ unsigned int locate(float at, float last, float last_cell, float &within)
{
    const float clamped = fminf(fmaxf(at, 0.f), last), low = __fadd_rd(fminf(clamped, last_cell), 8388608.f);
    within = clamped - (low - 8388608.f);
    return __float_as_uint(low);
}

// The eight voxels around a point, clamped to the volume.
struct Cell : Trilinear {
    __device__ __forceinline__ Cell(Vector point, const Shape &shape)
    {
        const unsigned int i = locate(point.x, shape.last.x, shape.last_cell.x, tx);
        const unsigned int j = locate(point.y, shape.last.y, shape.last_cell.y, ty);
        const unsigned int k = locate(point.z, shape.last.z, shape.last_cell.z, tz);
        c00 = k * shape.slice + (j * shape.row + (4 * i - shape.origin));
        c10 = c00 + shape.step_y;
        c01 = c00 + shape.step_z;
        c11 = c10 + shape.step_z;
    }
};

// The four corners of a cell in one slice.
struct Corners {
    float a, b, c, d;

    // Interpolates between the corners along x and y.
    __device__ __forceinline__ float at(const Cell &cell) const
    {
        return lerp(lerp(a, b, cell.tx), lerp(c, d, cell.tx), cell.ty);
    }
};

__device__ __forceinline__ Corners corners(const float *READ values, unsigned int low, unsigned int high)
{
    const float *left = (const float *)((const char *)values + low), *right = (const float *)((const char *)values + high);
    return {__ldg(left), __ldg(left + 1), __ldg(right), __ldg(right + 1)};
}

// Interpolates a field between voxel centres: trilinear, clamped to the edge.
__device__ __forceinline__ Vector sample(const float *READ field, const Shape &shape, Vector point)
{
    const Cell cell(point, shape);
    const size_t stride = plane(shape);
    return {cell.read(field), cell.read(field + stride), cell.read(field + 2 * stride)};
}

// Whether a point is within half a voxel of the volume.
__device__ __forceinline__ bool contains(const Shape &shape, Vector p)
{
    return p.x >= -0.5f && p.x <= shape.last.x + 0.5f && p.y >= -0.5f && p.y <= shape.last.y + 0.5f && p.z >= -0.5f &&
           p.z <= shape.last.z + 0.5f;
}

__device__ __forceinline__ float linear(const float *READ image, const Shape &shape, Vector point, float outside)
{
    return contains(shape, point) ? Cell(point, shape).read(image) : outside;
}

__device__ __forceinline__ int nearest_index(float at, int n)
{
    return (int)fminf(fmaxf(at + 0.5f, 0.f), (float)(n - 1));
}

// The nearest voxel; ties are rounded up.
__device__ __forceinline__ float nearest(const float *READ image, const Shape &shape, Vector point, float outside)
{
    if (!contains(shape, point)) return outside;
    const int i = nearest_index(point.x, shape.x), j = nearest_index(point.y, shape.y),
              k = nearest_index(point.z, shape.z);
    return image[offset({i, j, k}, shape)];
}
