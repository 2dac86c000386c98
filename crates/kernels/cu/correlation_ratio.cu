// The correlation ratio of a batch of transforms without conflicts (Li 2015, "conflict-free"): fixed voxels are sorted by
// bin and cut into segments of one bin each; a block adds up one segment under one transform in registers. For images with
// weights, and where correlation_ratio_bricks.cu is too coarse.
#include "reduce.cuh"
#include "volume.cuh"

// A map of fixed to moving voxel indices, row-major 3×4.
struct Map {
    float m[12];
};

struct Moving {
    cudaTextureObject_t image, weight;
    int weighted;
    Shape shape;
    // 1 / width of the ramp at the edge, per axis.
    Vector per_edge;
};

struct Segment {
    unsigned int start, end;
};

__device__ __forceinline__ float ramp(float at, int n, float per_edge)
{
    const float distance = fminf(at, (float)(n - 1) - at);
    // NaN goes to 0 as well; 0·∞, on the border without a ramp, to 1.
    return distance >= 0.f ? fminf(distance * per_edge, 1.f) : 0.f;
}

// Eight reads at voxel centres and weights in single precision: the texture unit's own filter has 8-bit weights.
__device__ __forceinline__ float exact(cudaTextureObject_t texture, float x, float y, float z)
{
    const float i = floorf(x), j = floorf(y), k = floorf(z), tx = x - i, ty = y - j, tz = z - k;
#define AT(a, b, c) tex3D<float>(texture, i + a + 0.5f, j + b + 0.5f, k + c + 0.5f)
    const float c00 = lerp(AT(0, 0, 0), AT(1, 0, 0), tx), c10 = lerp(AT(0, 1, 0), AT(1, 1, 0), tx);
    const float c01 = lerp(AT(0, 0, 1), AT(1, 0, 1), tx), c11 = lerp(AT(0, 1, 1), AT(1, 1, 1), tx);
#undef AT
    return lerp(lerp(c00, c10, ty), lerp(c01, c11, ty), tz);
}

// sums[transform · segments + segment] = Σw, Σw·y, Σw·y² y the moving value.
template <bool FILTERED>
__device__ __forceinline__ void add_up(const unsigned int *READ sorted, const float *READ weights,
                                       const Segment *READ segments, Shape fixed, const Moving &moving,
                                       const Map *READ maps, float4 *sums)
{
    const Segment segment = segments[blockIdx.x];
    const Map &map = maps[blockIdx.y];
    float n = 0.f, s = 0.f, ss = 0.f;
    for (unsigned int at = segment.start + threadIdx.x; at < segment.end; at += blockDim.x) {
        const unsigned int voxel = sorted[at], row = voxel / fixed.x;
        const float i = (float)(voxel - row * fixed.x), j = (float)(row % fixed.y), k = (float)(row / fixed.y);
        const float x = fmaf(map.m[0], i, fmaf(map.m[1], j, fmaf(map.m[2], k, map.m[3])));
        const float y = fmaf(map.m[4], i, fmaf(map.m[5], j, fmaf(map.m[6], k, map.m[7])));
        const float z = fmaf(map.m[8], i, fmaf(map.m[9], j, fmaf(map.m[10], k, map.m[11])));
        float w = ramp(x, moving.shape.x, moving.per_edge.x) * ramp(y, moving.shape.y, moving.per_edge.y) *
                  ramp(z, moving.shape.z, moving.per_edge.z);
        if (w <= 0.f) continue;
        if (weights) w *= weights[at];
        if (moving.weighted) w *= exact(moving.weight, x, y, z);
        const float value = (FILTERED ? tex3D<float>(moving.image, x + 0.5f, y + 0.5f, z + 0.5f)
                                      : exact(moving.image, x, y, z));
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

// n times the variance.
__device__ __forceinline__ double deviation(double n, double s, double ss)
{
    return n > 0.0 ? fmax(ss - s * s / n, 0.0) : 0.0;
}

// costs[transform] from the sums of its segments; bin_segments[b] … bin_segments[b+1] are those of bin b. A block a
// transform, a warp a bin at a time.
extern "C" __global__ void __launch_bounds__(1024)
    correlation_ratio_costs(const float4 *READ sums, const unsigned int *READ bin_segments, int bins, int segments,
                            double *costs)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const float4 *own = sums + (size_t)blockIdx.x * segments;
    // Over the bins of this warp, in lane 0: Σn, Σy, Σy², and Σ within bins of n·variance.
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
        // Rounding leaves a constant overlap a variance of the order of epsilon times its mean square.
        const double all = deviation(total, total_s, total_ss);
        costs[blockIdx.x] = all > 1e-6 * total_ss ? fmin(inside / all, 1.0) : 1.0;
    }
}
