// The correlation ratio of a batch of transforms without conflicts between threads (Li 2015, "conflict-free"): fixed
// voxels are sorted by bin and cut into segments of one bin each, and a thread block adds up one segment under one
// transform in registers. These kernels serve images with weights, and pairs of images for which
// correlation_ratio_bricks.cu is not exact enough.
#include "reduce.cuh"
#include "samples.cuh"

// Trilinear interpolation in single precision, from eight reads at voxel centres. The texture unit's own filter is not
// used, because its weights have 8 bits.
__device__ __forceinline__ float exact(cudaTextureObject_t texture, Vector at)
{
    const float i = floorf(at.x), j = floorf(at.y), k = floorf(at.z), tx = at.x - i, ty = at.y - j, tz = at.z - k;
#define AT(a, b, c) tex3D<float>(texture, i + a + 0.5f, j + b + 0.5f, k + c + 0.5f)
    const float c00 = lerp(AT(0, 0, 0), AT(1, 0, 0), tx), c10 = lerp(AT(0, 1, 0), AT(1, 1, 0), tx);
    const float c01 = lerp(AT(0, 0, 1), AT(1, 0, 1), tx), c11 = lerp(AT(0, 1, 1), AT(1, 1, 1), tx);
#undef AT
    return lerp(lerp(c00, c10, ty), lerp(c01, c11, ty), tz);
}

// Computes Σw, Σw·y and Σw·y² over the voxels of one segment under one transform, where y is the moving value of a
// voxel and w its weight. A segment is a part of the list of fixed voxels sorted by bin; all its voxels are in one bin.
// The result is element transform · segments + segment of `sums`, where `segments` is the number of segments.
template <bool FILTERED>
__device__ __forceinline__ void add_up(const unsigned int *READ sorted, const float *READ weights,
                                       const Segment *READ segments, Shape fixed, const Moving &moving,
                                       const Map *READ maps, float4 *sums)
{
    const Segment segment = segments[blockIdx.x];
    const Map &map = maps[blockIdx.y];
    float n = 0.f, s = 0.f, ss = 0.f;
    for (unsigned int at = segment.start + threadIdx.x; at < segment.end; at += blockDim.x) {
        const Vector p = mapped(map, index_of(sorted[at], fixed));
        float w = ramp(p, moving.shape, moving.per_edge);
        if (w <= 0.f) continue;
        if (weights) w *= weights[at];
        if (moving.weighted) w *= exact(moving.weight, p);
        const float value = FILTERED ? tex3D<float>(moving.image, p.x + 0.5f, p.y + 0.5f, p.z + 0.5f)
                                     : exact(moving.image, p);
        n += w;
        s = fmaf(w, value, s);
        ss = fmaf(w * value, value, ss);
    }
    n = block_sum(n);
    s = block_sum(s);
    ss = block_sum(ss);
    if (threadIdx.x == 0) sums[(size_t)blockIdx.y * gridDim.x + blockIdx.x] = make_float4(n, s, ss, 0.f);
}

extern "C" __global__ void __launch_bounds__(128)
    correlation_ratio_exact(const unsigned int *READ sorted, const float *READ weights, const Segment *READ segments,
                            Shape fixed, Moving moving, const Map *READ maps, float4 *sums)
{
    add_up<false>(sorted, weights, segments, fixed, moving, maps, sums);
}

extern "C" __global__ void __launch_bounds__(128)
    correlation_ratio_filtered(const unsigned int *READ sorted, const float *READ weights, const Segment *READ segments,
                               Shape fixed, Moving moving, const Map *READ maps, float4 *sums)
{
    add_up<true>(sorted, weights, segments, fixed, moving, maps, sums);
}

// Sum of squared deviations from the mean: n times the variance, from n, Σy and Σy².
__device__ __forceinline__ double deviation(double n, double s, double ss)
{
    return n > 0.0 ? fmax(ss - s * s / n, 0.0) : 0.0;
}

// Computes the cost of each transform from the transform's sums over segments of fixed voxels (the results of
// `add_up`). The segments from bin_segments[b] to bin_segments[b + 1] − 1 contain the voxels of bin b. A thread block
// processes one transform, and each of its warps one bin at a time.
extern "C" __global__ void __launch_bounds__(1024)
    correlation_ratio_costs(const float4 *READ sums, const unsigned int *READ bin_segments, int bins, int segments,
                            double *costs)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const float4 *own = sums + (size_t)blockIdx.x * segments;
    // The first lane of the warp has the sums over the warp's bins: Σw, Σw·y and Σw·y², and the sum over bins of
    // n·variance. Here y is a moving value, w its weight, and n the sum Σw of a bin.
    double total = 0.0, total_s = 0.0, total_ss = 0.0, inside = 0.0;
    for (int bin = warp; bin < bins; bin += warps) {
        double n = 0.0, s = 0.0, ss = 0.0;
        for (unsigned int segment = bin_segments[bin] + lane; segment < bin_segments[bin + 1]; segment += 32) {
            const float4 part = own[segment];
            n += part.x;
            s += part.y;
            ss += part.z;
        }
        n = warp_sum(n);
        s = warp_sum(s);
        ss = warp_sum(ss);
        if (lane == 0 && n > 2.0) {
            total += n;
            total_s += s;
            total_ss += ss;
            inside += deviation(n, s, ss);
        }
    }
    total = block_sum(total);
    total_s = block_sum(total_s);
    total_ss = block_sum(total_ss);
    inside = block_sum(inside);
    if (threadIdx.x == 0) {
        // Because of rounding, the computed variance of a constant image is not exactly 0. A variance that is so small
        // relative to the mean square counts as 0, which gives the cost 1.
        const double all = deviation(total, total_s, total_ss);
        costs[blockIdx.x] = all > 1e-6 * total_ss ? fmin(inside / all, 1.0) : 1.0;
    }
}
