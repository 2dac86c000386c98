// Separable Gaussian smoothing of the planes of an image or a field; values continue beyond the border.
#include "volume.cuh"

// Half kernels, zero beyond their end.
struct Weights {
    float x[16], y[16], z[16];
};

#define TILE 32
// Rows of the tile that a thread takes.
#define ROWS 4
#define THREADS (TILE * TILE / ROWS)

// All three axes in one pass over memory. A block takes a tile of 32×32 columns and walks along z: each slice is smoothed
// along x and y in shared memory; along z it adds its share to the 2R outputs that still wait for it, in registers.
//
// blockIdx.z = plane · chunks + chunk. The result is `blend`·smoothed + (1 − blend)·before; the border is set to zero
// when `clear` says so.
template <int R>
__device__ __forceinline__ void smooth(const float *READ in, float *out, Shape shape, const Weights &weights, int chunks,
                                       int depth, float blend, int clear)
{
    constexpr int WIDE = TILE + 2 * R, PITCH = (WIDE + 3) / 4 * 4, LOADS = (WIDE * WIDE + THREADS - 1) / THREADS;
    __shared__ __align__(16) float tile[WIDE * PITCH];
    __shared__ __align__(16) float along_x[WIDE * TILE];

    const int thread = threadIdx.y * TILE + threadIdx.x, chunk = blockIdx.z % chunks;
    const size_t base = (size_t)(blockIdx.z / chunks) * plane(shape);
    const int slice = shape.x * shape.y;
    const int x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;
    const int z0 = chunk * depth, z1 = min(z0 + depth, shape.z);
    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y * ROWS;

    int source[LOADS], target[LOADS];
#pragma unroll
    for (int n = 0; n < LOADS; ++n) {
        const int element = n * THREADS + thread, row = element / WIDE, column = element % WIDE;
        const int from_x = min(max(x0 + column - R, 0), shape.x - 1), from_y = min(max(y0 + row - R, 0), shape.y - 1);
        source[n] = from_y * shape.x + from_x;
        target[n] = element < WIDE * WIDE ? row * PITCH + column : -1;
    }
    // Rows of this thread in the volume, and which of them are set to zero whatever z is.
    int rows = 0;
    bool zero[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
        if (x < shape.x && y + row < shape.y) rows = row + 1;
        zero[row] = clear && (on_edge(x, shape.x) || on_edge(y + row, shape.y));
    }

    float waiting[ROWS][2 * R], next[LOADS];
#pragma unroll
    for (int row = 0; row < ROWS; ++row)
#pragma unroll
        for (int k = 0; k < 2 * R; ++k) waiting[row][k] = 0.f;

    const float *from = in + base + (size_t)max(z0 - R, 0) * slice;
#pragma unroll
    for (int n = 0; n < LOADS; ++n) next[n] = from[source[n]];

    for (int z = z0 - R; z < z1 + R; ++z) {
#pragma unroll
        for (int n = 0; n < LOADS; ++n)
            if ((n + 1) * THREADS <= WIDE * WIDE || target[n] >= 0) tile[target[n]] = next[n];
        __syncthreads();
        // The next slice is on its way while this one is worked on.
        from = in + base + (size_t)min(max(z + 1, 0), shape.z - 1) * slice;
#pragma unroll
        for (int n = 0; n < LOADS; ++n) next[n] = from[source[n]];

        for (int item = thread; item < WIDE * (TILE / 4); item += THREADS) {
            const int row = item / (TILE / 4), column = item % (TILE / 4) * 4;
            float value[4 + 2 * R];
#pragma unroll
            for (int n = 0; n < 4 + 2 * R; n += 4) {
                const float4 four = *(const float4 *)&tile[row * PITCH + column + n];
                value[n] = four.x;
                value[n + 1] = four.y;
                if (n + 2 < 4 + 2 * R) {
                    value[n + 2] = four.z;
                    value[n + 3] = four.w;
                }
            }
            float sum[4];
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                sum[q] = weights.x[0] * value[q + R];
#pragma unroll
                for (int k = 1; k <= R; ++k) sum[q] = fmaf(weights.x[k], value[q + R - k] + value[q + R + k], sum[q]);
            }
            *(float4 *)&along_x[row * TILE + column] = make_float4(sum[0], sum[1], sum[2], sum[3]);
        }
        __syncthreads();

        float value[ROWS + 2 * R], done[ROWS];
#pragma unroll
        for (int n = 0; n < ROWS + 2 * R; ++n) value[n] = along_x[(threadIdx.y * ROWS + n) * TILE + threadIdx.x];
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            float sum = weights.y[0] * value[row + R];
#pragma unroll
            for (int k = 1; k <= R; ++k) sum = fmaf(weights.y[k], value[row + R - k] + value[row + R + k], sum);
            // waiting[k] belongs to output slice z − R + k.
            done[row] = fmaf(weights.z[R], sum, waiting[row][0]);
#pragma unroll
            for (int k = 1; k < 2 * R; ++k)
                waiting[row][k - 1] = fmaf(weights.z[k < R ? R - k : k - R], sum, waiting[row][k]);
            waiting[row][2 * R - 1] = weights.z[R] * sum;
        }
        if (z - R >= z0) {
            const size_t here = base + (size_t)(z - R) * slice + (y * shape.x + x);
            const bool end = clear && on_edge(z - R, shape.z);
            if (blend != 1.f)
#pragma unroll
                for (int row = 0; row < ROWS; ++row)
                    if (row < rows) done[row] = blend * done[row] + (1.f - blend) * in[here + row * shape.x];
#pragma unroll
            for (int row = 0; row < ROWS; ++row)
                if (row < rows) out[here + row * shape.x] = end || zero[row] ? 0.f : done[row];
        }
        // The tile may be overwritten: its readers are done since the second barrier. along_x is written again only
        // behind the next one.
    }
}

#define SMOOTH(R)                                                                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                            \
        smooth_##R(const float *READ in, float *out, Shape shape, Weights weights, int chunks, int depth, float blend, \
                   int clear)                                                                                          \
    {                                                                                                                  \
        smooth<R>(in, out, shape, weights, chunks, depth, blend, clear);                                               \
    }

SMOOTH(3)
SMOOTH(4)
SMOOTH(6)
SMOOTH(8)

// One axis of any radius, a thread a voxel, for kernels wider than the above. blockIdx.z covers all planes.
extern "C" __global__ void smooth_axis(const float *READ in, float *out, Shape shape, Weights weights, int axis,
                                       int radius, int clear)
{
    const int slabs = (shape.z + blockDim.z - 1) / blockDim.z;
    const Voxel v = {(int)(blockIdx.x * 32 + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y),
                     (int)(blockIdx.z % slabs * blockDim.z + threadIdx.z)};
    if (!within(v, shape)) return;
    const size_t base = (size_t)(blockIdx.z / slabs) * plane(shape), at = base + offset(v, shape);
    const int index = axis == 0 ? v.x : axis == 1 ? v.y : v.z, n = axis == 0 ? shape.x : axis == 1 ? shape.y : shape.z;
    const long long step = axis == 0 ? 1 : axis == 1 ? shape.x : (long long)shape.x * shape.y;
    const float *w = axis == 0 ? weights.x : axis == 1 ? weights.y : weights.z;
    float sum = w[0] * in[at];
    for (int k = 1; k <= radius; ++k) {
        const long long below = max(index - k, 0) - index, above = min(index + k, n - 1) - index;
        sum = fmaf(w[k], in[at + below * step] + in[at + above * step], sum);
    }
    out[at] = clear && on_edge(v, shape) ? 0.f : sum;
}
