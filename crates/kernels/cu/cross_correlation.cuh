// Parts of the windowed cross-correlation and of mutual information: the terms of one window, image gradients, and
// masks. The formulas are those of src/backend.rs.
#pragma once

#include "reduce.cuh"
#include "volume.cuh"

// A window whose Σ(I − mean)² is at most this share of ΣI² counts as constant: the rest is rounding error. The CPU uses
// the same limit.
#define ROUNDING 4e-6f

// The fixed and the moving image on one grid, and their masks (null: every voxel counts).
struct Pair {
    const float *fixed, *moving, *fixed_mask, *moving_mask;
    Shape shape;
    // (finest spacing / spacing)² for each axis: converts a gradient per voxel to a displacement in voxels along the
    // physical gradient.
    Vector metric;
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

// Image gradient by central differences, one-sided at the border, for the voxels of one column along z. It is scaled to
// a displacement in voxels.
struct Gradient {
    // Distances in memory from a voxel to its four neighbours along x and y; 0 if a neighbour does not exist.
    int left, right, up, down;
    float along_x, along_y;

    // Factor by which the difference of image values along one axis is multiplied: 1/2 for the difference between the
    // two neighbours of a voxel, 1 for the one-sided difference at the border.
    static __device__ __forceinline__ float share(int index, int n)
    {
        return index > 0 && index + 1 < n ? 0.5f : 1.f;
    }

    __device__ __forceinline__ void start(const Pair &pair, int x, int y, int pitch)
    {
        const Shape shape = pair.shape;
        left = x > 0 ? -1 : 0;
        right = x + 1 < shape.x ? 1 : 0;
        up = y > 0 ? -pitch : 0;
        down = y + 1 < shape.y ? pitch : 0;
        along_x = share(x, shape.x) * pair.metric.x;
        along_y = share(y, shape.y) * pair.metric.y;
    }

    // The image gradient at the voxel `here` of slice z; `below` and `above` point to its neighbours along z.
    __device__ __forceinline__ Vector between(const Pair &pair, int z, const float *below, const float *here,
                                              const float *above) const
    {
        const float along_z = share(z, pair.shape.z) * pair.metric.z;
        const float lower = z > 0 ? *below : *here, upper = z + 1 < pair.shape.z ? *above : *here;
        return {(here[right] - here[left]) * along_x, (here[down] - here[up]) * along_y, (upper - lower) * along_z};
    }

    // The gradient at the voxel of slice z with offset `here` in an image.
    __device__ __forceinline__ Vector at(const Pair &pair, const float *image, int z, size_t here) const
    {
        const int slice = pair.shape.x * pair.shape.y;
        const int below = z > 0 ? -slice : 0, above = z + 1 < pair.shape.z ? slice : 0;
        const float along_z = share(z, pair.shape.z) * pair.metric.z;
        const float *centre = image + here;
        return {(__ldg(centre + right) - __ldg(centre + left)) * along_x,
                (__ldg(centre + down) - __ldg(centre + up)) * along_y,
                (__ldg(centre + above) - __ldg(centre + below)) * along_z};
    }
};

// Writes the update of a voxel: the image gradient times a factor.
__device__ __forceinline__ void store_update(float *update, const Pair &pair, size_t here, float length, Vector g)
{
    store(update, plane(pair.shape), here, {length * g.x, length * g.y, length * g.z});
}

// Adds up three numbers of all threads, in the order of the blocks, into result[0] to result[2]: local correlations,
// number and weights of windows. `partial` has room for three numbers of each block.
__device__ __forceinline__ void add_energy(float value, float count, float weight, double *partial,
                                           unsigned int *counter, double *result)
{
    double values = block_sum((double)value), counts = block_sum((double)count), weights = block_sum((double)weight);
    const int thread = thread_index(), threads = blockDim.x * blockDim.y * blockDim.z;
    if (thread == 0) {
        double *part = partial + 3 * (size_t)block_index();
        part[0] = values;
        part[1] = counts;
        part[2] = weights;
    }
    if (!last_block(counter)) return;
    values = counts = weights = 0.0;
    for (int block = thread; block < gridDim.x * gridDim.y * gridDim.z; block += threads) {
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
