// Separable Gaussian smoothing of an image, or of the three components of a field, along all axes in one kernel. Beyond
// the border the volume continues with the border values.
#pragma once
#include "volume.cuh"

// One half of each smoothing kernel, from its centre outwards; the unused weights are zero.
struct Weights {
    float x[16], y[16], z[16];
};

// Number of columns along x of the widest tile, margins included; each thread processes one column. src/cuda/intensity/smooth.rs
// has the same number.
#define MOST_THREADS 192
// Slices of the input are prefetched into the second-level cache this many slices before they are read.
#define AHEAD 4

template <typename T> __device__ __forceinline__ T *at_byte(T *plane, unsigned int bytes)
{
    return (T *)((const char *)plane + bytes);
}

// Returns `value` in a way that the compiler cannot see through, so that the value stays in a register instead of being
// computed again in each iteration of a loop.
__device__ __forceinline__ unsigned int kept(unsigned int value)
{
    return __shfl_sync(0xffffffffu, value, threadIdx.x % 32);
}

// Loads WIDE floats, two or four, from shared memory at once.
template <int WIDE> __device__ __forceinline__ void get(const float *from, float *to)
{
    if constexpr (WIDE == 2) {
        const float2 two = *(const float2 *)from;
        to[0] = two.x, to[1] = two.y;
    } else {
        const float4 four = *(const float4 *)from;
        to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
    }
}

template <int WIDE> __device__ __forceinline__ void put(const float *from, float *to)
{
    if constexpr (WIDE == 2)
        *(float2 *)to = make_float2(from[0], from[1]);
    else
        *(float4 *)to = make_float4(from[0], from[1], from[2], from[3]);
}

// Smooths along all three axes, and reads and writes the volume only once. R is the radius of the Gaussian kernels in
// voxels. A thread block processes ROWS rows of a tile from slice to slice, and each thread one column along x. For
// each slice:
//
// - The thread reads its column of the rows, with R more rows on both sides, and smooths along y in registers.
// - The results are added to the 2R unfinished outputs of each row, also in registers: this smooths along z.
// - Rows finished in this slice go to shared memory. In the next slice a thread smooths ROWS successive voxels of one
//   row along x, and in the slice after that the rows are written.
//
// So only the margins of a tile along x and of a chunk of slices along z are computed twice. There is one barrier for
// each slice, and the loop has no branches: results that are not needed are written to rows or columns that nobody
// reads.
template <int R, int ROWS> struct Smoother {
    // Number of floats that are read from shared memory at once; the voxels that a thread smooths along x begin at a
    // multiple of it.
    static constexpr int WIDE = ROWS % 4 ? 2 : 4;
    static constexpr int TALL = ROWS + 2 * R, SPAN = (ROWS + 2 * R + WIDE - 1) / WIDE * WIDE;
    // Distance between rows in shared memory, in floats. It avoids bank conflicts: if 16 threads read two floats each
    // and some of them are in the next row, then that row begins, modulo the 32 banks, where the last read of this row
    // ends.
    static constexpr int PITCH = MOST_THREADS / ROWS * ROWS + (WIDE == 2 ? 32 : 4);
    // Number of rows of a buffer in shared memory: the rows of a tile (part of a slice), and three more for results
    // that are not needed. BUFFER is the buffer's size in bytes.
    static constexpr int ALL_ROWS = ROWS + 3;
    static constexpr unsigned int BUFFER = 4 * ALL_ROWS * PITCH;
    // Threads that have no voxels to smooth along x use one of the three additional rows instead.
    static_assert(32 / ROWS * (ROWS + 1) >= 32);
    // Byte offset of the last float in a row of the buffer `smoothed`. This float is always zero.
    static constexpr unsigned int ZERO = 4 * (PITCH - 1);

    struct Shared {
        alignas(16) float done[2][ALL_ROWS * PITCH], smoothed[2][ALL_ROWS * PITCH];
    };

    const Weights &weights;
    Shared &shared;

    // Smooths the voxels of this thread's column in one slice along y.
    __device__ __forceinline__ void smooth_y(const float (&value)[TALL], float (&sum)[ROWS]) const
    {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            sum[r] = weights.y[0] * value[r + R];
#pragma unroll
            for (int k = 1; k <= R; ++k) sum[r] = fmaf(weights.y[k], value[r + R - k] + value[r + R + k], sum[r]);
        }
    }

    // Smooths along z: adds a slice to the outputs that still lack slices (`waiting`). Outputs that now have all slices
    // are written to shared memory.
    template <bool DONE>
    __device__ __forceinline__ void smooth_z(const float (&sum)[ROWS], float (&waiting)[ROWS][2 * R], unsigned int to) const
    {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            // waiting[k] is the unfinished output of slice z − R + k, where z is the slice that is being added and R
            // the radius of the kernel in voxels.
            if (DONE) at_byte(shared.done[0], to)[r * PITCH] = fmaf(weights.z[R], sum[r], waiting[r][0]);
#pragma unroll
            for (int k = 1; k < 2 * R; ++k)
                waiting[r][k - 1] = fmaf(weights.z[k < R ? R - k : k - R], sum[r], waiting[r][k]);
            waiting[r][2 * R - 1] = weights.z[R] * sum[r];
        }
    }

    // Smooths ROWS successive voxels of one row along x, from shared memory to shared memory.
    __device__ __forceinline__ void smooth_x(unsigned int from, unsigned int to) const
    {
        float value[SPAN], sum[ROWS];
        const float *run = at_byte(shared.done[0], from);
#pragma unroll
        for (int i = 0; i < SPAN; i += WIDE) get<WIDE>(run + i, value + i);
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            sum[i] = weights.x[0] * value[i + R];
#pragma unroll
            for (int k = 1; k <= R; ++k) sum[i] = fmaf(weights.x[k], value[i + R - k] + value[i + R + k], sum[i]);
        }
        float *smoothed = at_byte(shared.smoothed[0], to);
