// Memory layout of volumes and displacement fields, and interpolation between voxel centres.
//
// The kernels are compiled with -fmad=false: their arithmetic is that of the CPU, operation by operation. Where a
// product may be fused with a sum, the code says fmaf.
#pragma once

#include "points.cuh"

// Number of voxels along each axis, and numbers derived from it. The host fills in this structure (src/cuda/launch.rs).
struct Shape {
    int x, y, z;
    // Index of the last voxel along each axis, and index of the lower corner of the last cell between two voxels.
    Vector last, last_cell;
    // Number of bytes of a row and of a slice; and the distances in bytes to the neighbours along y and z, 0 along an
    // axis of one voxel.
    unsigned int row, slice, step_y, step_z;
    // Number of bytes to subtract from the byte offset of a voxel: `locate` returns a voxel index i as the bits of the
    // float 2²³ + i, and offsets computed from these bits are too large.
    unsigned int origin;
    // Distance between the planes of a displacement field in memory, in floats. A plane contains one component for all
    // voxels. At least one zero stands behind each plane, so that the right neighbours of a cell can always be read.
    unsigned long long plane;
};

// An affine map between voxel indices: a 3×4 matrix, row by row, in double and in single precision.
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

// Launch bounds of kernels that read memory at scattered positions. These kernels wait for memory, so as many threads
// as fit share a multiprocessor.
#define SCATTERED __launch_bounds__(256, 8)

// A voxel. In most kernels each thread processes one voxel and each warp 32 successive voxels of a row; the host
// chooses the number of rows and slices of a thread block.
struct Voxel {
    int x, y, z;
};

// The voxel of this thread, if its block has the number `z_block` along z.
__device__ __forceinline__ Voxel voxel(unsigned int z_block = blockIdx.z)
{
    return {(int)(blockIdx.x * 32 + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y),
            (int)(z_block * blockDim.z + threadIdx.z)};
}

// One or two operands of the same shape that a kernel processes alike, such as the displacement fields of the fixed and
// of the moving image (the two sides of a registration). The thread blocks of the second operand follow those of the
// first along z.
template <typename T> struct Sides {
    T first, second;

    __device__ __forceinline__ T of(int side) const
    {
        return side ? second : first;
    }
};

// A launch has one or two operands (`Sides`), such as two displacement fields; `sides` is their number. Returns the
// number (0 or 1) of the operand that this thread block processes.
__device__ __forceinline__ int side_of_block(int sides)
{
    return sides > 1 && blockIdx.z >= gridDim.z / 2;
}

// The number of this thread block along z, counted from the first block that processes the same operand (the
// first or the second of `Sides`).
__device__ __forceinline__ unsigned int z_block(int side)
{
    return blockIdx.z - (side ? gridDim.z / 2 : 0);
}

__device__ __forceinline__ bool within(Voxel v, const Shape &shape)
{
    return v.x < shape.x && v.y < shape.y && v.z < shape.z;
}

// Position of a voxel in memory, in floats from the start of the image or of the component of a field. The size of an
// image or component in bytes fits into 32 bits.
__device__ __forceinline__ size_t offset(Voxel v, const Shape &shape)
{
    return (unsigned int)((v.z * shape.y + v.y) * shape.x + v.x);
}

// Number of voxels of a brick along each axis, the same as in src/cuda/similarity/bin_fixed.rs, src/cuda/similarity/moments.rs and src/relax.rs.
#define BRICK 8

// The voxel with a given number, if voxels are numbered brick by brick: first all voxels of the first brick, then those
// of the second. Some voxels of bricks at the border lie outside the volume.
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

// Product of the 3×3 matrix with the rows x, y, z and the vector v, with sums in the same order as on the host.
__device__ __forceinline__ Vector times(Vector x, Vector y, Vector z, Vector v)
{
    return {dot(x, v), dot(y, v), dot(z, v)};
}

