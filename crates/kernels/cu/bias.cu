// Operations of N4 (src/bias/mod.rs), with the order of operations of src/cpu/bias.rs. Samples and control points are stored with
// the first axis fastest. Four neighbouring control points reach each place (sample or voxel) along an axis.
#include "exponential.cuh"
#include "points.cuh"
#include "reduce.cuh"

// One axis of a mesh, with one kind of weights.
struct Axis {
    // For each place the first control point that reaches it, and four weights.
    const unsigned int *first;
    const double *weights;
    // For each control point the first place that it reaches, and the place after the last.
    const uint2 *places;
    unsigned int length, points;
};

// Range of the values of a histogram, for bins of this width, and the expectations in the middle of each bin.
struct Sharpened {
    double low, width;
    const double *expected;
    int bins;
};

// What the host reads after an iteration; the shares of the bins follow.
struct Outcome {
    double sum, squares, low, high;
};

#define WHOLE 65536.0
#define INFINITE __int_as_float(0x7f800000)

// The bin at or below a value, at most the last but one, and the distance of the value from it in bins.
__device__ __forceinline__ int place(double value, double low, double width, int bins, double &beyond)
{
    const double at = fmax((value - low) / width, 0.0);
    const int bin = min(at < (double)bins ? (int)at : bins, bins - 2);
    beyond = fmin(at - (double)bin, 1.0);
    return bin;
}

// The weighted difference of each sample and its expectation; without expectations, the weight.
extern "C" __global__ void __launch_bounds__(256) bias_residuals(const float *READ left, const float *READ weights,
                                                                 unsigned int count, Sharpened sharpened, double *out)
{
    const unsigned int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= count) return;
    const float weight = weights[n];
    double residual = 0.0;
    if (weight > 0.f) {
        residual = (double)weight;
        if (sharpened.expected) {
            const double value = (double)left[n];
            double beyond;
            const int bin = place(value, sharpened.low, sharpened.width, sharpened.bins, beyond);
            const double here = sharpened.expected[bin], next = sharpened.expected[bin + 1];
            residual = residual * (value - (here + (next - here) * beyond));
        }
    }
    out[n] = residual;
}

// The sums along one axis: from `values`, `inner` for each place, to `sums`, `inner` for each control point. A thread for each of
// the `count` sums.
extern "C" __global__ void __launch_bounds__(128)
    bias_gather(const double *READ values, Axis axis, unsigned int inner, unsigned int count, double *sums)
{
    const unsigned int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= count) return;
    const unsigned int point = n / inner % axis.points, group = n / inner / axis.points;
    const uint2 places = axis.places[point];
    const double *of_group = values + ((size_t)group * axis.length * inner + n % inner);
    double sum = 0.0;
#pragma unroll 4
    for (unsigned int at = places.x; at < places.y; ++at)
        sum += axis.weights[4 * (size_t)at + (point - axis.first[at])] * of_group[(size_t)at * inner];
    sums[n] = sum;
}

// Adds the means of what the samples ask of each control point to the field.
extern "C" __global__ void __launch_bounds__(128)
    bias_add(const double *READ sums, const double *READ squares, unsigned int count, double *field)
{
    const unsigned int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < count) field[n] += squares[n] > 0.0 ? sums[n] / squares[n] : 0.0;
}

// The field combined along its third axis: `plane` control points for each place. A thread for each of the `count` results.
extern "C" __global__ void __launch_bounds__(128)
    bias_planes(const double *READ field, Axis axis, unsigned int plane, unsigned int count, double *planes)
{
    const unsigned int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= count) return;
    const unsigned int at = n / plane;
    const double *near = field + ((size_t)axis.first[at] * plane + n % plane);
    double sum = 0.0;
#pragma unroll
    for (int k = 0; k < 4; ++k) sum += axis.weights[4 * (size_t)at + k] * near[(size_t)k * plane];
    planes[n] = sum;
}

// The spline at a place of a slice, from the control points of the slice.
__device__ __forceinline__ double value_at(const double *READ plane, const Axis &x, const Axis &y, unsigned int at_x,
                                           unsigned int at_y)
{
    const double *weights_x = x.weights + 4 * (size_t)at_x, *weights_y = y.weights + 4 * (size_t)at_y;
    const double *near = plane + ((size_t)y.first[at_y] * x.points + x.first[at_x]);
    double row[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        row[i] = 0.0;
#pragma unroll
        for (int j = 0; j < 4; ++j) row[i] += weights_y[j] * near[(size_t)j * x.points + i];
    }
    return weights_x[0] * row[0] + weights_x[1] * row[1] + weights_x[2] * row[2] + weights_x[3] * row[3];
}

// Warps of a block of the kernels that take rows; src/cuda/bias.rs counts on it.
#define WARPS 4

