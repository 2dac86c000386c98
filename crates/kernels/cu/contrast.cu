// The contrast of the moving image across a surface, for a batch of transforms: intensities on the inner and the outer
// side of each surface point are compared.
#include "points.cuh"
#include "reduce.cuh"

// Number of surface points that a thread block processes, the same as in src/cuda/similarity/contrast.rs.
#define RUN 2048

struct Rule {
    float slope, offset, least;
};

// Each thread block sums the contrast over at most RUN surface points under one transform. `points` holds seven lists
// of `count` numbers: x, y, z of the inner samples, x, y, z of the outer samples, and weights w. q is the difference of
// outer and inner intensity in percent of their mean, minus rule.offset; s is rule.slope. The results Σw, Σw·tanh(s·q)
// and Σw·tanh(s·|q|) of a thread block are three successive elements of `sums`, from 3 · (transform · blocks + block)
// on; `blocks` is the number of thread blocks for each transform.
extern "C" __global__ void __launch_bounds__(256)
    contrast(const float *READ points, int count, const float *READ moving, const __grid_constant__ Size shape,
             const __grid_constant__ Rule rule, const Map *READ maps, float *sums)
{
    const Map &map = maps[blockIdx.y];
    const Vector voxel = {1.f, 1.f, 1.f};
    float own[3] = {0.f, 0.f, 0.f};
    const int end = min(count, (int)(blockIdx.x + 1) * RUN);
    for (int n = blockIdx.x * RUN + threadIdx.x; n < end; n += blockDim.x) {
        const float *at = points + n;
        const Vector inner = mapped(map, {at[0], at[count], at[2 * count]});
        const Vector outer = mapped(map, {at[3 * count], at[4 * count], at[5 * count]});
        const float weight = at[6 * count] * ramp(inner, shape, voxel) * ramp(outer, shape, voxel);
        // If the weight of a surface point is positive, its inner and outer position lie within the moving image.
        if (!(weight > 0.f)) continue;
        const float within = read_inside(moving, shape, inner), beyond = read_inside(moving, shape, outer);
        const float mean = 0.5f * (within + beyond);
        if (!(mean > rule.least)) continue;
        const float difference = 100.f * (beyond - within) / mean - rule.offset;
        own[0] += weight;
        own[1] += weight * tanhf(rule.slope * difference);
        own[2] += weight * tanhf(rule.slope * fabsf(difference));
    }
    float *out = sums + 3 * ((size_t)blockIdx.y * gridDim.x + blockIdx.x);
#pragma unroll
    for (int part = 0; part < 3; ++part) {
        const float sum = block_sum(own[part]);
        if (threadIdx.x == 0) out[part] = sum;
    }
}
