// Separable Gaussian smoothing of the planes of an image or a field, all axes at once; values continue beyond the border.
#pragma once
#include "volume.cuh"

// Half kernels, zero beyond their end.
struct Weights {
    float x[16], y[16], z[16];
};

// Columns of a tile along x with their margins: a thread each. As in src/cuda/smooth.rs.
#define MOST_THREADS 192
// Floats between rows in shared memory: threads that take four floats each at one place of successive rows find them in
// different banks.
#define PITCH (MOST_THREADS + 4)
// Slices ahead of those that are read, which are brought from memory to the second-level cache.
#define AHEAD 4

template <typename T> __device__ __forceinline__ T *at_byte(T *plane, unsigned int bytes)
{
    return (T *)((const char *)plane + bytes);
}

// The same, but what the compiler does not know how to compute: it stays in a register of a loop.
__device__ __forceinline__ unsigned int kept(unsigned int value)
{
    return __shfl_sync(0xffffffffu, value, threadIdx.x % 32);
}

// All three axes in one pass over memory. A block takes ROWS rows of a tile and walks along z, a thread a column: of each
// slice it reads its rows and those around them, smooths along y in registers, and adds the sums to the 2R outputs of each
// row that still wait for them, in registers too. Rows that are done go to shared memory; the round after, a thread smooths
// a run of ROWS voxels of one row along x; the round after that, they are written. So nothing is computed twice but sums in
// the margins of a tile along x and of a chunk along z, there is one barrier a slice, and a round has no branches: where
// nothing must come of what it computes, it reads or writes elsewhere.
template <int R, int ROWS> struct Smoother {
    static constexpr int TALL = ROWS + 2 * R, SPAN = (ROWS + 2 * R + 3) / 4 * 4;
    // Bytes of a buffer. It has two rows more than a tile, for sums that nobody wants.
    static constexpr unsigned int BUFFER = 4 * (ROWS + 2) * PITCH;
    // Where a row of the smoothed has a zero: at its end.
    static constexpr unsigned int ZERO = 4 * (PITCH - 1);

    struct Shared {
        alignas(16) float done[2][(ROWS + 2) * PITCH], smoothed[2][(ROWS + 2) * PITCH];
    };

    const Weights &weights;
    Shared &shared;

    // Along y: of this thread's rows in one slice.
    __device__ __forceinline__ void smooth_y(const float (&value)[TALL], float (&sum)[ROWS]) const
    {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            sum[r] = weights.y[0] * value[r + R];
#pragma unroll
            for (int k = 1; k <= R; ++k) sum[r] = fmaf(weights.y[k], value[r + R - k] + value[r + R + k], sum[r]);
        }
    }

    // Along z: adds a slice's sums to what waits, and leaves what is done in shared memory.
    template <bool DONE>
    __device__ __forceinline__ void smooth_z(const float (&sum)[ROWS], float (&waiting)[ROWS][2 * R], unsigned int to) const
    {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            // waiting[k] belongs to the output R − k slices back.
            if (DONE) at_byte(shared.done[0], to)[r * PITCH] = fmaf(weights.z[R], sum[r], waiting[r][0]);
#pragma unroll
            for (int k = 1; k < 2 * R; ++k)
                waiting[r][k - 1] = fmaf(weights.z[k < R ? R - k : k - R], sum[r], waiting[r][k]);
            waiting[r][2 * R - 1] = weights.z[R] * sum[r];
        }
    }

    // Along x: a run of one row, from shared memory and back.
    __device__ __forceinline__ void smooth_x(unsigned int from, unsigned int to) const
    {
        float value[SPAN], sum[ROWS];
        const float4 *run = (const float4 *)at_byte(shared.done[0], from);
#pragma unroll
        for (int i = 0; i < SPAN; i += 4) {
            const float4 four = run[i / 4];
            value[i] = four.x, value[i + 1] = four.y, value[i + 2] = four.z, value[i + 3] = four.w;
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            sum[i] = weights.x[0] * value[i + R];
#pragma unroll
            for (int k = 1; k <= R; ++k) sum[i] = fmaf(weights.x[k], value[i + R - k] + value[i + R + k], sum[i]);
        }
        float4 *smoothed = (float4 *)at_byte(shared.smoothed[0], to);
#pragma unroll
        for (int i = 0; i < ROWS; i += 4) smoothed[i / 4] = make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);
    }

    // Slices z0 to z1 of the rows from y0 on and `width` columns from x0 on. The border is set to zero when `clear` says so.
    __device__ __forceinline__ void tile(const float *READ in, float *out, const Shape &shape, int width, int x0, int y0,
                                         int z0, int z1, int clear) const
    {
        const int c = threadIdx.x, x = x0 + c, place = c % ROWS, run = c / ROWS * ROWS;
        const unsigned int row = 4 * shape.x, slice = row * shape.y;

        // Bytes into shared memory: where this thread smooths along x, and what it writes. The rows and columns of the border
        // stay as they are here: zero.
#pragma unroll
        for (int n = 0; n < 2 * (ROWS + 2); ++n) shared.smoothed[0][n * PITCH + c] = 0.f;
        if (c < 2 * (ROWS + 2)) shared.smoothed[0][c * PITCH + PITCH - 1] = 0.f;
        const bool zero_row = clear && on_edge(y0 + place, shape.y), zero_column = clear && on_edge(x, shape.x);
        const int unwanted = y0 + place == 0 ? ROWS : ROWS + 1;
        const unsigned int run_done = kept(4 * (place * PITCH + run));
        const unsigned int run_smoothed = kept(4 * ((zero_row ? unwanted : place) * PITCH + run));
        const unsigned int written = kept(zero_column ? ZERO : 4 * c);
        const int front = clear && shape.z > 1 ? 0 : -1, back = clear && shape.z > 1 ? shape.z - 1 : -1;
        unsigned int buffer = 0;

        // Rows that this thread writes, if the tile has so many.
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

        // The first and the last slice stand for those beyond them as well; so do rows and columns.
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

        // A line of 128 bytes of the tile's own rows each for some threads; neighbours bring the others.
        const int line_x = x0 + c / ROWS * 32, line_y = y0 + place;
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
            // Not before the sums: the next values take the registers of these.
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
            smooth_x(run_done + buffer, run_smoothed + buffer);
            smooth_y_and_fetch(s);
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

// blockIdx.z = plane · chunks + chunk of so many slices.
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
