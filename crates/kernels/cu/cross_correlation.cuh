// Parts of the windowed cross-correlation and of mutual information: the terms of one window, masks, and output. The
// formulas are those of src/ops/similarity.rs.
#pragma once

#include "gradient.cuh"
#include "reduce.cuh"

// A window whose Σ(I − mean)² is at most this share of ΣI² counts as constant: the rest is rounding error. The CPU uses
// the same limit.
#define ROUNDING 4e-6f

// The fixed and the moving image on one grid, and their masks (null: every voxel counts).
struct Pair {
    const float *fixed, *moving, *fixed_mask, *moving_mask;
    Shape shape;
    // Variance of the noise that is assumed in both images.
    float noise_variance;
};

struct Terms {
    float fixed_mean, moving_mean;
    // 2C/((A+n)(B+n)); 0 if the window is constant in I or J. A = Σ(I − mean)², B = Σ(J − mean)² and
    // C = Σ(I − mean)(J − mean); n is the part of A and B that is expected from noise alone.
    float slope;
    // C/(A+n) and C/(B+n).
    float on_fixed, on_moving;
    float value;
    // The weight AB/((A+n)(B+n)) of the window: the share of its variance that is not expected from noise alone.
    // A = Σ(I − mean)² and B = Σ(J − mean)²; n is the part of A and B that is expected from noise.
    float weight;
};

// A fast reciprocal, whose error is at most one unit in the last place. Adding up the values of a window in another
// order changes the result by more.
__device__ __forceinline__ float reciprocal(float value)
{
    return __fdividef(1.f, value);
}

__device__ __forceinline__ Terms terms_of(float i, float j, float ii, float jj, float ij, float count,
                                          float noise_variance)
{
    const float share = reciprocal(count), fixed_mean = i * share, moving_mean = j * share;
    const float a = ii - i * fixed_mean, b = jj - j * moving_mean, c = ij - i * moving_mean;
    const bool counts = a > ROUNDING * ii && b > ROUNDING * jj;
    const float noise = count * noise_variance;
    const float per_a = counts ? reciprocal(a + noise) : 0.f, per_b = counts ? reciprocal(b + noise) : 0.f;
    const float on_fixed = c * per_a, on_moving = c * per_b;
    return {fixed_mean, moving_mean, 2.f * on_fixed * per_b, on_fixed, on_moving, on_fixed * on_moving,
            a * per_a * (b * per_b)};
}

// Number of voxels of a window along one axis, truncated at the border of the volume.
__device__ __forceinline__ int extent(int index, int n, int radius)
{
    return min(index + radius, n - 1) - max(index - radius, 0) + 1;
}

__device__ __forceinline__ bool counted(const Pair &pair, size_t at)
{
    return (!pair.fixed_mask || __ldg(pair.fixed_mask + at) > 0.5f) &&
           (!pair.moving_mask || __ldg(pair.moving_mask + at) > 0.5f);
}

// Where a metric writes its derivatives with respect to the values of both images: to images, or, multiplied by the
// images' gradients, to fields (`updates` is 1).
struct Output {
    float *fixed, *moving;
    int updates;
    Vector metric;
};

// Writes the output of the voxels of one column along z.
struct Writer {
    Gradient gradient;

    __device__ __forceinline__ void start(const Output &out, const Shape &shape, int x, int y)
    {
        if (out.updates) gradient.start(shape, out.metric, x, y);
    }

    __device__ __forceinline__ void write(const Output &out, const Pair &pair, int z, size_t here, float for_fixed,
                                          float for_moving) const
    {
        if (!out.updates) {
            out.fixed[here] = for_fixed;
            out.moving[here] = for_moving;
            return;
        }
        const Vector f = gradient.at(pair.shape, out.metric, pair.fixed, z, here);
        const Vector m = gradient.at(pair.shape, out.metric, pair.moving, z, here);
        store(out.fixed, plane(pair.shape), here, {for_fixed * f.x, for_fixed * f.y, for_fixed * f.z});
        store(out.moving, plane(pair.shape), here, {for_moving * m.x, for_moving * m.y, for_moving * m.z});
    }
};

// Adds up three numbers of all threads, in the order of the blocks, into result[0] to result[2]: local correlations,
// number and weights of windows. `blocks` thread blocks of one or several launches take part; those of this launch are
// numbered from `first_block` on. `partial` has room for three numbers of each block.
__device__ __forceinline__ void add_energy(float value, float count, float weight, unsigned int first_block,
                                           unsigned int blocks, double *partial, unsigned int *counter, double *result)
{
    double values = block_sum((double)value), counts = block_sum((double)count), weights = block_sum((double)weight);
    const int thread = thread_index(), threads = blockDim.x * blockDim.y * blockDim.z;
    if (thread == 0) {
        double *part = partial + 3 * (size_t)(first_block + block_index());
        part[0] = values;
        part[1] = counts;
        part[2] = weights;
    }
    if (!last_block(counter) || first_block + blocks_of_launch() < blocks) return;
    values = counts = weights = 0.0;
    for (unsigned int block = thread; block < blocks; block += threads) {
        const double *part = partial + 3 * (size_t)block;
        values += __ldcg(part);
        counts += __ldcg(part + 1);
        weights += __ldcg(part + 2);
    }
    values = block_sum(values);
    counts = block_sum(counts);
    weights = block_sum(weights);
    if (thread == 0) {
        result[0] = values;
        result[1] = counts;
        result[2] = weights;
    }
}
