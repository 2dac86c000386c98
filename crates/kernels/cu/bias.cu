// Kernels for the operations of N4 (src/bias/mod.rs), with the order of operations of src/cpu/bias.rs. Samples and
// control points of the B-spline mesh are stored with the first axis fastest. A place is a sample or voxel along an
// axis. Four neighbouring control points influence the spline at each place.
#include "exponential.cuh"
#include "points.cuh"
#include "reduce.cuh"

// One axis of a B-spline mesh, with four weights for each place (sample or voxel) along the axis: the B-spline weights,
// or values computed from them.
struct Axis {
    // For each place (sample or voxel along the axis): index of the first of the four control points that influence the
    // spline there, and the weights of these control points.
    const unsigned int *first;
    const double *weights;
    // For each control point: index along the axis of the first sample or voxel that it influences, and last index + 1.
    const uint2 *places;
    unsigned int length, points;
};

// N4's table of expected logarithms without shading: `low` is the measured logarithm in the middle of the first bin,
// `width` the distance between the middles of two bins. `expected` has one expectation for each bin's middle.
struct Sharpened {
    double low, width;
    const double *expected;
    int bins;
};

// Results of an iteration of N4: Σd and Σd² of the relative changes d of the bias factor, and the range of the
// corrected logarithms (log intensity minus field). Their histogram follows in memory, in units of 1/65536 of a sample.
struct Outcome {
    double sum, squares, low, high;
};

#define WHOLE 65536.0
#define INFINITE __int_as_float(0x7f800000)

// Returns the index of the bin whose middle is at or below a value. `beyond` becomes the distance of the value from
// this middle, in bins. The index is never that of the last bin.
__device__ __forceinline__ int place(double value, double low, double width, int bins, double &beyond)
{
    const double at = fmax((value - low) / width, 0.0);
    const int bin = min(at < (double)bins ? (int)at : bins, bins - 2);
    beyond = fmin(at - (double)bin, 1.0);
    return bin;
}

// Computes the weighted residual of each sample: the corrected logarithm `left` (log intensity minus bias field), minus
// the expected logarithm without shading, times the weight. Without expectations, the result is the weight alone.
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

// Sums values of samples for the fit, along one axis: each control point gets the sum over the samples it influences,
// each times its weight there. There are `inner` values for each sample along the axis, and `inner` sums for each
// control point. Each thread computes one of the `count` sums.
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

// Updates the control points of the N4 bias field. Adds to each the weighted mean, over its samples, of the values that
// would fit their residuals. `sums` has the numerators of these means, and `squares` the denominators.
extern "C" __global__ void __launch_bounds__(128)
    bias_add(const double *READ sums, const double *READ squares, unsigned int count, double *field)
{
    const unsigned int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < count) field[n] += squares[n] > 0.0 ? sums[n] / squares[n] : 0.0;
}

// First step of evaluating the bias field in each slice: sums four control points along the third axis times their
// B-spline weights. Each slice has `plane` results, one for each control point of the first two axes. Each thread
// computes one of the `count` results.
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

// The bias field at the sample or voxel with the indices (at_x, at_y) in a slice. `plane` has the control points of the
// slice, which `bias_planes` has combined along the third axis.
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

// Number of warps of a block in kernels whose warps process one row each, as in src/cuda/bias/launches.rs.
#define WARPS 4

// Sets `left` to log intensity minus bias field, for each sample with a weight above 0. Each warp processes one row of
// samples. For each row it writes two sums, Σd and Σd², with d = exp(new − old value of `left`) − 1, and the range of
// the new values. If `planes` is null, `left` stays as it is, and only its range is computed.
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

// Adds the sums Σd and Σd² of all rows of samples, computes the common range of the rows' corrected logarithms, and
// sets the bins of their histogram to zero. The launch has a single thread block.
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

// Number of samples that a block of `bias_histogram` processes, as in src/cuda/bias/launches.rs. The content of a bin,
// in 65536ths of a sample, cannot overflow 32 bits with so few samples.
#define RUN 2048

// Histogram of the corrected logarithms `left`: each sample with a weight above 0 is divided between the two nearest
// bins. If `own` is not 0, each thread block first counts in its own histogram in shared memory; this needs few bins.
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

// Divides each voxel of an image by the exponential of the bias field. If `divide` is 0, sets the voxel to this
// exponential instead. Each warp processes one of `rows` rows of voxels.
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
