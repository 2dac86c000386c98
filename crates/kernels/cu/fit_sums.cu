// Sums for the least-squares fit of volumes by functions that are known at reference points. Each thread block
// processes one chunk of the points, for one volume and one map from points to voxels. The order of the sums is that of
// src/cpu/similarity/fit_sums.rs, so that CPU and GPU give the same bits.
#include "points.cuh"
#include "reduce.cuh"
#include "taps.cuh"

// CHUNK: number of reference points for a thread block. RUN: number of successive points of a run, a part of a chunk.
// LANES: number of sums in single precision for each run. All three are as in src/cpu/similarity/fit_sums.rs. A chunk has four
// runs, so it has 32 such sums, one for each lane of a warp.
#define CHUNK 2048
#define RUN 512
#define LANES 8
#define RUNS (CHUNK / RUN)
// Number of warps of a block of the kernel `fit_sums`. src/cuda/similarity/fit_sums.rs has the corresponding number of threads.
#define WARPS 8
#define ALL 0xffffffffu

// The spline coefficients of a volume, and the map from reference points to voxel indices of this volume.
struct Placed {
    const float *volume;
    Map map;
};

// A point is inside the volume if its voxel indices are between `low` and `high` on each axis. In the sums of the fit,
// a value of the volume is scaled to (value − origin)·scale.
struct Rule {
    Vector low, high;
    float origin, scale;
};

// The voxel indices to which a map takes a reference point, computed without fused multiply-add operations.
__device__ __forceinline__ Vector placed(const Map &map, Vector at)
{
    const float *m = map.m;
    return {m[0] * at.x + (m[1] * at.y + (m[2] * at.z + m[3])), m[4] * at.x + (m[5] * at.y + (m[6] * at.z + m[7])),
            m[8] * at.x + (m[9] * at.y + (m[10] * at.z + m[11]))};
}

__device__ __forceinline__ bool inside(Vector at, const Rule &rule)
{
    return at.x >= rule.low.x && at.x <= rule.high.x && at.y >= rule.low.y && at.y <= rule.high.y &&
           at.z >= rule.low.z && at.z <= rule.high.z;
}

// A chunk of reference points has its values in shared memory, and this is the index of the value at its point n. There
// is a gap after each run of points, so that the runs begin in different memory banks.
__device__ __forceinline__ int slot(int n)
{
    return n + n / RUN * LANES;
}

// The sum, over a chunk of reference points, of a function of the fit times the volume's value; if `function` is null,
// the sum of the squared values. All lanes of a warp must call it. Each lane adds every eighth product of one run.
__device__ __forceinline__ double dot(const float *READ function, const float *values, int count)
{
    const int lane = threadIdx.x % 32, start = lane / LANES * RUN + lane % LANES;
    float sum = 0.f;
#pragma unroll 16
    for (int k = 0; k < RUN / LANES; ++k) {
        const int n = start + k * LANES;
        const float value = values[slot(n)];
        if (n < count) sum += (function ? function[n] : value) * value;
    }
    double of_run = 0., total = 0.;
#pragma unroll
    for (int n = 0; n < LANES; ++n) of_run += (double)__shfl_sync(ALL, sum, n, LANES);
#pragma unroll
    for (int run = 0; run < RUNS; ++run) total += __shfl_sync(ALL, of_run, run * LANES);
    return total;
}

// The sum of the products of two functions over the points of a run that are outside the volume (bits in `outside`).
__device__ __forceinline__ double products(const float *READ first, const float *READ second,
                                           const unsigned int *outside, int run)
{
    double sum = 0.;
    for (int word = run * (RUN / 32); word < (run + 1) * (RUN / 32); ++word) {
        const unsigned int bits = outside[word];
        if (!bits) continue;
#pragma unroll 8
        for (int n = 0; n < 32; ++n)
            if (bits >> n & 1) sum += (double)first[32 * word + n] * (double)second[32 * word + n];
    }
    return sum;
}