// Computes the mapped positions of the first voxels (0, y, z + n) of ROWS rows, in double precision, as on the CPU; the
// rest of a row is computed from them in single precision. Lane 3n + axis receives one coordinate of row n. All lanes
// of a warp must call this function with the same y and z.
template <int ROWS> __device__ __forceinline__ float starts_of_rows(const Affine &map, int y, int z)
{
    const int lane = threadIdx.x, axis = lane % 3;
    if (lane >= 3 * ROWS) return 0.f;
    // The map's coefficients for this axis are selected one by one, because an index that depends on the lane would
    // move the map to local memory.
    const double a = axis == 0 ? map.m[1] : axis == 1 ? map.m[5] : map.m[9];
    const double b = axis == 0 ? map.m[2] : axis == 1 ? map.m[6] : map.m[10];
    const double c = axis == 0 ? map.m[3] : axis == 1 ? map.m[7] : map.m[11];
    return (float)(a * (double)y + b * (double)(z + lane / 3) + c);
}

// Position to which the first voxel of row n is mapped, for all lanes of the warp, as starts_of_rows has computed it.
__device__ __forceinline__ Vector start_of_row(float starts, int n)
{
    return {__shfl_sync(0xffffffffu, starts, 3 * n), __shfl_sync(0xffffffffu, starts, 3 * n + 1),
            __shfl_sync(0xffffffffu, starts, 3 * n + 2)};
}

// The mapped position of voxel (x, y, z). All lanes of a warp must call this function with the same y and z.
__device__ __forceinline__ Vector along_row(const Affine &map, int x, int y, int z)
{
    const Vector start = start_of_row(starts_of_rows<1>(map, y, z), 0);
    const float i = (float)x;
    return {start.x + i * map.f[0], start.y + i * map.f[4], start.z + i * map.f[8]};
}

// The position x + u of a voxel x displaced by u.
__device__ __forceinline__ Vector moved(Voxel at, Vector u)
{
    return {(float)at.x + u.x, (float)at.y + u.y, (float)at.z + u.z};
}

// The position of a mapped point after a displacement u of the voxel before mapping: point + matrix·u.
__device__ __forceinline__ Vector moved(const Vector &point, const Affine &map, const Vector &u)
{
    const float *m = map.f;
    return {point.x + (m[0] * u.x + m[1] * u.y + m[2] * u.z), point.y + (m[4] * u.x + m[5] * u.y + m[6] * u.z),
            point.z + (m[8] * u.x + m[9] * u.y + m[10] * u.z)};
}

// Low corner of the cell around a coordinate, which is clamped to the volume first, and the position within the cell (0
// … 1). The corner is returned as the bits of the float 2²³ + corner: adding 2²³ with downward rounding computes the
// floor, and is faster than conversion to an integer and back.
__device__ __forceinline__ unsigned int locate(float at, float last, float last_cell, float &within)
{
    const float clamped = fminf(fmaxf(at, 0.f), last), low = __fadd_rd(fminf(clamped, last_cell), 8388608.f);
    within = clamped - (low - 8388608.f);
    return __float_as_uint(low);
}

// The eight voxels around a point, which is clamped to the volume.
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

// Values of a volume at four voxels of one slice: the corners of a cell (square between four voxels).
struct Corners {
    float a, b, c, d;

    // Bilinear interpolation between the corners along x and y.
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

// Displacement between voxel centres by trilinear interpolation; beyond the border, the value at the border.
__device__ __forceinline__ Vector sample(const float *READ field, const Shape &shape, Vector point)
{
    const Cell cell(point, shape);
    const size_t stride = plane(shape);
    return {cell.read(field), cell.read(field + stride), cell.read(field + 2 * stride)};
}

// Whether a point is in the volume or within half a voxel of its outermost centres.
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

// Value of the voxel nearest to a point; `outside` beyond the volume. For a point halfway between two
// voxels, this is the voxel with the larger index.
__device__ __forceinline__ float nearest(const float *READ image, const Shape &shape, Vector point, float outside)
{
    if (!contains(shape, point)) return outside;
    const int i = nearest_index(point.x, shape.x), j = nearest_index(point.y, shape.y),
              k = nearest_index(point.z, shape.z);
    return image[offset({i, j, k}, shape)];
}
