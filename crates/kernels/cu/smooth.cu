// Separable Gaussian smoothing of the planes of an image or a field; values continue beyond the border.
#include "volume.cuh"

// Half kernels, zero beyond their end.
struct Weights {
    float x[16], y[16], z[16];
};

// Columns of a tile along x.
#define WIDTH 32
// Outputs along x that a thread sums at once.
#define RUN 8

// Floats of a row in shared memory, at least so many: threads that take four floats each at one place of successive rows
// find them in different banks.
constexpr int pitch(int floats)
{
    return (floats + 3) / 4 % 2 ? (floats + 3) / 4 * 4 : (floats + 3) / 4 * 4 + 4;
}

// All three axes in one pass over memory. A block takes a tile of WIDTH × HEIGHT columns and walks along z: each slice is
// smoothed along x, then along y, in shared memory; along z a thread adds its ROWS sums to the 2R outputs that still wait
// for them, in registers. While one slice is smoothed along y, the next one is smoothed along x, the one after that goes
// to shared memory, and the third is on its way: one barrier a slice.
//
// The result is `blend`·smoothed + (1 − blend)·before; the border is set to zero when `clear` says so.
template <int R, int HEIGHT, int ROWS> struct Smoother {
    static constexpr int THREADS = WIDTH * HEIGHT / ROWS, TALL = HEIGHT + 2 * R, WIDE = WIDTH + 2 * R;
    static constexpr int LOADS = (WIDE * TALL + THREADS - 1) / THREADS, RUNS = TALL * (WIDTH / RUN);
    static constexpr int PITCH = pitch(WIDE), PITCH_X = pitch(WIDTH);

    struct Shared {
        float tile[2][TALL * PITCH], along_x[2][TALL * PITCH_X];
    };

    const Weights &weights;
    Shared &shared;
    const int thread;

    // Where this thread's voxels of a slice stand in the volume, what it has fetched of them, and the next slice to fetch.
    unsigned int source[LOADS];
    float next[LOADS];
    const float *from;
    int fetched, last;

    __device__ __forceinline__ Smoother(const Weights &weights, Shared &shared)
        : weights(weights), shared(shared), thread(threadIdx.x)
    {
    }

    __device__ __forceinline__ void fetch(unsigned int slice)
    {
#pragma unroll
        for (int n = 0; n < LOADS; ++n) next[n] = __ldg(from + source[n]);
        from += fetched < last ? slice : 0u;
        ++fetched;
    }

    __device__ __forceinline__ void put(int buffer)
    {
#pragma unroll
        for (int n = 0; n < LOADS; ++n) {
            const int element = n * THREADS + thread;
            if ((n + 1) * THREADS <= WIDE * TALL || element < WIDE * TALL)
                shared.tile[buffer][PITCH == WIDE ? element : element / WIDE * PITCH + element % WIDE] = next[n];
        }
    }

    __device__ __forceinline__ void smooth_x(int buffer)
    {
#pragma unroll
        for (int n = 0; n < (RUNS + THREADS - 1) / THREADS; ++n) {
            const int run = n * THREADS + thread, row = run % TALL, column = run / TALL * RUN;
            if ((n + 1) * THREADS > RUNS && run >= RUNS) break;
            float value[RUN + 2 * R + 3], sum[RUN];
            const float4 *in = (const float4 *)&shared.tile[buffer][row * PITCH + column];
#pragma unroll
            for (int i = 0; i < RUN + 2 * R; i += 4) {
                const float4 four = in[i / 4];
                value[i] = four.x, value[i + 1] = four.y, value[i + 2] = four.z, value[i + 3] = four.w;
            }
#pragma unroll
            for (int i = 0; i < RUN; ++i) {
                sum[i] = weights.x[0] * value[i + R];
#pragma unroll
                for (int k = 1; k <= R; ++k) sum[i] = fmaf(weights.x[k], value[i + R - k] + value[i + R + k], sum[i]);
            }
            float4 *out = (float4 *)&shared.along_x[buffer][row * PITCH_X + column];
#pragma unroll
            for (int i = 0; i < RUN; i += 4) out[i / 4] = make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);
        }
    }

    // Slices z0 to z1 of the tile at (x0, y0) of the plane at `in` and `out`.
    __device__ __forceinline__ void column(const float *READ in, float *out, const Shape &shape, int x0, int y0, int z0,
                                           int z1, float blend, int clear)
    {
        const unsigned int slice = shape.x * shape.y;
        const int lane = thread % WIDTH, first_row = thread / WIDTH * ROWS, x = x0 + lane, y = y0 + first_row;
#pragma unroll
        for (int n = 0; n < LOADS; ++n) {
            const int element = n * THREADS + thread, row = element / WIDE, column = element % WIDE;
            source[n] = min(max(y0 + row - R, 0), shape.y - 1) * shape.x + min(max(x0 + column - R, 0), shape.x - 1);
        }
        // Bit r: row r of the thread is in the volume; bit 8 + r: it is set to zero.
        unsigned int flags = 0;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            if (x < shape.x && y + r < shape.y) flags |= 1u << r;
            if (clear && (on_edge(x, shape.x) || on_edge(y + r, shape.y))) flags |= 256u << r;
        }
        float waiting[ROWS][2 * R];
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
#pragma unroll
            for (int k = 0; k < 2 * R; ++k) waiting[r][k] = 0.f;

        const int first = max(z0 - R, 0);
        last = min(z1 + R - 1, shape.z - 1);
        fetched = first;
        from = in + (size_t)first * slice;
        fetch(slice);
        put(0);
        fetch(slice);
        __syncthreads();
        smooth_x(0);
        put(1);
        fetch(slice);
        __syncthreads();
        size_t here = (size_t)z0 * slice + (y * shape.x + x);
