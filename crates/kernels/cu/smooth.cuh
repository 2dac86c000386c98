// Separable Gaussian smoothing of the planes of an image or a field, all axes at once; values continue beyond the border.
#pragma once
#include "volume.cuh"

// One half of each smoothing kernel; values beyond its end are zero.
struct Weights {
    float x[16], y[16], z[16];
};

// Number of columns of a tile along x with margins, one for each thread; the same as in src/cuda/smooth.rs.
#define MOST_THREADS 192
// Number of slices by which prefetching to the second-level cache is ahead of reading.
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

// Loads or stores two or four floats of shared memory at once.
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

// All three axes in one pass over memory. A block takes ROWS rows of a tile and walks along z, a thread a column: of each
// slice it reads its rows and those around them, smooths along y in registers, and adds the sums to the 2R outputs of each
// row that still wait for them, in registers too. Rows that are done go to shared memory; the round after, a thread smooths
// a run of ROWS voxels of one row along x; the round after that, they are written. So nothing is computed twice but sums in
// the margins of a tile along x and of a chunk along z, there is one barrier a slice, and a round has no branches: where
// nothing must come of what it computes, it reads or writes elsewhere.
template <int R, int ROWS> struct Smoother {
    // Floats that are read from shared memory at once, where runs begin at multiples of them.
    static constexpr int WIDE = ROWS % 4 ? 2 : 4;
    static constexpr int TALL = ROWS + 2 * R, SPAN = (ROWS + 2 * R + WIDE - 1) / WIDE * WIDE;
    // Floats between rows in shared memory. Where 16 threads read two each at once, some of them from the next row, that
    // begins where the last run ends, modulo the 32 banks.
    static constexpr int PITCH = MOST_THREADS / ROWS * ROWS + (WIDE == 2 ? 32 : 4);
    // Rows of a buffer: three more than a tile's, for sums that nobody wants, and its bytes.
    static constexpr int ALL_ROWS = ROWS + 3;
    static constexpr unsigned int BUFFER = 4 * ALL_ROWS * PITCH;
    // Threads beyond the last run use one of those rows.
    static_assert(32 / ROWS * (ROWS + 1) >= 32);
    // Where a row of the smoothed has a zero: at its end.
    static constexpr unsigned int ZERO = 4 * (PITCH - 1);

    struct Shared {
        alignas(16) float done[2][ALL_ROWS * PITCH], smoothed[2][ALL_ROWS * PITCH];
    };

    const Weights &weights;
    Shared &shared;

    // Smooths this thread's rows of one slice along y.
    __device__ __forceinline__ void smooth_y(const float (&value)[TALL], float (&sum)[ROWS]) const
    {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            sum[r] = weights.y[0] * value[r + R];
#pragma unroll
            for (int k = 1; k <= R; ++k) sum[r] = fmaf(weights.y[k], value[r + R - k] + value[r + R + k], sum[r]);
        }
    }

    // Smooths along z: adds the sums of a slice to the waiting outputs, and leaves finished outputs in shared memory.
    template <bool DONE>
    __device__ __forceinline__ void smooth_z(const float (&sum)[ROWS], float (&waiting)[ROWS][2 * R], unsigned int to) const
    {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            // waiting[k] holds the output that lies R − k slices back.
            if (DONE) at_byte(shared.done[0], to)[r * PITCH] = fmaf(weights.z[R], sum[r], waiting[r][0]);
#pragma unroll
            for (int k = 1; k < 2 * R; ++k)
                waiting[r][k - 1] = fmaf(weights.z[k < R ? R - k : k - R], sum[r], waiting[r][k]);
            waiting[r][2 * R - 1] = weights.z[R] * sum[r];
        }
    }

    // Smooths along x: a run of one row, from shared memory and back.
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

    // Slices z0 to z1 of the rows from y0 on and `width` columns from x0 on. The border is set to zero when `clear` says so.
    __device__ __forceinline__ void tile(const float *READ in, float *out, const Shape &shape, int width, int x0, int y0,
                                         int z0, int z1, int clear) const
    {
        const int c = threadIdx.x, x = x0 + c, runs = blockDim.x / ROWS, place = c / runs, run = c % runs * ROWS;
        const unsigned int row = 4 * shape.x, slice = row * shape.y;

        // Bytes into shared memory: where this thread smooths along x, and what it writes. The rows and columns of the border
        // stay as they are here: zero.
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

        // Number of rows that this thread writes, limited by the tile.
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
            // This load comes after the sums, because the next values use the same registers.
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
