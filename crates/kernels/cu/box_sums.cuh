// Moving box sums of Q quantities of an image: for each voxel, the sums over a window of (2R + 1)³ voxels, truncated at
// the border of the volume.
//
// A thread block processes a tile of 32×8 columns along z, and each thread one column. Each slice is summed along x and
// y in shared memory. Along z each voxel adds its sum to the 2R + 1 windows that contain it, in registers. There are no
// running sums, from which old values would be subtracted: a window of zeros sums to exactly zero.
#pragma once

#include "volume.cuh"

#define TILE_X 32
#define TILE_Y 8
#define TILE_THREADS (TILE_X * TILE_Y)

// Number of thread blocks that share a multiprocessor. Wide windows and more than two inputs need more registers, so
// fewer blocks fit.
#define BOX_BLOCKS(R, INPUTS) ((R) > 2 ? 2 : (INPUTS) > 2 ? 3 : 4)

// Computes the sums of four windows of 2R + 1 values each, where R is the window radius in voxels. The windows begin at
// four successive values.
template <int R> __device__ __forceinline__ void four_windows(const float (&value)[4 + 2 * R], float (&sum)[4])
{
    if (R == 1) {
        const float middle = value[2] + value[3];
        sum[0] = value[0] + value[1] + value[2];
        sum[1] = value[1] + middle;
        sum[2] = middle + value[4];
        sum[3] = value[3] + value[4] + value[5];
        return;
    }
    float common = value[3];
#pragma unroll
    for (int n = 4; n <= 2 * R; ++n) common += value[n];
    const float low = value[1] + value[2], high = value[2 * R + 1] + value[2 * R + 2];
    sum[0] = value[0] + low + common;
    sum[1] = low + common + value[2 * R + 1];
    sum[2] = value[2] + common + high;
    sum[3] = common + high + value[2 * R + 3];
}

// Size of a tile with its margins of R voxels: width and height in voxels, and the distance between rows in floats.
template <int R> struct Tile {
    static constexpr int WIDE = TILE_X + 2 * R, TALL = TILE_Y + 2 * R, PITCH = (WIDE + 3) / 4 * 4;
};

// Computes the box sums of the voxels of this block's tile with z0 ≤ z < z1.
//
// `source` provides the input: `float read(int input, size_t at)` reads a voxel of one of `INPUTS` volumes, and `float
// quantity(int q, const float *in)` computes quantity q of a voxel from its inputs. A voxel outside the volume reads as
// zeros.
//
// `sink` receives the sums: `void start(int x, int y)` is called once, then `void take(int z, size_t here, const float
// (&sums)[Q])` for each voxel of the thread's column.
template <int R, int Q, int INPUTS, typename Source, typename Sink>
__device__ __forceinline__ void box_sums(Shape shape, int z0, int z1, const Source &source, Sink &sink)
{
    constexpr int WIDE = Tile<R>::WIDE, TALL = Tile<R>::TALL, PITCH = Tile<R>::PITCH;
    constexpr int LOADS = (WIDE * TALL + TILE_THREADS - 1) / TILE_THREADS;
    __shared__ __align__(16) float tile[INPUTS][TALL * PITCH];
    __shared__ __align__(16) float along_x[Q][TALL * TILE_X];

    const int thread = threadIdx.y * TILE_X + threadIdx.x;
    const int x0 = blockIdx.x * TILE_X, y0 = blockIdx.y * TILE_Y;
    const int slice = shape.x * shape.y;
    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    const bool inside = x < shape.x && y < shape.y;
    if (inside) sink.start(x, y);

    // For each voxel of a slice that this thread loads: the voxel's offset in the slice (−1 outside the volume), and
    // its position in the tile.
    int from[LOADS], to[LOADS];
#pragma unroll
    for (int n = 0; n < LOADS; ++n) {
        const int element = n * TILE_THREADS + thread, row = element / WIDE, column = element % WIDE;
        const int u = x0 + column - R, v = y0 + row - R;
        const bool within = element < WIDE * TALL && u >= 0 && u < shape.x && v >= 0 && v < shape.y;
        from[n] = within ? v * shape.x + u : -1;
        to[n] = element < WIDE * TALL ? row * PITCH + column : -1;
    }

    float window[Q][2 * R];
#pragma unroll
    for (int q = 0; q < Q; ++q)
#pragma unroll
        for (int k = 0; k < 2 * R; ++k) window[q][k] = 0.f;

    float next[LOADS][INPUTS];
    auto fetch = [&](int z) {
        const bool exists = z >= 0 && z < shape.z;
        const size_t base = (size_t)max(z, 0) * slice;
#pragma unroll
        for (int n = 0; n < LOADS; ++n)
#pragma unroll
            for (int input = 0; input < INPUTS; ++input)
                next[n][input] = exists && from[n] >= 0 ? source.read(input, base + from[n]) : 0.f;
    };

    fetch(z0 - R);
    for (int z = z0 - R; z < z1 + R; ++z) {
#pragma unroll
        for (int n = 0; n < LOADS; ++n)
            if ((n + 1) * TILE_THREADS <= WIDE * TALL || to[n] >= 0)
#pragma unroll
                for (int input = 0; input < INPUTS; ++input) tile[input][to[n]] = next[n][input];
        __syncthreads();
        // The next slice is loaded while this slice is processed.
        if (z + 1 < z1 + R) fetch(z + 1);

        for (int item = thread; item < TALL * (TILE_X / 4); item += TILE_THREADS) {
            const int row = item / (TILE_X / 4), column = item % (TILE_X / 4) * 4;
            float in[INPUTS][4 + 2 * R];
#pragma unroll
            for (int input = 0; input < INPUTS; ++input)
#pragma unroll
                for (int n = 0; n < 4 + 2 * R; n += 4) {
                    const float4 four = *(const float4 *)&tile[input][row * PITCH + column + n];
                    in[input][n] = four.x;
                    in[input][n + 1] = four.y;
                    if (n + 2 < 4 + 2 * R) {
                        in[input][n + 2] = four.z;
                        in[input][n + 3] = four.w;
                    }
                }
#pragma unroll
            for (int q = 0; q < Q; ++q) {
                float value[4 + 2 * R], sum[4];
#pragma unroll
                for (int n = 0; n < 4 + 2 * R; ++n) {
                    float here[INPUTS];
#pragma unroll
                    for (int input = 0; input < INPUTS; ++input) here[input] = in[input][n];
                    value[n] = Source::quantity(q, here);
                }
                four_windows<R>(value, sum);
                *(float4 *)&along_x[q][row * TILE_X + column] = make_float4(sum[0], sum[1], sum[2], sum[3]);
            }
        }
        __syncthreads();

        float sums[Q];
#pragma unroll
        for (int q = 0; q < Q; ++q) {
            const float *column = &along_x[q][threadIdx.y * TILE_X + threadIdx.x];
            float sum = column[0];
#pragma unroll
            for (int n = 1; n <= 2 * R; ++n) sum += column[n * TILE_X];
            // window[q][k]: sum of quantity q over the window centred in slice z − R + k, so far up to slice z − 1.
            sums[q] = window[q][0] + sum;
#pragma unroll
            for (int k = 1; k < 2 * R; ++k) window[q][k - 1] = window[q][k] + sum;
            window[q][2 * R - 1] = sum;
        }
        if (z - R >= z0 && inside) sink.take(z - R, (size_t)(z - R) * slice + (y * shape.x + x), sums);
    }
}
