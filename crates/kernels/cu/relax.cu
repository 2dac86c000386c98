// Corrects two displacement fields that should be inverse to each other, at voxels where they fold or where their
// inverse consistency is poor.
//
// A volume is examined in bricks, and only bricks near changed voxels are marked for the next round. The result does
// not depend on the order of marks or listed voxels: every listed voxel is changed independently.
#include "corners.cuh"
#include "inverse.cuh"

// Number of voxels of a brick, a cube of BRICK³ voxels; each thread of a block processes one voxel.
#define VOXELS (BRICK * BRICK * BRICK)

// One half of each smoothing kernel, from its centre outwards; the unused weights are zero.
struct Weights {
    float x[16], y[16], z[16];
};

// Parameters of a round of corrections, with the layout of `Round` in src/cuda/relax.rs.
struct Round {
    // The smallest accepted Jacobian determinant of x + u(x) at cell corners, and how voxels at folded corners are
    // displaced.
    Unfolding unfolding;
    // Whether the displacements at folded corners are corrected by corners.cuh; if not, they are smoothed.
    int unfolds;
    // Limit of the squared residual ‖v(x + u(x)) + u(x)‖², in voxels².
    float largest_residual_squared;
    // Radius of the region that is smoothed around a voxel that folds or has too large a residual, in voxels.
    int reach;
    // Parameters for setting a voxel to the inverse of the other field: number of steps, and residuals at which they
    // stop. The voxel counts as corrected if then its squared residual is at most `corrected_squared`, and the squared
    // change of its displacement at most `corrected_by_squared`.
    int steps;
    Residuals follow;
    float corrected_squared, corrected_by_squared;
    // Half width, in voxels, of the region of the inverse field that is inverted again around the place to which a
    // changed voxel is mapped.
    float margin;
};

// Marks in place of a voxel's weight, which is at most 1. UNFOLDED: the voxel is displaced to correct a folded cell
// corner. CORRECTED: the voxel was set to the inverse of the other field.
#define UNFOLDED 2.f
#define CORRECTED 3.f

__device__ __forceinline__ int brick_along(float at, float last)
{
    return (int)fminf(fmaxf(at, 0.f), last) / BRICK;
}

// Marks the bricks (blocks of 8³ voxels) that contain a voxel near the point `at`: on each axis at most `margin` away.
__device__ __forceinline__ void mark_around(unsigned int *marks, const Shape &shape, Vector at, float margin)
{
    const int nx = (shape.x + BRICK - 1) / BRICK, ny = (shape.y + BRICK - 1) / BRICK;
    const int x0 = brick_along(at.x - margin, shape.last.x), x1 = brick_along(at.x + margin, shape.last.x);
    const int y0 = brick_along(at.y - margin, shape.last.y), y1 = brick_along(at.y + margin, shape.last.y);
    const int z0 = brick_along(at.z - margin, shape.last.z), z1 = brick_along(at.z + margin, shape.last.z);
#pragma unroll 1
    for (int z = z0; z <= z1; ++z)
#pragma unroll 1
        for (int y = y0; y <= y1; ++y)
#pragma unroll 1
            for (int x = x0; x <= x1; ++x) marks[(z * ny + y) * nx + x] = 1;
}

__device__ __forceinline__ Voxel voxel_of(unsigned int at, const Shape &shape)
{
    return {(int)(at % shape.x), (int)(at / shape.x % shape.y), (int)(at / (shape.x * shape.y))};
}

// Removes the marks of the bricks (blocks of 8³ voxels) that this thread block processes. For each brick that was
// marked, each thread calls `work` with its own voxel of the brick. The bricks of a thread block lie far from each other,
// because marked bricks are often neighbours, and the work on these should be spread over many thread blocks.
template <typename Work>
__device__ __forceinline__ void each_marked(unsigned int *marks, const Shape &shape, Work work)
{
    const int nx = (shape.x + BRICK - 1) / BRICK, ny = (shape.y + BRICK - 1) / BRICK, nz = (shape.z + BRICK - 1) / BRICK;
    const int thread = threadIdx.x, lane = thread % 32, bricks = nx * ny * nz;
#pragma unroll 1
    for (int first = blockIdx.x; first < bricks; first += 32 * gridDim.x) {
        const int mine = first + lane * gridDim.x;
        const bool marked = mine < bricks && marks[mine];
        unsigned int left = __ballot_sync(0xffffffffu, marked);
        if (!left) continue;
        __syncthreads();
        if (thread < 32 && marked) marks[mine] = 0;
        for (; left; left &= left - 1) {
            const int brick = first + (__ffs(left) - 1) * gridDim.x;
            work(brick, Voxel{brick % nx * BRICK + thread % BRICK, brick / nx % ny * BRICK + thread / BRICK % BRICK,
                              brick / (nx * ny) * BRICK + thread / (BRICK * BRICK)});
        }
    }
}

__device__ __forceinline__ void list_voxel(float *weights, unsigned int *list, unsigned int *listed, size_t at,
                                           float weight)
{
    // Non-negative floats have the same order as their bit patterns.
    if (atomicMax((int *)weights + at, __float_as_int(weight)) == 0) list[atomicAdd(listed, 1u)] = (unsigned int)at;
}

