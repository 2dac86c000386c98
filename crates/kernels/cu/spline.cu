// Cubic-spline interpolation of an image (Unser, Aldroubi & Eden 1993), mirrored about its outermost voxel centres: the
// spline's coefficients, by a causal and an anticausal recursion along each axis, and the warped image out(x) =
// spline(m(x + u(x))). The arithmetic is that of src/spline.rs, operation by operation.
#include "taps.cuh"
#include "volume.cuh"

// √3 − 2.
#define POLE (-0.2679492f)
#define GAIN ((1.f - POLE) * (1.f - 1.f / POLE))
#define END (POLE / (POLE * POLE - 1.f))
// Number of samples from which the first causal coefficient is computed: the weights of further samples, powers of the
// pole, are below single precision.
#define SAMPLES 32
// Number of values of a line that a thread loads at once before it filters them.
#define AHEAD 16

// Index on a line of sample number k, if the line is mirrored about both ends. The line may be shorter than k; it has
// at least two voxels.
__device__ __forceinline__ int mirrored(int k, int length)
{
    const int period = 2 * (length - 1), at = k % period;
    return at < length ? at : period - at;
}

// The first causal coefficient of a line, whose samples are `stride` apart in memory.
__device__ __forceinline__ float first(const float *line, int length, unsigned int stride)
{
    double sum = 0.;
    if (length >= SAMPLES) {
#pragma unroll 8
        for (int k = SAMPLES - 1; k >= 0; --k) sum = (double)(GAIN * line[(size_t)k * stride]) + (double)POLE * sum;
    } else {
#pragma unroll 1
        for (int k = SAMPLES - 1; k >= 0; --k)
            sum = (double)(GAIN * line[(size_t)mirrored(k, length) * stride]) + (double)POLE * sum;
    }
    return (float)sum;
}

// Computes the coefficients of the lines along y or z, in place. Each thread processes one line. The threads of a warp
// process lines that begin at successive x, so that they read memory along x.
extern "C" __global__ void __launch_bounds__(64) spline_lines(float *values, unsigned int count, unsigned int group,
                                                              unsigned int group_stride, int length, unsigned int stride)
{
    const unsigned int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= count) return;
    float *line = values + ((size_t)(n / group) * group_stride + n % group);
    float here = first(line, length, stride), before = 0.f;
    line[0] = here;
    for (int start = 1; start < length; start += AHEAD) {
        float next[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            if (start + k < length) next[k] = line[(size_t)(start + k) * stride];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            if (start + k < length) {
                before = here;
                here = GAIN * next[k] + POLE * before;
                line[(size_t)(start + k) * stride] = here;
            }
    }
    float after = END * (here + POLE * before);
    line[(size_t)(length - 1) * stride] = after;
    for (int start = length - 2; start >= 0; start -= AHEAD) {
        float next[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            if (start - k >= 0) next[k] = line[(size_t)(start - k) * stride];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            if (start - k >= 0) {
                after = POLE * (after - next[k]);
                line[(size_t)(start - k) * stride] = after;
            }
    }
}

// Number of lines of voxels that a warp filters, and number of warps in a block; as in src/cuda/warping/spline_coefficients.rs.
#define ROWS 32
#define WARPS 4

// A tile of 32 voxels of 32 rows. It is read and written along the rows, and each lane processes one row.
struct Tile {
    float at[ROWS][ROWS + 1];

    __device__ __forceinline__ void load(const float *values, int rows, int length, int start)
    {
        const int lane = threadIdx.x;
        __syncwarp();
#pragma unroll 16
        for (int row = 0; row < ROWS; ++row)
            at[row][lane] = row < rows && start + lane < length ? values[(size_t)row * length + (start + lane)] : 0.f;
        __syncwarp();
    }

    __device__ __forceinline__ void store(float *values, int rows, int length, int start) const
    {
        const int lane = threadIdx.x;
        __syncwarp();
#pragma unroll 16
        for (int row = 0; row < ROWS; ++row)
            if (row < rows && start + lane < length) values[(size_t)row * length + (start + lane)] = at[row][lane];
    }
};

// Computes the spline coefficients of the lines of voxels along x, in place. Each warp processes 32 lines, one for each
// of its lanes.
extern "C" __global__ void __launch_bounds__(ROWS *WARPS) spline_rows(float *values, int rows, int length)
{
    __shared__ Tile tiles[WARPS];
    Tile &tile = tiles[threadIdx.y];
    const int from = (blockIdx.x * WARPS + threadIdx.y) * ROWS;
    if (from >= rows) return;
    values += (size_t)from * length;
    rows = min(rows - from, ROWS);
    float *line = tile.at[threadIdx.x];
    float here = 0.f, before = 0.f;
    for (int start = 0; start < length; start += ROWS) {
        tile.load(values, rows, length, start);
        int k = 0;
        if (start == 0) {
            // The first causal coefficient of a line needs only samples of the line's first tile.
            line[0] = here = first(line, length, 1);
            k = 1;
        }
        for (const int end = min(length - start, ROWS); k < end; ++k) {
            before = here;
            line[k] = here = GAIN * line[k] + POLE * before;
        }
        tile.store(values, rows, length, start);
    }
    float after = 0.f;
    for (int start = (length - 1) / ROWS * ROWS; start >= 0; start -= ROWS) {
        tile.load(values, rows, length, start);
        int k = min(length - start, ROWS) - 1;
        if (start + k == length - 1) {
            line[k] = after = END * (here + POLE * before);
            --k;
        }
        for (; k >= 0; --k) line[k] = after = POLE * (after - line[k]);
        tile.store(values, rows, length, start);
    }
}

extern "C" __global__ void __launch_bounds__(128, 8)
    warp_spline(const float *READ coefficients, const __grid_constant__ Shape image_shape, const float *READ field,
                const __grid_constant__ Affine grid_to_image, float *out, const __grid_constant__ Shape shape)
{
    const Voxel voxel = ::voxel();
    const Vector start = along_row(grid_to_image, voxel.x, voxel.y, voxel.z);
    if (!within(voxel, shape)) return;
    const size_t here = offset(voxel, shape);
    const Vector point = moved(start, grid_to_image, load(field, plane(shape), here));
    out[here] = contains(image_shape, point) ? spline_value(coefficients, image_shape, point) : 0.f;
}