#pragma unroll 1
        for (int s = first, buffer = 0; s <= last; ++s, buffer ^= 1) {
            if (s < last) smooth_x(buffer ^ 1);
            put(buffer);
            fetch(slice);
            float value[ROWS + 2 * R], sum[ROWS];
#pragma unroll
            for (int n = 0; n < ROWS + 2 * R; ++n) value[n] = shared.along_x[buffer][(first_row + n) * PITCH_X + lane];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                sum[r] = weights.y[0] * value[r + R];
#pragma unroll
                for (int k = 1; k <= R; ++k) sum[r] = fmaf(weights.y[k], value[r + R - k] + value[r + R + k], sum[r]);
            }
            // The first and the last slice stand for those beyond them as well.
            const int to = s == shape.z - 1 ? z1 + R - 1 : s;
            int z = s == 0 ? z0 - R : s;
#pragma unroll 1
            do {
                float done[ROWS];
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    // waiting[k] belongs to output slice z − R + k.
                    done[r] = fmaf(weights.z[R], sum[r], waiting[r][0]);
#pragma unroll
                    for (int k = 1; k < 2 * R; ++k)
                        waiting[r][k - 1] = fmaf(weights.z[k < R ? R - k : k - R], sum[r], waiting[r][k]);
                    waiting[r][2 * R - 1] = weights.z[R] * sum[r];
                }
                if (z - R < z0) continue;
                const unsigned int zero = clear && on_edge(z - R, shape.z) ? ~0u : flags;
                if (blend != 1.f)
#pragma unroll
                    for (int r = 0; r < ROWS; ++r)
                        if (flags >> r & 1) done[r] = blend * done[r] + (1.f - blend) * in[here + r * shape.x];
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
                    if (flags >> r & 1) out[here + (unsigned int)(r * shape.x)] = zero >> (8 + r) & 1 ? 0.f : done[r];
                here += slice;
            } while (++z <= to);
            __syncthreads();
        }
    }
};

// blockIdx.z = plane · chunks + chunk of so many slices.
#define SMOOTH(R, HEIGHT, ROWS)                                                                                        \
    extern "C" __global__ void __launch_bounds__(WIDTH * HEIGHT / ROWS, 2)                                             \
        smooth_##R(const float *READ in, float *out, const __grid_constant__ Shape shape,                              \
                   const __grid_constant__ Weights weights, int chunks, int depth, float blend, int clear)             \
    {                                                                                                                  \
        __shared__ __align__(16) Smoother<R, HEIGHT, ROWS>::Shared shared;                                             \
        const size_t base = blockIdx.z / chunks * plane(shape);                                                        \
        const int z0 = blockIdx.z % chunks * depth, z1 = min(z0 + depth, shape.z);                                     \
        Smoother<R, HEIGHT, ROWS>(weights, shared)                                                                     \
            .column(in + base, out + base, shape, blockIdx.x * WIDTH, blockIdx.y * HEIGHT, z0, z1, blend, clear);      \
    }

// As in src/cuda/smooth.rs.
SMOOTH(3, 36, 6)
SMOOTH(4, 36, 6)
SMOOTH(6, 36, 6)
SMOOTH(8, 32, 4)

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