// Lists the voxels of a field that this round changes. Also counts the voxels beyond the limits, which fold or have a
// large residual. A voxel is listed in one of three ways:
//
// - Its residual can be corrected by inverting the other field there: the new displacement is stored in `target`.
// - It folds, or a neighbour of it folds, and folds are corrected by displacing voxels.
// - It lies within `reach` of another voxel beyond the limits: its weight says how much of the smoothed field it takes.
//   The weight grows with the residual of the voxel beyond the limits, and is largest where that voxel folds.
extern "C" __global__ void __launch_bounds__(VOXELS, 2)
    examine(const float *READ field, const float *READ inverse, unsigned int *marks, const __grid_constant__ Round round,
            float *target, float *weights, unsigned int *list, unsigned int *listed, unsigned int *count,
            const __grid_constant__ Shape shape)
{
    each_marked(marks, shape, [&](int, Voxel v) {
        bool beyond = false;
        if (within(v, shape)) {
            const size_t here = offset(v, shape), stride = plane(shape);
            const size_t row = shape.x, slice = row * shape.y;
            const Vector u = load(field, stride, here);
            const bool folds = Edges::at(field, v, shape).smallest() < round.unfolding.smallest;
            const float missed = squared(residual(sample(inverse, shape, moved(v, u)), u));
            beyond = folds || missed > round.largest_residual_squared;
            bool corrected = false;
            if (beyond && !folds && !on_edge(v, shape)) {
                const Vector better = improved(v, u, inverse, round.steps, {round.follow.tolerance_squared, 0.f}, shape);
                const Vector by = {better.x - u.x, better.y - u.y, better.z - u.z};
                corrected = squared(residual(sample(inverse, shape, moved(v, better)), better)) <= round.corrected_squared &&
                            squared(by) <= round.corrected_by_squared;
                if (corrected) {
                    store(target, stride, here, better);
                    list_voxel(weights, list, listed, here, CORRECTED);
                }
            }
            if (folds && round.unfolds) {
                list_voxel(weights, list, listed, here, UNFOLDED);
                // The Jacobian determinant at a cell corner depends only on a voxel and its neighbours along the axes.
                if (v.x > 0) list_voxel(weights, list, listed, here - 1, UNFOLDED);
                if (v.x + 1 < shape.x) list_voxel(weights, list, listed, here + 1, UNFOLDED);
                if (v.y > 0) list_voxel(weights, list, listed, here - row, UNFOLDED);
                if (v.y + 1 < shape.y) list_voxel(weights, list, listed, here + row, UNFOLDED);
                if (v.z > 0) list_voxel(weights, list, listed, here - slice, UNFOLDED);
                if (v.z + 1 < shape.z) list_voxel(weights, list, listed, here + slice, UNFOLDED);
            } else if (beyond && !corrected) {
                const int reach = round.reach, limit = (reach + 1) * (reach + 1);
                const float excess = sqrtf(missed) / sqrtf(round.largest_residual_squared) - 1.f;
                const float strength = folds ? 1.f : fminf(0.5f * excess + 0.05f, 1.f);
#pragma unroll 1
                for (int z = max(v.z - reach, 0); z <= min(v.z + reach, shape.z - 1); ++z)
#pragma unroll 1
                    for (int y = max(v.y - reach, 0); y <= min(v.y + reach, shape.y - 1); ++y)
#pragma unroll 1
                        for (int x = max(v.x - reach, 0); x <= min(v.x + reach, shape.x - 1); ++x) {
                            const int dx = x - v.x, dy = y - v.y, dz = z - v.z;
                            const int rest = limit - (dx * dx + dy * dy + dz * dz);
                            if (rest > 0)
                                list_voxel(weights, list, listed, offset({x, y, z}, shape),
                                           strength * ((float)rest / (float)limit));
                        }
            }
        }
        const int found = __syncthreads_count(beyond);
        if (threadIdx.x == 0 && found) atomicAdd(count, found);
    });
}

// Corrects folds: computes the new displacement of each listed voxel with the mark UNFOLDED, and stores it in `target`.
// Each thread processes one voxel.
extern "C" __global__ void __launch_bounds__(128)
    unfold_listed(const float *READ field, const float *READ weights, const unsigned int *READ list,
                  const unsigned int *READ listed, const __grid_constant__ Round round, float *target,
                  const __grid_constant__ Shape shape)
{
    const unsigned int count = *listed, step = gridDim.x * blockDim.x;
    for (unsigned int n = blockIdx.x * blockDim.x + threadIdx.x; n < count; n += step) {
        const size_t here = list[n];
        if (weights[here] == UNFOLDED)
            store(target, plane(shape), here, unfolded(field, voxel_of(here, shape), round.unfolding, shape));
    }
}

// SHARING: number of threads that smooth one voxel together. MOST_TAPS: largest number of weights of a smoothing
// kernel.
#define SHARING 128
#define MOST_TAPS 31

