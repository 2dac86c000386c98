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

// Parameters of a round of corrections, with the layout of `Round` in src/cuda/relaxation/relax.rs.
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

// Number of the brick (block of 8³ voxels) that contains a voxel.
__device__ __forceinline__ int brick_of(Voxel v, const Shape &shape)
{
    const int nx = (shape.x + BRICK - 1) / BRICK, ny = (shape.y + BRICK - 1) / BRICK;
    return (v.z / BRICK * ny + v.y / BRICK) * nx + v.x / BRICK;
}

// The voxel of a brick (block of 8³ voxels) with the lowest coordinates.
__device__ __forceinline__ Voxel corner_of_brick(int brick, const Shape &shape)
{
    const int nx = (shape.x + BRICK - 1) / BRICK, ny = (shape.y + BRICK - 1) / BRICK;
    return {brick % nx * BRICK, brick / nx % ny * BRICK, brick / (nx * ny) * BRICK};
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
            const Voxel corner = corner_of_brick(brick, shape);
            work(brick, Voxel{corner.x + thread % BRICK, corner.y + thread / BRICK % BRICK,
                              corner.z + thread / (BRICK * BRICK)});
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
//   The weight grows with the residual of the voxel beyond the limits, and is largest where that voxel folds. Bricks
//   with such voxels are marked in `smoothing`.
extern "C" __global__ void __launch_bounds__(VOXELS, 2)
    examine(const float *READ field, const float *READ inverse, unsigned int *marks, const __grid_constant__ Round round,
            float *target, float *weights, unsigned int *list, unsigned int *listed, unsigned int *count,
            unsigned int *smoothing, const __grid_constant__ Shape shape)
{
    // Voxels of the brick around which the field is smoothed: the thread of each, and its weight.
    __shared__ unsigned short centres[VOXELS];
    __shared__ float strengths[VOXELS];
    __shared__ int centre_count;
    if (threadIdx.x == 0) centre_count = 0;
    __syncthreads();
    each_marked(marks, shape, [&](int brick, Voxel v) {
        bool beyond = false, is_centre = false;
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
                is_centre = true;
                const float excess = sqrtf(missed) / sqrtf(round.largest_residual_squared) - 1.f;
                const int n = atomicAdd(&centre_count, 1);
                centres[n] = threadIdx.x;
                strengths[n] = folds ? 1.f : fminf(0.5f * excess + 0.05f, 1.f);
            }
        }
        const int found = __syncthreads_count(beyond);
        if (!found) return;
        if (threadIdx.x == 0) atomicAdd(count, found);
        // Counted at a barrier: another thread may already add to `centre_count` for the next brick.
        const int centred = __syncthreads_count(is_centre);
        if (!centred) return;
        // The threads of the block share the neighbours of these voxels.
        const Voxel first = corner_of_brick(brick, shape);
        const int reach = round.reach, width = 2 * reach + 1, limit = (reach + 1) * (reach + 1);
        const int neighbours = width * width * width;
#pragma unroll 1
        for (int item = threadIdx.x; item < centred * neighbours; item += VOXELS) {
            const int n = item / neighbours, neighbour = item % neighbours, centre = centres[n];
            const int dx = neighbour % width - reach, dy = neighbour / width % width - reach;
            const int dz = neighbour / (width * width) - reach, rest = limit - (dx * dx + dy * dy + dz * dz);
            const Voxel there = {first.x + centre % BRICK + dx, first.y + centre / BRICK % BRICK + dy,
                                 first.z + centre / (BRICK * BRICK) + dz};
            const bool exists = there.x >= 0 && there.y >= 0 && there.z >= 0 && within(there, shape);
            if (rest <= 0 || !exists) continue;
            list_voxel(weights, list, listed, offset(there, shape), strengths[n] * ((float)rest / (float)limit));
            smoothing[brick_of(there, shape)] = 1;
        }
        __syncthreads();
        if (threadIdx.x == 0) centre_count = 0;
        __syncthreads();
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

// Largest number of weights of a smoothing kernel, and largest number of voxels along an axis from which a brick is
// smoothed.
#define MOST_TAPS 31
#define MOST_READ (BRICK + MOST_TAPS - 1)
// A brick is smoothed in parts of this many voxels along x, so that the values along each axis fit in shared memory.
#define PART 4

// The range of the bits that are set in a set of bits.
struct Extent {
    int first, size;

    __device__ __forceinline__ explicit Extent(unsigned int bits) : first(__ffs(bits) - 1), size(32 - __clz(bits) - first)
    {
        if (!bits) size = 0;
    }
};

// Smooths along an axis: weighted sum of the values at and around a voxel by a symmetric kernel, computed as on the
// CPU.
template <typename Value> __device__ __forceinline__ float taps(const float *weights, int radius, Value value)
{
    float sum = weights[0] * value(0);
#pragma unroll 2
    for (int k = 1; k <= radius; ++k) sum = sum + weights[k] * (value(-k) + value(k));
    return sum;
}

// Smooths the listed voxels without a mark, in the bricks marked in `smoothing`. The new displacement, stored in
// `target`, lies between the old and the Gaussian-smoothed displacement, by the voxel's weight. The smoothed field is
// zero at the border. Only the box around the listed voxels of a part of a brick is smoothed.
extern "C" __global__ void __launch_bounds__(VOXELS, 2)
    smooth_marked(const float *READ field, const float *READ weights, unsigned int *smoothing,
                  const __grid_constant__ Weights gaussian, int radius, float *target,
                  const __grid_constant__ Shape shape)
{
    __shared__ float along_x[PART * MOST_READ * MOST_READ], along_y[PART * BRICK * MOST_READ];
    // The coordinates of listed voxels in each part of the brick: a set of bits for each axis.
    __shared__ unsigned int listed_at[BRICK / PART][3];
    const int radius_x = shape.x > 1 ? radius : 0, radius_y = shape.y > 1 ? radius : 0, radius_z = shape.z > 1 ? radius : 0;
    const int thread = threadIdx.x;
    const size_t stride = plane(shape);
    each_marked(smoothing, shape, [&](int brick, Voxel v) {
        __syncthreads();
        if (thread < 3 * BRICK / PART) listed_at[thread / 3][thread % 3] = 0;
        __syncthreads();
        const size_t here = offset(v, shape);
        const float share = within(v, shape) ? weights[here] : 0.f;
        const bool listed = share > 0.f && share < UNFOLDED;
        const int part = thread % BRICK / PART;
        if (listed) {
            atomicOr(&listed_at[part][0], 1u << thread % BRICK);
            atomicOr(&listed_at[part][1], 1u << thread / BRICK % BRICK);
            atomicOr(&listed_at[part][2], 1u << thread / (BRICK * BRICK));
        }
        __syncthreads();
        const Voxel first = corner_of_brick(brick, shape);
#pragma unroll 1
        for (int p = 0; p < BRICK / PART; ++p) {
            const Extent x(listed_at[p][0]), y(listed_at[p][1]), z(listed_at[p][2]);
            if (!x.size) continue;
            const int tall = y.size + 2 * radius_y, deep = z.size + 2 * radius_z;
#pragma unroll 1
            for (int c = 0; c < 3; ++c) {
                const float *component = field + c * stride;
#pragma unroll 1
                for (int n = thread; n < x.size * tall * deep; n += VOXELS) {
                    const int row = n / x.size, x_here = first.x + x.first + n % x.size;
                    const int y_here = min(max(first.y + y.first + row % tall - radius_y, 0), shape.y - 1);
                    const int z_here = min(max(first.z + z.first + row / tall - radius_z, 0), shape.z - 1);
                    const float *from = component + offset({0, y_here, z_here}, shape);
                    along_x[n] = taps(gaussian.x, radius_x,
                                      [&](int k) { return from[min(max(x_here + k, 0), shape.x - 1)]; });
                }
                __syncthreads();
#pragma unroll 1
                for (int n = thread; n < x.size * y.size * deep; n += VOXELS) {
                    const int row = n / x.size, z_here = row / y.size, y_here = row % y.size + radius_y;
                    const float *from = along_x + (z_here * tall + y_here) * x.size + n % x.size;
                    along_y[n] = taps(gaussian.y, radius_y, [&](int k) { return from[k * x.size]; });
                }
                __syncthreads();
                if (listed && part == p) {
                    const int z_here = thread / (BRICK * BRICK) - z.first + radius_z;
                    const int y_here = thread / BRICK % BRICK - y.first, x_here = thread % BRICK - x.first;
                    const float *from = along_y + (z_here * y.size + y_here) * x.size + x_here;
                    const int slice = x.size * y.size;
                    const float s = on_edge(v, shape) ? 0.f : taps(gaussian.z, radius_z, [&](int k) { return from[k * slice]; });
                    target[c * stride + here] = lerp(component[here], s, share);
                }
            }
        }
    });
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
