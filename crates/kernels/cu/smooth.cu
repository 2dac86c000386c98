// Separable Gaussian smoothing of the planes of an image or a field; values continue beyond the border.
#include "volume.cuh"

// Half kernels, zero beyond their end.
struct Weights {
    float x[16], y[16], z[16];
};

// Columns of a tile along x with their margins: a thread each. As in src/cuda/smooth.rs.
#define MOST_THREADS 192
// Floats between rows in shared memory, before and after smoothing along x: threads that take four floats each at one place
// of successive rows find them in different banks.
#define PITCH_IN (MOST_THREADS + 4)
#define PITCH_OUT (MOST_THREADS - 4)

template <typename T> __device__ __forceinline__ T *at_byte(T *plane, unsigned int bytes)
{
    return (T *)((const char *)plane + bytes);
}

// All three axes in one pass over memory. A block takes ROWS rows of a tile and walks along z, a thread a column: of each
// slice it reads its rows and those around them, smooths along y in registers, and adds the sums to the 2R outputs of each
// row that still wait for them, in registers too. Rows that are done go to shared memory, where a thread smooths a run of
// ROWS voxels of one row along x; the slice after, they are written. So nothing is computed twice but sums in the margins
// of a tile along x and of a chunk along z, and there is one barrier a slice.
//
// The result is `blend`·smoothed + (1 − blend)·before; the border is set to zero when `clear` says so.
template <int R, int ROWS> struct Smoother {
    static constexpr int TALL = ROWS + 2 * R, SPAN = (ROWS + 2 * R + 3) / 4 * 4;

    struct Shared {
        float in[2][ROWS * PITCH_IN], out[2][ROWS * PITCH_OUT];
    };

    const Weights &weights;
    Shared &shared;
    const Shape &shape;
    const float *READ in;
    float *out;

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
    __device__ __forceinline__ void smooth_z(const float (&sum)[ROWS], float (&waiting)[ROWS][2 * R], int buffer) const
    {
        float *to = &shared.in[buffer][threadIdx.x];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            // waiting[k] belongs to the output R − k slices back.
            to[r * PITCH_IN] = fmaf(weights.z[R], sum[r], waiting[r][0]);
#pragma unroll
            for (int k = 1; k < 2 * R; ++k)
                waiting[r][k - 1] = fmaf(weights.z[k < R ? R - k : k - R], sum[r], waiting[r][k]);
            waiting[r][2 * R - 1] = weights.z[R] * sum[r];
        }
    }

    // Along x: a run of one row, from shared memory and back.
    __device__ __forceinline__ void smooth_x(int width, int buffer) const
    {
        const int row = threadIdx.x % ROWS, run = threadIdx.x / ROWS * ROWS;
        if (run >= width) return;
        float value[SPAN], sum[ROWS];
        const float4 *from = (const float4 *)&shared.in[buffer][row * PITCH_IN + run];
#pragma unroll
        for (int i = 0; i < SPAN; i += 4) {
            const float4 four = from[i / 4];
            value[i] = four.x, value[i + 1] = four.y, value[i + 2] = four.z, value[i + 3] = four.w;
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            sum[i] = weights.x[0] * value[i + R];
#pragma unroll
            for (int k = 1; k <= R; ++k) sum[i] = fmaf(weights.x[k], value[i + R - k] + value[i + R + k], sum[i]);
        }
        float4 *to = (float4 *)&shared.out[buffer][row * PITCH_OUT + run];
#pragma unroll
        for (int i = 0; i < ROWS; i += 4) to[i / 4] = make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);
    }

    // Slices z0 to z1 of the rows from y0 on and `width` columns from x0 on.
    __device__ __forceinline__ void tile(int width, int x0, int y0, int z0, int z1, float blend, int clear) const
    {
        const int c = threadIdx.x, x = x0 + c, rows = min(ROWS, shape.y - y0);
        const unsigned int slice = 4 * shape.x * shape.y, row = 4 * shape.x;
        const bool inside = y0 >= R && y0 + ROWS + R <= shape.y, stores = c < width && x < shape.x;
        const bool zero_column = clear && on_edge(x, shape.x);
        unsigned int zero_rows = 0;
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (clear && on_edge(y0 + r, shape.y)) zero_rows |= 1u << r;

        // Bytes to this thread's column of the next slice to read, at its first row where none is clamped.
        const int first = max(z0 - R, 0), last = min(z1 + R, shape.z) - 1;
        unsigned int from = first * slice + 4 * min(max(x - R, 0), shape.x - 1) + (inside ? (y0 - R) * row : 0u);
        float value[TALL], sum[ROWS], waiting[ROWS][2 * R];
        auto fetch = [&] {
            if (inside) {
                const float *at = at_byte(in, from);
#pragma unroll
                for (int n = 0; n < TALL; ++n, at = at_byte(at, row)) value[n] = __ldg(at);
            } else {
#pragma unroll
                for (int n = 0; n < TALL; ++n)
                    value[n] = __ldg(at_byte(in, from + row * min(max(y0 - R + n, 0), shape.y - 1)));
            }
        };
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
#pragma unroll
            for (int k = 0; k < 2 * R; ++k) waiting[r][k] = 0.f;
        unsigned int here = z0 * slice + (y0 * row + 4 * x);
        fetch();
#pragma unroll 1
        for (int s = z0 - R, buffer = 0; s <= z1 + R; ++s) {
            // The last round only writes. The first and the last slice stand for those beyond them as well.
            if (s < z1 + R) {
                smooth_y(value, sum);
                if (s >= first && s < last) from += slice;
                // Not before the sums: the next values take the registers of these.
#pragma unroll
                for (int r = 0; r < ROWS; ++r) asm volatile("" : "+f"(sum[r]), "+r"(from));
                fetch();
                smooth_z(sum, waiting, buffer);
            }
            if (s - R < z0) continue;
            __syncthreads();
            const int z = s - R - 1;
            if (z >= z0) {
                if (stores) write(here, row, rows, buffer ^ 1, zero_column || (clear && on_edge(z, shape.z)), zero_rows, blend);
                here += slice;
            }
            if (s < z1 + R) smooth_x(width, buffer);
            buffer ^= 1;
        }
    }

    // Writes a column of what is done of one slice.
    __device__ __forceinline__ void write(unsigned int here, unsigned int row, int rows, int buffer, bool zero,
                                          unsigned int zero_rows, float blend) const
    {
        const float *done = &shared.out[buffer][threadIdx.x];
        float result[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) result[r] = done[r * PITCH_OUT];
        if (blend != 1.f)
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                if (r < rows) result[r] = blend * result[r] + (1.f - blend) * *at_byte(in, here + r * row);
        float *at = at_byte(out, here);
        if (rows == ROWS && zero_rows == 0)
#pragma unroll
            for (int r = 0; r < ROWS; ++r, at = at_byte(at, row)) *at = zero ? 0.f : result[r];
        else
#pragma unroll
            for (int r = 0; r < ROWS; ++r, at = at_byte(at, row))
                if (r < rows) *at = zero || (zero_rows >> r & 1) ? 0.f : result[r];
    }
};

// blockIdx.z = plane · chunks + chunk of so many slices.
#define SMOOTH(R, ROWS, BLOCKS)                                                                                        \
    extern "C" __global__ void __launch_bounds__(MOST_THREADS, BLOCKS)                                                 \
        smooth_##R(const float *READ in, float *out, const __grid_constant__ Shape shape,                              \
                   const __grid_constant__ Weights weights, int width, int chunks, int depth, float blend, int clear)  \
    {                                                                                                                  \
        __shared__ __align__(16) Smoother<R, ROWS>::Shared shared;                                                     \
        const size_t base = blockIdx.z / chunks * plane(shape);                                                        \
        const int z0 = blockIdx.z % chunks * depth, z1 = min(z0 + depth, shape.z);                                     \
        Smoother<R, ROWS>{weights, shared, shape, in + base, out + base}.tile(width, blockIdx.x *width,                \
                                                                              blockIdx.y *ROWS, z0, z1, blend, clear); \
    }

// As in src/cuda/smooth.rs.
SMOOTH(3, 8, 3)
SMOOTH(4, 8, 2)
SMOOTH(6, 8, 2)
SMOOTH(8, 4, 2)

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