// Smooths along an axis: weighted sum of the values at and around a voxel by a symmetric kernel, computed as on the
// CPU.
template <typename Value> __device__ __forceinline__ float taps(const float *weights, int radius, Value value)
{
    float sum = weights[0] * value(0);
#pragma unroll 2
    for (int k = 1; k <= radius; ++k) sum = sum + weights[k] * (value(-k) + value(k));
    return sum;
}

// Smooths the listed voxels without a mark. The new displacement, stored in `target`, lies between the old and the
// Gaussian-smoothed displacement, by the voxel's weight. The smoothed field is zero at the border. Each thread block
// processes one voxel at a time.
extern "C" __global__ void __launch_bounds__(SHARING)
    smooth_listed(const float *READ field, const float *READ weights, const unsigned int *READ list,
                  const unsigned int *READ listed, const __grid_constant__ Weights gaussian, int radius, float *target,
                  const __grid_constant__ Shape shape)
{
    __shared__ float along_x[3 * MOST_TAPS * MOST_TAPS], along_y[3 * MOST_TAPS];
    const int width = 2 * radius + 1, area = width * width;
    const unsigned int count = *listed;
    const size_t stride = plane(shape);
    for (unsigned int n = blockIdx.x; n < count; n += gridDim.x) {
        const size_t here = list[n];
        const float share = weights[here];
        if (share >= UNFOLDED) continue;
        const Voxel v = voxel_of(here, shape);
        __syncthreads();
#pragma unroll 1
        for (int row = threadIdx.x; row < 3 * area; row += SHARING) {
            const int y = min(max(v.y + row % width - radius, 0), shape.y - 1);
            const int z = min(max(v.z + row / width % width - radius, 0), shape.z - 1);
            const float *from = field + row / area * stride + offset({0, y, z}, shape);
            along_x[row] = taps(gaussian.x, shape.x > 1 ? radius : 0,
                                [&](int k) { return from[min(max(v.x + k, 0), shape.x - 1)]; });
        }
        __syncthreads();
#pragma unroll 1
        for (int row = threadIdx.x; row < 3 * width; row += SHARING)
            along_y[row] = taps(gaussian.y, shape.y > 1 ? radius : 0,
                                [&](int k) { return along_x[row * width + radius + k]; });
        __syncthreads();
        if (threadIdx.x >= 3) continue;
        const int c = threadIdx.x;
        float s = taps(gaussian.z, shape.z > 1 ? radius : 0, [&](int k) { return along_y[c * width + radius + k]; });
        if (on_edge(v, shape)) s = 0.f;
        const float u = field[c * stride + here];
        target[c * stride + here] = lerp(u, s, share);
    }
}

// Writes the new displacements of the listed voxels to the field. Marks the bricks that the next round must examine
// and, in `following`, the bricks in which the inverse field must be computed again.
extern "C" __global__ void __launch_bounds__(256)
    change_listed(float *field, const float *READ target, float *weights, const unsigned int *READ list,
                  const unsigned int *READ listed, float margin, unsigned int *marks, unsigned int *following,
                  const __grid_constant__ Shape shape)
{
    const unsigned int count = *listed, step = gridDim.x * blockDim.x;
    const size_t stride = plane(shape);
    for (unsigned int n = blockIdx.x * blockDim.x + threadIdx.x; n < count; n += step) {
        const size_t here = list[n];
        const Voxel v = voxel_of(here, shape);
        const Vector before = load(field, stride, here), after = load(target, stride, here);
        store(field, stride, here, after);
        weights[here] = 0.f;
        mark_around(marks, shape, moved(v, {0.f, 0.f, 0.f}), 1.f);
        mark_around(following, shape, moved(v, before), margin);
        mark_around(following, shape, moved(v, after), margin);
    }
}

// After `field` was changed, computes its inverse again in the bricks marked in `following`. Marks the bricks of both
// fields that the next round must examine.
extern "C" __global__ void __launch_bounds__(VOXELS, 2)
    follow_marked(const float *READ field, float *inverse, unsigned int *following, const __grid_constant__ Round round,
                  unsigned int *marks, unsigned int *inverse_marks, const __grid_constant__ Shape shape)
{
    each_marked(following, shape, [&](int brick, Voxel v) {
        // Where a field has changed, its inverse field may deviate more than before, even if the inverse field has not
        // changed. So this brick (block of 8³ voxels) of the inverse field is examined again.
        if (threadIdx.x == 0) inverse_marks[brick] = 1;
        if (!within(v, shape)) return;
        const size_t here = offset(v, shape), stride = plane(shape);
        const Vector before = load(inverse, stride, here);
        Vector after = {0.f, 0.f, 0.f};
        if (!on_edge(v, shape)) after = improved(v, before, field, round.steps, round.follow, shape);
        if (after.x == before.x && after.y == before.y && after.z == before.z) return;
        store(inverse, stride, here, after);
        mark_around(inverse_marks, shape, moved(v, {0.f, 0.f, 0.f}), 1.f);
        mark_around(marks, shape, moved(v, after), round.margin);
    });
}
