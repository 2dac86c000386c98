// The sums by which volumes are fitted by functions that are known at the points of a reference. A block takes a chunk of the
// points for one volume and map. The order of the sums is that of src/cpu/fit_sums.rs, so that both give the same bits.
#include "points.cuh"
#include "reduce.cuh"
#include "taps.cuh"

// Points of a chunk and of a run, and sums of a run in single precision, as in src/cpu/fit_sums.rs. The four runs of a chunk
// have 32 sums, one for each lane of a warp.
#define CHUNK 2048
#define RUN 512
#define LANES 8
#define RUNS (CHUNK / RUN)
// Warps of a block, as in src/cuda/fit_sums.rs.
#define WARPS 8
#define ALL 0xffffffffu

// The coefficients of a volume, and a map from points to its voxel indices.
struct Placed {
    const float *volume;
    Map map;
};

// Where a point counts as inside, along each axis; and the units of values.
struct Rule {
    Vector low, high;
    float origin, scale;
};

// The image of a point, without fused operations.
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

// Where the value of a point of the chunk lies in shared memory: the runs begin at different banks.
__device__ __forceinline__ int slot(int n)
{
    return n + n / RUN * LANES;
}

// The sum over a chunk of the products of a function and the values; of squared values without a function. The whole warp
// must call this; each of its lanes adds every eighth product of a run.
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

// The sum of the products of two functions over the points of a run that have a bit in `outside`.
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

// points: x, y and z, then the functions; `count` of each.
// sums[rows · (number of the map · chunks + chunk) …] = the numbers of FitSums.
extern "C" __global__ void __launch_bounds__(32 * WARPS, 4)
    fit_sums(const float *READ points, int count, int functions, const Placed *READ all,
             const __grid_constant__ Size shape, const __grid_constant__ Rule rule, double *sums)
{
    __shared__ float values[CHUNK + RUNS * LANES];
    // A bit for each point of the chunk.
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
    // A thread takes one run of a pair; the threads of all runs stand side by side.
    for (int start = warp * (32 / RUNS); start < pairs; start += WARPS * (32 / RUNS)) {
        const int pair = start + lane / RUNS, known = min(pair, pairs - 1);
        // Row by row of the lower triangle: the root of a square is exact.
        const int a = (int)((sqrtf((float)(8 * known + 1)) - 1.f) * 0.5f), b = known - a * (a + 1) / 2;
        const double of_run = products(of_functions + (size_t)a * count, of_functions + (size_t)b * count, outside, lane % RUNS);
        double total = 0.;
#pragma unroll
        for (int run = 0; run < RUNS; ++run) total += __shfl_sync(ALL, of_run, run, RUNS);
        if (lane % RUNS == 0 && pair < pairs) out[2 + functions + pair] = total;
    }
}

// The sums of all chunks of each map, added in their order. A thread adds one of `count` numbers, `rows` of each map.
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