// Subtracts the field from the logarithms of the samples that count. A warp takes one of `rows` rows. It leaves the row's sums of
// the changes and their squares, and the row's range. Without `planes` nothing is subtracted.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    bias_subtract(const float *READ logarithms, const float *READ weights, float *left, const double *READ planes, Axis x,
                  Axis y, unsigned int rows, double2 *sums, float2 *ranges)
{
    const unsigned int row = blockIdx.x * WARPS + threadIdx.y;
    if (row >= rows) return;
    const double *plane = planes + (size_t)(row / y.length) * y.points * x.points;
    double sum = 0.0, squares = 0.0;
    float low = INFINITE, high = -INFINITE;
    for (unsigned int at = threadIdx.x; at < x.length; at += 32) {
        const size_t n = (size_t)row * x.length + at;
        if (!(weights[n] > 0.f)) continue;
        float now = left[n];
        if (planes) {
            const float before = now;
            now = (float)((double)logarithms[n] - value_at(plane, x, y, at, row % y.length));
            const double change = exponential_minus_one((double)now - (double)before);
            left[n] = now;
            sum += change;
            squares += change * change;
        }
        low = fminf(low, now);
        high = fmaxf(high, now);
    }
    sum = warp_sum(sum);
    squares = warp_sum(squares);
    low = -warp_max(-low);
    high = warp_max(high);
    if (threadIdx.x == 0) {
        sums[row] = make_double2(sum, squares);
        ranges[row] = make_float2(low, high);
    }
}

// The sums and the range of all rows; clears the shares of the bins. One block.
extern "C" __global__ void __launch_bounds__(1024) bias_totals(const double2 *READ sums, const float2 *READ ranges,
                                                               unsigned int rows, int bins, Outcome *outcome)
{
    unsigned long long *shares = (unsigned long long *)(outcome + 1);
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) shares[bin] = 0;
    double sum = 0.0, squares = 0.0;
    float low = INFINITE, high = -INFINITE;
    for (unsigned int row = threadIdx.x; row < rows; row += blockDim.x) {
        sum += sums[row].x;
        squares += sums[row].y;
        low = fminf(low, ranges[row].x);
        high = fmaxf(high, ranges[row].y);
    }
    sum = block_sum(sum);
    squares = block_sum(squares);
    low = -of_block(-low, warp_max, -INFINITE);
    high = of_block(high, warp_max, -INFINITE);
    if (threadIdx.x == 0) *outcome = {sum, squares, (double)low, (double)high};
}

// Samples of a block of the next kernel: their shares do not overflow 32 bits. src/cuda/bias.rs counts on it.
#define RUN 2048

// Adds the shares of the samples that count to the bins. With few bins (`own` is not 0) each block has its own in shared memory.
extern "C" __global__ void __launch_bounds__(256) bias_histogram(const float *READ left, const float *READ weights,
                                                                 unsigned int count, int bins, int own, Outcome *outcome)
{
    extern __shared__ unsigned int of_block_bins[];
    unsigned long long *shares = (unsigned long long *)(outcome + 1);
    const double low = outcome->low, width = (outcome->high - low) / (double)(bins - 1);
    if (!(width > 0.0)) return;
    if (own) {
        for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) of_block_bins[bin] = 0;
        __syncthreads();
    }
    const unsigned int end = min(count - blockIdx.x * RUN, RUN) + blockIdx.x * RUN;
    for (unsigned int n = blockIdx.x * RUN + threadIdx.x; n < end; n += blockDim.x) {
        if (!(weights[n] > 0.f)) continue;
        double beyond;
        const int bin = place((double)left[n], low, width, bins, beyond);
        const unsigned int next = (unsigned int)(beyond * WHOLE + 0.5), here = (unsigned int)WHOLE - next;
        if (own) {
            atomicAdd(of_block_bins + bin, here);
            atomicAdd(of_block_bins + bin + 1, next);
        } else {
            atomicAdd(shares + bin, (unsigned long long)here);
            atomicAdd(shares + bin + 1, (unsigned long long)next);
        }
    }
    if (!own) return;
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        if (of_block_bins[bin]) atomicAdd(shares + bin, (unsigned long long)of_block_bins[bin]);
}

// Divides each voxel by the factor of the field, or sets it to the factor. A warp takes one of `rows` rows.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    bias_factors(const double *READ planes, Axis x, Axis y, unsigned int rows, int divide, float *image)
{
    const unsigned int row = blockIdx.x * WARPS + threadIdx.y;
    if (row >= rows) return;
    const double *plane = planes + (size_t)(row / y.length) * y.points * x.points;
    float *voxels = image + (size_t)row * x.length;
    for (unsigned int at = threadIdx.x; at < x.length; at += 32) {
        const float factor = exponential((float)value_at(plane, x, y, at, row % y.length));
        voxels[at] = divide ? voxels[at] / factor : factor;
    }
}