// Computes the sums `FitSums` (src/operands.rs) for a least-squares fit, for each chunk of reference points and each
// map. `points` has lists of `count` numbers: x, y and z of the points, then the values of each function. The results
// for a map and a chunk are the elements of `sums` from rows · (map · chunks + chunk) on; `rows` is the number of
// results, `chunks` that of chunks.
extern "C" __global__ void __launch_bounds__(32 * WARPS, 4)
    fit_sums(const float *READ points, int count, int functions, const Placed *READ all,
             const __grid_constant__ Size shape, const __grid_constant__ Rule rule, double *sums)
{
    __shared__ float values[CHUNK + RUNS * LANES];
    // One bit for each reference point that the thread block processes; it is set if the map takes the point outside.
    __shared__ unsigned int outside[CHUNK / 32];
    const Placed &own = all[blockIdx.y];
    const int first = blockIdx.x * CHUNK, here = min(count - first, CHUNK);
    points += first;
    const float *READ of_functions = points + 3 * (size_t)count;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll 1
    for (int n = threadIdx.x; n < CHUNK; n += 32 * WARPS) {
        float value = 0.f;
        bool beyond = false;
        if (n < here) {
            const Vector at = placed(own.map, {points[n], points[count + n], points[2 * (size_t)count + n]});
            beyond = !inside(at, rule);
            if (!beyond) value = (spline_value(own.volume, shape, at) - rule.origin) * rule.scale;
        }
        values[slot(n)] = value;
        const unsigned int bits = __ballot_sync(ALL, beyond);
        if (lane == 0) outside[n / 32] = bits;
    }
    __syncthreads();
    const int pairs = functions * (functions + 1) / 2;
    double *out = sums + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * (2 + functions + pairs);
    if (warp == 0) {
        const int beyond = warp_sum(__popc(outside[lane]) + __popc(outside[32 + lane]));
        if (lane == 0) out[0] = (double)(here - beyond);
    }
    for (int row = warp; row <= functions; row += WARPS) {
        const float *function = row ? of_functions + (size_t)(row - 1) * count : nullptr;
        const double sum = dot(function, values, here);
        if (lane == 0) out[1 + row] = sum;
    }
    // Each thread sums the products of one pair of functions of the fit over one run of reference points. The threads
    // for the runs of a pair are neighbouring lanes of a warp.
    for (int start = warp * (32 / RUNS); start < pairs; start += WARPS * (32 / RUNS)) {
        const int pair = start + lane / RUNS, known = min(pair, pairs - 1);
        // Pairs (a, b) with b ≤ a are numbered row by row of the lower triangle. At the first pair of a row,
        // 8 · known + 1 is a square, whose root is exact.
        const int a = (int)((sqrtf((float)(8 * known + 1)) - 1.f) * 0.5f), b = known - a * (a + 1) / 2;
        const double of_run = products(of_functions + (size_t)a * count, of_functions + (size_t)b * count, outside, lane % RUNS);
        double total = 0.;
#pragma unroll
        for (int run = 0; run < RUNS; ++run) total += __shfl_sync(ALL, of_run, run, RUNS);
        if (lane % RUNS == 0 && pair < pairs) out[2 + functions + pair] = total;
    }
}

// For each map, adds the sums of all chunks of reference points, in the order of the chunks. Each map has `rows`
// totals. Each thread computes one of the `count` totals of all maps.
extern "C" __global__ void __launch_bounds__(128)
    fit_totals(const double *READ sums, unsigned int chunks, unsigned int rows, unsigned int count, double *totals)
{
    const unsigned int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= count) return;
    const double *of_chunk = sums + ((size_t)(n / rows) * chunks * rows + n % rows);
    double total = 0.;
    for (unsigned int chunk = 0; chunk < chunks; ++chunk) total += of_chunk[(size_t)chunk * rows];
    totals[n] = total;
}
