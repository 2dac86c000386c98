// Mutual information after Mattes: joint histograms in integers, logarithms of their probabilities, and the derivatives
// of both images. The formulas are those of src/ops/similarity.rs; the arithmetic is that of src/cpu/similarity/mi_gradient.rs, operation by
// operation.
#include "cross_correlation.cuh"

// The integer that stands for the total weight 1 of a voxel in a histogram.
#define UNIT 65536u
#define SIXTH ((float)UNIT / 6.f)

// Maps the values of an image to positions on its axis of histogram bins.
struct Binning {
    float low, high, scale, span;
};

// The position of an image value on the axis of bins: its bin, and its distance from the start of that bin, in bins.
struct Place {
    unsigned int bin;
    float t;

    __device__ __forceinline__ Place(const Binning &binning, float value)
    {
        const float s = fminf(fmaxf((value - binning.low) * binning.scale, 0.f), binning.span);
        const int whole = (int)fminf(s, binning.span - 1.f);
        bin = whole + 2;
        t = s - (float)whole;
    }

    // Adds the four weights of a cubic B-spline, multiplied by `times`, to the four counters around the position in a
    // row of the histogram.
    __device__ __forceinline__ void count(unsigned int *row, unsigned int times) const
    {
        const float s = 1.f - t;
        const unsigned int first = (unsigned int)(s * s * s * SIXTH + 0.5f);
        const unsigned int third = (unsigned int)((((3.f - 3.f * t) * t + 3.f) * t + 1.f) * SIXTH + 0.5f);
        const unsigned int fourth = (unsigned int)(t * t * t * SIXTH + 0.5f);
        unsigned int *around = row + bin - 1;
        atomicAdd(around, times * first);
        atomicAdd(around + 1, times * (UNIT - first - third - fourth));
        atomicAdd(around + 2, times * third);
        atomicAdd(around + 3, times * fourth);
    }

    // Derivative at this position of the spline through a row of logarithms: the sum of the logarithms around it, each
    // times the derivative of its B-spline weight.
    __device__ __forceinline__ float slope(const float *row) const
    {
        const float s = 1.f - t, *around = row + bin - 1;
        const float first = -0.5f * s * s, second = 0.5f * t * (3.f * t - 4.f);
        const float third = 0.5f * ((2.f - 3.f * t) * t + 1.f), fourth = 0.5f * t * t;
        return first * around[0] + second * around[1] + third * around[2] + fourth * around[3];
    }
};

__device__ __forceinline__ bool contains(const Binning &binning, float value)
{
    return value >= binning.low && value <= binning.high;
}

// Adds both joint histograms to `counts`. Rows 0 … bins − 1 are the histogram for the moving image's derivative, with
// one row for each fixed bin; then follow the rows for the fixed image's derivative, one for each moving bin. A thread
// block counts in shared memory, in as many rows as fit there; blockIdx.y says which rows these are. The host chooses
// the number of blocks such that no counter of a block overflows.
extern "C" __global__ void __launch_bounds__(1024)
    mattes_histograms(Pair pair, Binning fixed_binning, Binning moving_binning, unsigned int bins, unsigned int rows_at_once,
                      unsigned long long *counts)
{
    extern __shared__ unsigned int seen[];
    const unsigned int first_row = blockIdx.y * rows_at_once, rows = min(rows_at_once, 2 * bins - first_row);
    for (unsigned int cell = threadIdx.x; cell < rows * bins; cell += blockDim.x) seen[cell] = 0;
    __syncthreads();
    const size_t total = voxels(pair.shape), step = (size_t)gridDim.x * blockDim.x;
    const unsigned int lane = threadIdx.x % 32;
    for (size_t start = (size_t)blockIdx.x * blockDim.x + threadIdx.x - lane; start < total; start += step) {
        const size_t at = start + lane;
        const bool counts_here = at < total && counted(pair, at);
        const float f = counts_here ? __ldg(pair.fixed + at) : 0.f, m = counts_here ? __ldg(pair.moving + at) : 0.f;
        const unsigned int counting = __ballot_sync(0xffffffffu, counts_here);
        if (counting == 0) continue;
        // In the background and in regions of constant intensity many lanes (threads) of the warp have voxels with the
        // same values as the first lane that counts a voxel. This lane then counts all of them.
        const int leader = __ffs(counting) - 1;
        const float first_f = __shfl_sync(0xffffffffu, f, leader), first_m = __shfl_sync(0xffffffffu, m, leader);
        const bool alike = counts_here && f == first_f && m == first_m;
        const unsigned int times = __popc(__ballot_sync(0xffffffffu, alike));
        if (counts_here && (!alike || lane == leader)) {
            const Place fixed(fixed_binning, f), moving(moving_binning, m);
            const unsigned int for_moving = fixed.bin - first_row, for_fixed = bins + moving.bin - first_row;
            if (for_moving < rows) moving.count(seen + for_moving * bins, alike ? times : 1);
            if (for_fixed < rows) fixed.count(seen + for_fixed * bins, alike ? times : 1);
        }
    }
    __syncthreads();
    for (unsigned int cell = threadIdx.x; cell < rows * bins; cell += blockDim.x)
        if (seen[cell]) atomicAdd(counts + first_row * bins + cell, (unsigned long long)seen[cell]);
}