#pragma unroll
        for (int i = 0; i < ROWS; i += WIDE) put<WIDE>(sum + i, smoothed + i);
    }

    // Smooths a tile: the slices from z0 to z1 (exclusive), the ROWS rows from y0 on, and `width` columns from x0 on.
    // The border of the volume is set to zero if `clear` is set.
    __device__ __forceinline__ void tile(const float *READ in, float *out, const Shape &shape, int width, int x0, int y0,
                                         int z0, int z1, int clear) const
    {
        const int c = threadIdx.x, x = x0 + c, runs = blockDim.x / ROWS, place = c / runs, run = c % runs * ROWS;
        const unsigned int row = 4 * shape.x, slice = row * shape.y;

        // Byte offsets in shared memory: where this thread reads and writes when it smooths along x, and where it reads
        // the voxels that it writes to the output. Border rows and columns that must be zero are read from floats that
        // stay zero.
#pragma unroll
        for (int n = 0; n < 2 * ALL_ROWS; ++n) shared.smoothed[0][n * PITCH + c] = 0.f;
        if (c < 2 * ALL_ROWS) shared.smoothed[0][c * PITCH + PITCH - 1] = 0.f;
        const bool zero_row = clear && on_edge(y0 + place, shape.y), zero_column = clear && on_edge(x, shape.x);
        const int unwanted = y0 + place == 0 ? ROWS + 1 : ROWS + 2;
        const unsigned int run_done = kept(4 * (place * PITCH + run));
        const unsigned int run_smoothed = kept(4 * ((zero_row ? unwanted : place) * PITCH + run));
        const unsigned int written = kept(zero_column ? ZERO : 4 * c);
        const int front = clear && shape.z > 1 ? 0 : -1, back = clear && shape.z > 1 ? shape.z - 1 : -1;
        unsigned int buffer = 0;

        // Number of rows, from y0 on, in which this thread writes a smoothed voxel. It is 0 for columns of the tile's
        // margin. The tile has ROWS rows.
        const int rows = c < width && x < shape.x ? shape.y - y0 : 0;
        float *to = at_byte(out, z0 * slice + (y0 * row + 4 * x));
        auto write = [&](int z) {
            const float *column = at_byte(shared.smoothed[0], (z == front || z == back ? ZERO : written) + (BUFFER - buffer));
            const int count = z >= z0 ? rows : 0;
            float result[ROWS], *at = to;
#pragma unroll
            for (int r = 0; r < ROWS; ++r) result[r] = column[r * PITCH];
#pragma unroll
            for (int r = 0; r < ROWS; ++r, at = at_byte(at, row))
                if (r < count) *at = result[r];
            to = at_byte(to, z >= z0 ? slice : 0u);
        };

        // Beyond the volume, the values at its border are read again: the first or last slice, row or column.
        const int first = max(z0 - R, 0), last = min(z1 + R, shape.z) - 1;
        unsigned int offset[TALL];
#pragma unroll
        for (int n = 0; n < TALL; ++n) offset[n] = row * min(max(y0 - R + n, 0), shape.y - 1);
        const float *from = at_byte(in, first * slice + 4 * min(max(x - R, 0), shape.x - 1));
        float value[TALL], sum[ROWS], waiting[ROWS][2 * R];
        auto fetch = [&] {
#pragma unroll
            for (int n = 0; n < TALL; ++n) value[n] = __ldg(at_byte(from, offset[n]));
        };

        // Some threads prefetch one cache line (128 bytes) each of the rows that the thread block smooths. Other thread
        // blocks prefetch the margins around these rows.
        const int line_x = x0 + c / ROWS * 32, line_y = y0 + c % ROWS;
        const bool brings = line_x < min(x0 + width, shape.x) && line_y < shape.y;
        const float *line = at_byte(in, first * slice + (brings ? line_y * row + 4 * line_x : 0u));
        auto bring = [&](int z) {
            if (brings && z <= last) asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
            line = at_byte(line, slice);
        };

        auto smooth_y_and_fetch = [&](int s) {
            if (s >= first) bring(s + AHEAD);
            smooth_y(value, sum);
            from = at_byte(from, s >= first && s < last ? slice : 0u);
            // The asm statement keeps the compiler from moving the next load before the sums: they share registers.
#pragma unroll
            for (int r = 0; r < ROWS; ++r) asm volatile("" : "+f"(sum[r]), "+l"(from));
            fetch();
        };

#pragma unroll
        for (int r = 0; r < ROWS; ++r)
#pragma unroll
            for (int k = 0; k < 2 * R; ++k) waiting[r][k] = 0.f;
        fetch();
#pragma unroll
        for (int n = 0; n < AHEAD; ++n) bring(first + n);
#pragma unroll 1
        for (int s = z0 - R; s < z0 + R; ++s) {
            smooth_y_and_fetch(s);
            smooth_z<false>(sum, waiting, 0);
        }
        smooth_y_and_fetch(z0 + R);
        smooth_z<true>(sum, waiting, 4 * c);
#pragma unroll 1
        for (int s = z0 + R + 1; s < z1 + R; ++s) {
            __syncthreads();
            write(s - R - 2);
            smooth_y_and_fetch(s);
            smooth_x(run_done + buffer, run_smoothed + buffer);
            buffer = BUFFER - buffer;
            smooth_z<true>(sum, waiting, 4 * c + buffer);
        }
        __syncthreads();
        write(z1 - 2);
        smooth_x(run_done + buffer, run_smoothed + buffer);
        buffer = BUFFER - buffer;
        __syncthreads();
        write(z1 - 1);
    }
};

// The Gaussian smoothing kernel for the radius R in voxels, with ROWS rows in a tile and at least BLOCKS thread blocks
// on a multiprocessor. The volumes, such as the components of a field, are divided along z into `chunks` chunks of
// `depth` successive slices. The thread blocks of a chunk have blockIdx.z = volume · chunks + chunk.
#define SMOOTH(R, ROWS, BLOCKS)                                                                                        \
    extern "C" __global__ void __launch_bounds__(MOST_THREADS, BLOCKS)                                                 \
        smooth_##R(const float *READ in, float *out, const __grid_constant__ Shape shape,                              \
                   const __grid_constant__ Weights weights, int width, int chunks, int depth, int clear)               \
    {                                                                                                                  \
        __shared__ Smoother<R, ROWS>::Shared shared;                                                                   \
        const size_t base = blockIdx.z / chunks * plane(shape);                                                        \
        const int z0 = blockIdx.z % chunks * depth, z1 = min(z0 + depth, shape.z);                                     \
        Smoother<R, ROWS>{weights, shared}.tile(in + base, out + base, shape, width, blockIdx.x *width,                \
                                                blockIdx.y *ROWS, z0, z1, clear);                                      \
    }
