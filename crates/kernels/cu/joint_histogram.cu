// Joint histograms and their entropies for a batch of transforms.
//
// Fixed voxels are sorted by bin and cut into segments of one bin each (bin_fixed.cu). So a thread block needs only one
// row of the histogram. Shared memory holds many copies of that row, so that lanes of a warp count in different memory
// banks. Weights are integers, so the sums do not depend on the order in which they are added.
#include "reduce.cuh"
#include "samples.cuh"

// The integer that stands for a sample of weight 1, the same as JointParameters::UNIT.
#define UNIT 65536.f

// Bins of the moving image's values in a joint histogram: a value is at (value − low)·scale on the axis of bins.
struct Joint {
    float low, scale;
    int bins;
    // Number of copies of each histogram counter in shared memory, a power of two.
    int copies;
};

__device__ __forceinline__ unsigned int rounded(float amount)
{
    return (unsigned int)floorf(amount + 0.5f);
}

// Adds one sample to a row of the joint histogram. `own` is the first counter of this lane's copy of the row.
template <bool PARTIAL>
__device__ __forceinline__ void count(const Sample &sample, const Moving &moving, const Joint &joint, unsigned int *own)
{
    const float weight = fminf(sample.weight, 1.f), top = (float)(joint.bins - 1);
    if (PARTIAL) {
#pragma unroll
        for (int corner = 0; corner < 4; ++corner) {
            const int b = corner & 1, c = corner >> 1;
            const float outer = weight * (c ? sample.tz : 1.f - sample.tz) * (b ? sample.ty : 1.f - sample.ty);
#pragma unroll
            for (int a = 0; a < 2; ++a) {
                const float value = sample.at(moving.image, a, b, c);
                const int bin = (int)fminf(fmaxf((value - joint.low) * joint.scale, 0.f), top);
                const unsigned int units = rounded(outer * (a ? sample.tx : 1.f - sample.tx) * UNIT);
                if (units) atomicAdd(own + bin * joint.copies, units);
            }
        }
    } else {
        const float value = sample.value(moving.image);
        const float at = fminf(fmaxf((value - joint.low) * joint.scale, 0.f), top);
        const float bin = fminf(floorf(at), top - 1.f);
        const unsigned int all = rounded(weight * UNIT), upper = rounded((at - bin) * (float)all);
        unsigned int *lower = own + (int)bin * joint.copies;
        if (all != upper) atomicAdd(lower, all - upper);
        if (upper) atomicAdd(lower + joint.copies, upper);
    }
}