// Computes the logarithms scale·ln(p(i, j)/p(j)) for each bin j of the derivative's image and each bin i of the other
// image, 0 where a counter is zero. Also computes information[side], the mutual information in nats. A thread block
// processes one histogram: 0 for the moving image's derivative, 1 for the fixed image's.
extern "C" __global__ void __launch_bounds__(1024)
    mattes_logarithms(const unsigned long long *READ counts, unsigned int bins, float moving_scale, float fixed_scale,
                      float *logarithms, double *information)
{
    extern __shared__ unsigned long long sums[];
    __shared__ double total;
    unsigned long long *others = sums, *own = sums + bins;
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, cells = bins * bins;
    const double scale = blockIdx.x == 0 ? moving_scale : fixed_scale;
    counts += blockIdx.x * cells;
    logarithms += blockIdx.x * cells;
    for (unsigned int row = warp; row < bins; row += blockDim.x / 32) {
        unsigned long long sum = 0;
        for (unsigned int j = lane; j < bins; j += 32) sum += counts[row * bins + j];
        sum = warp_sum(sum);
        if (lane == 0) others[row] = sum;
    }
    for (unsigned int j = threadIdx.x; j < bins; j += blockDim.x) {
        unsigned long long sum = 0;
#pragma unroll 8
        for (unsigned int row = 0; row < bins; ++row) sum += counts[row * bins + j];
        own[j] = sum;
    }
    __syncthreads();
    const unsigned long long sum = block_sum(threadIdx.x < bins ? others[threadIdx.x] : 0ull);
    if (threadIdx.x == 0) total = (double)sum;
    __syncthreads();
    double shared_nats = 0.0;
    for (unsigned int cell = threadIdx.x; cell < cells; cell += blockDim.x) {
        const double count = (double)counts[cell];
        double given_own = 0.0;
        if (count > 0.0) {
            given_own = log(count / (double)own[cell % bins]);
            shared_nats += count / total * (given_own - log((double)others[cell / bins] / total));
        }
        logarithms[cell] = (float)(scale * given_own);
    }
    shared_nats = block_sum(shared_nats);
    if (threadIdx.x == 0) information[blockIdx.x] = shared_nats;
}

// Computes the derivatives of both images. A thread block processes `depth` slices of 32×8 columns, so that one copy of
// the logarithms in shared memory serves many voxels.
template <bool SHARED>
__device__ __forceinline__ void derivatives(const Pair &pair, const Binning &fixed_binning,
                                            const Binning &moving_binning, unsigned int bins,
                                            const float *READ logarithms, int depth, const Output &out)
{
    extern __shared__ float copies[];
    const unsigned int cells = bins * bins;
    if (SHARED) {
        for (unsigned int cell = thread_index(); cell < 2 * cells; cell += blockDim.x * blockDim.y)
            copies[cell] = __ldg(logarithms + cell);
        __syncthreads();
    }
    const float *tables = SHARED ? copies : logarithms;
    Voxel v = {(int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y),
               (int)blockIdx.z * depth};
    if (!within(v, pair.shape)) return;
    Writer writer;
    writer.start(out, pair.shape, v.x, v.y);
    const int end = min(v.z + depth, pair.shape.z);
    for (; v.z < end; ++v.z) {
        const size_t here = offset(v, pair.shape);
        float for_fixed = 0.f, for_moving = 0.f;
        if (counted(pair, here)) {
            const float f = __ldg(pair.fixed + here), m = __ldg(pair.moving + here);
            const Place fixed(fixed_binning, f), moving(moving_binning, m);
            if (contains(moving_binning, m)) for_moving = moving.slope(tables + fixed.bin * bins);
            if (contains(fixed_binning, f)) for_fixed = fixed.slope(tables + cells + moving.bin * bins);
        }
        writer.write(out, pair, v.z, here, for_fixed, for_moving);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    mattes_gradient(Pair pair, Binning fixed_binning, Binning moving_binning, unsigned int bins,
                    const float *READ logarithms, int depth, Output out)
{
    derivatives<true>(pair, fixed_binning, moving_binning, bins, logarithms, depth, out);
}

// Computes the derivatives of both images if the logarithms for this number of bins do not fit into shared memory.
extern "C" __global__ void __launch_bounds__(256)
    mattes_gradient_wide(Pair pair, Binning fixed_binning, Binning moving_binning, unsigned int bins,
                         const float *READ logarithms, int depth, Output out)
{
    derivatives<false>(pair, fixed_binning, moving_binning, bins, logarithms, depth, out);
}