// Computes what one segment of fixed voxels adds to the joint histogram of one transform. A segment is a part of the
// list of fixed voxels sorted by bin. All its voxels are in one fixed bin, so it adds to one row. The counter of a
// moving bin is element (transform · segments + segment) · bins + moving bin of `rows`; `segments` is the number of
// segments, `bins` the number of moving bins.
template <bool PARTIAL>
__device__ __forceinline__ void fill_row(const unsigned int *READ sorted, const float *READ weights,
                                         const Segment *READ segments, Shape fixed, const Moving &moving,
                                         const Joint &joint, const Map *READ maps, unsigned int *rows)
{
    extern __shared__ unsigned int counters[];
    const int copies = joint.copies;
    for (int at = threadIdx.x; at < joint.bins * copies; at += blockDim.x) counters[at] = 0;
    __syncthreads();
    const Segment segment = segments[blockIdx.x];
    const Map &map = maps[blockIdx.y];
    unsigned int *own = counters + (threadIdx.x & (copies - 1));
    for (unsigned int at = segment.start + threadIdx.x; at < segment.end; at += blockDim.x) {
        const Sample sample(map, moving, sorted[at], fixed, weights ? weights + at : nullptr);
        if (sample.weight > 0.f) count<PARTIAL>(sample, moving, joint, own);
    }
    __syncthreads();
    unsigned int *row = rows + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * joint.bins;
    for (int bin = threadIdx.x; bin < joint.bins; bin += blockDim.x) {
        unsigned int sum = 0;
        // Each lane of a warp adds up the copies of one counter of the histogram row, and begins with another copy than
        // the neighbouring lanes. So the lanes read from different memory banks.
        for (int copy = 0; copy < copies; ++copy) sum += counters[bin * copies + ((copy + bin) & (copies - 1))];
        row[bin] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(128)
    joint_rows_trilinear(const unsigned int *READ sorted, const float *READ weights, const Segment *READ segments,
                         Shape fixed, Moving moving, Joint joint, const Map *READ maps, unsigned int *rows)
{
    fill_row<false>(sorted, weights, segments, fixed, moving, joint, maps, rows);
}

extern "C" __global__ void __launch_bounds__(128)
    joint_rows_partial(const unsigned int *READ sorted, const float *READ weights, const Segment *READ segments,
                       Shape fixed, Moving moving, Joint joint, const Map *READ maps, unsigned int *rows)
{
    fill_row<true>(sorted, weights, segments, fixed, moving, joint, maps, rows);
}

// n·ln n; 0 for n = 0.
__device__ __forceinline__ double term(unsigned long long count)
{
    const double n = (double)count;
    return count ? n * log(n) : 0.0;
}

// Computes the rows of the joint histograms. The row of a fixed bin is the sum of the rows that `fill_row` computed for
// the segments of voxels in that bin. Its counters are the elements of `counts` from (transform · fixed bins + fixed
// bin) · bins on, one for each of the `bins` moving bins. Also computes three numbers of each row for the entropies:
// its sum n, n·ln n, and the sum of c·ln c over its counters c. A thread block processes one row.
extern "C" __global__ void __launch_bounds__(256)
    joint_counts(const unsigned int *READ rows, const unsigned int *READ bin_segments, int bins, int segments,
                 unsigned long long *counts, double *row_terms)
{
    __shared__ unsigned long long parts[256];
    const unsigned int first = bin_segments[blockIdx.x], end = bin_segments[blockIdx.x + 1];
    const unsigned int *own = rows + (size_t)blockIdx.y * segments * bins;
    const size_t row = (size_t)blockIdx.y * gridDim.x + blockIdx.x;
    // If the histogram row has fewer counters than the thread block has threads, several threads add up one counter.
    // Each of them adds the rows of a part of the segments of fixed voxels.
    const int shares = max(256 / bins, 1), share = threadIdx.x / min(bins, 256);
    double total = 0.0, joint = 0.0;
    for (int start = 0; start < bins; start += 256) {
        const int bin = start + threadIdx.x % min(bins, 256);
        unsigned long long sum = 0;
        if (bin < bins && share < shares)
            for (unsigned int segment = first + share; segment < end; segment += shares)
                sum += own[(size_t)segment * bins + bin];
        __syncthreads();
        parts[threadIdx.x] = sum;
        __syncthreads();
        if (bin < bins && share == 0) {
            for (int other = 1; other < shares; ++other) sum += parts[other * bins + threadIdx.x];
            counts[row * bins + bin] = sum;
            total += (double)sum;
            joint += term(sum);
        }
    }
    total = block_sum(total);
    joint = block_sum(joint);
    if (threadIdx.x == 0) {
        row_terms[3 * row] = total;
        row_terms[3 * row + 1] = term((unsigned long long)total);
        row_terms[3 * row + 2] = joint;
    }
}

// Entropy from N and Σ n·ln n: with p = n/N, −Σ p·ln p is ln N − Σ n·ln n / N.
__device__ __forceinline__ double entropy(double total, double sum)
{
    return total > 0.0 ? fmax(log(total) - sum / total, 0.0) : 0.0;
}

// Computes four numbers for the joint histogram of each transform: the sum of all counters, and the entropies H(X) of
// the fixed bins, H(Y) of the moving bins and H(X,Y) of both, in nats. They are the elements of `entropies` from 4 ·
// transform on. A thread block processes one transform.
extern "C" __global__ void __launch_bounds__(1024)
    joint_entropies(const unsigned long long *READ counts, const double *READ row_terms, int fixed_bins, int bins,
                    double *entropies)
{
    const unsigned long long *own = counts + (size_t)blockIdx.x * fixed_bins * bins;
    const double *rows = row_terms + (size_t)blockIdx.x * fixed_bins * 3;
    double total = 0.0, fixed = 0.0, joint = 0.0, moving = 0.0;
    for (int row = threadIdx.x; row < fixed_bins; row += blockDim.x) {
        total += rows[3 * row];
        fixed += rows[3 * row + 1];
        joint += rows[3 * row + 2];
    }
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
        unsigned long long sum = 0;
        for (int row = 0; row < fixed_bins; ++row) sum += own[(size_t)row * bins + bin];
        moving += term(sum);
    }
    total = block_sum(total);
    fixed = block_sum(fixed);
    joint = block_sum(joint);
    moving = block_sum(moving);
    if (threadIdx.x == 0) {
        double *out = entropies + 4 * blockIdx.x;
        out[0] = total;
        out[1] = entropy(total, fixed);
        out[2] = entropy(total, moving);
        out[3] = entropy(total, joint);
    }
}
