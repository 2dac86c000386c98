// The correlation ratio of a batch of transforms for images without weights: voxels are processed brick by brick, in
// the order of the volume.
//
// The cost 1 − η is (Σw·y² − Σ over bins of (Σw·y)²/Σw) / (Σw·y² − (Σw·y)²/Σw), where y is the moving value and w its
// weight. So only Σw·y is added up for each bin. Σw·y² is added up for all bins together. Σw of a bin is the number of
// its voxels less the weight that is lost outside the moving image and in the ramp, the band at its border in which
// weights rise from 0 to 1. Bricks that meet only zeros of the moving image are skipped; in skull-stripped images most
// bricks are such. All sums are sums of integers, so their order does not matter. The sums of the fullest bin are in
// registers.
#include "binning.cuh"
#include "bricks.cuh"
#include "reduce.cuh"

// Largest number of bricks (blocks of fixed voxels) that a thread block processes.
#define MOST_BRICKS 120
// Flag of a sparse bin (at most SPARSE_VOXELS fixed voxels). If two voxels of a bin or fewer are mapped into the moving
// image, the bin does not count. So for sparse bins, the squares of the moving values are also added up.
#define SPARSE 0x8000u
#define SPARSE_VOXELS 64
// Squares of moving values in sparse bins are integers in units of 1/SPARSE_UNIT: SPARSE_VOXELS of them fit into 31
// bits.
#define SPARSE_UNIT 16777216.f
// Largest distance between cells (2×2×2 moving voxels) that is stored, in cells. It also stands for larger distances.
#define FAR 8

// The fixed bins, the moving image and derived data, which the kernels of this file read. The layout is that of
// Operands in src/cuda/similarity/bricks.rs.
struct Operands {
    // The histogram bins of the fixed voxels, brick by brick (8×8×4 voxels), in the order in which `fixed_bin` reads.
    const uint4 *fixed;
    const float *moving;
    cudaTextureObject_t texture;
    // For each cell (2×2×2 moving voxels), the distance in cells to the nearest cell with a voxel that is not zero;
    // `is_empty` reads it.
    const unsigned short *distance;
    // The largest absolute value of the moving image.
    const float *largest;
    Size shape, bricks, moving_shape, cells;
    // 1 / width of the ramp along each axis; width in voxels. The ramp is the band at the border of the moving image in
    // which weights rise from 0 to 1.
    Vector per_edge;
    int bins;
    // The bin with the most fixed voxels.
    int hot;
    // The integer that stands for a weight of 1, and also for the largest absolute value of the moving image. It is a
    // power of two, at most 2²¹, so that the sums of a thread block fit into 31 bits and the sum of all squares into
    // 64.
    float unit;
};

// Whether all coordinates within `reach` of `at`, along an axis of the moving image with `n` voxels, lie between two
// voxels and have weight 1. The weight of a coordinate rises from 0 at the border to 1 at a distance of 1/`per_edge`
// voxels.
__device__ __forceinline__ bool deep(float at, float reach, int n, float per_edge)
{
    const float edge = (per_edge < 1e6f ? 1.f / per_edge : 0.f) + 0.01f + reach;
    return at > edge && at < (float)(n - 1) - edge;
}

__device__ __forceinline__ unsigned int look_at(const Operands &on, const Map &map, unsigned int brick)
{
    const Size corner = corner_of(on.bricks, brick);
    const Vector middle = middle_of(corner, map), reach = reach_of(map);
    const bool inside = deep(middle.x, reach.x, on.moving_shape.x, on.per_edge.x) &&
                        deep(middle.y, reach.y, on.moving_shape.y, on.per_edge.y) &&
                        deep(middle.z, reach.z, on.moving_shape.z, on.per_edge.z);
    const bool empty = is_empty(on.distance, on.cells, middle, reach);
    if (inside && empty) return NUMBER;
    return brick | (inside && whole(corner, on.shape) ? DEEP : 0) | (empty ? EMPTY : 0);
}

// The trilinear value of the moving image at a point. The image has at least two voxels along each axis.
template <bool FILTERED> __device__ __forceinline__ float value_at(const Operands &on, Vector at)
{
    if (FILTERED) return tex3D<float>(on.texture, at.x + 0.5f, at.y + 0.5f, at.z + 0.5f);
    const int i = min((int)at.x, on.moving_shape.x - 2), j = min((int)at.y, on.moving_shape.y - 2);
    const int k = min((int)at.z, on.moving_shape.z - 2);
    return read_inside(on.moving, on.moving_shape, i, j, k, at.x - (float)i, at.y - (float)j, at.z - (float)k);
}

// A number of integer units (of a weight or value), rounded to the nearest integer; its absolute value must be less
// than 2²².
struct Units {
    int whole;
    float number;

    __device__ __forceinline__ explicit Units(float amount)
    {
        const float shifted = amount + 12582912.f;
        whole = __float_as_int(shifted) - 0x4b400000;
        number = shifted - 12582912.f;
    }
};

// Adds up the sums of one transform over the bricks that this thread block processes, where y is the moving value of a
// voxel and w its weight. A transform has 3·bins + 1 elements of `totals`, where `bins` is the number of bins. First
// come three lists with an entry for each bin: Σw·y, Σ(1 − w), and for sparse bins Σw·y² in units of 1/SPARSE_UNIT. The
// last element is Σw·y² of all voxels in units of 1/`unit`².
template <bool FILTERED>
__device__ __forceinline__ void add_up(const Operands &on, const Map *READ maps, unsigned long long *totals)
{
    extern __shared__ int own[];
    __shared__ unsigned int list[MOST_BRICKS], listed, taken;
    const int bins = on.bins, lane = threadIdx.x % 32;
    const unsigned int hot = on.hot;
    const Map map = maps[blockIdx.y];
    for (int at = threadIdx.x; at < 3 * bins; at += blockDim.x) own[at] = 0;
    if (threadIdx.x == 0) listed = taken = 0;
    __syncthreads();
    const unsigned int run = threadIdx.x / RUN * gridDim.x + blockIdx.x, index = run * RUN + threadIdx.x % RUN;
    if (threadIdx.x < MOST_BRICKS && index < (unsigned int)(on.bricks.x * on.bricks.y * on.bricks.z)) {
        const unsigned int entry = look_at(on, map, index);
        if (entry != NUMBER) list[atomicAdd(&listed, 1u)] = entry;
    }
    __syncthreads();
    const float largest = *on.largest, unit = on.unit, scale = largest > 0.f ? unit / largest : 0.f;
    const float sparse = SPARSE_UNIT / (unit * unit);
    const unsigned int count = listed;
    int s = 0, lost = 0;
    unsigned long long squares = 0;
    const auto add_square = [&](unsigned int marked, float square) {
        if (marked & SPARSE) atomicAdd(own + 2 * bins + (marked & ~SPARSE), __float2int_rn(square * sparse));
    };
    while (true) {
        unsigned int next = 0;
        if (lane == 0) next = atomicAdd(&taken, 1u);
        next = __shfl_sync(0xffffffffu, next, 0);
        if (next >= count) break;
        const unsigned int entry = list[next], brick = entry & NUMBER;
        const Size corner = corner_of(on.bricks, brick);
        const uint4 packed = __ldg(on.fixed + brick * 32u + lane);
        const auto place = [&](int step) {
            const int y = corner.y + lane / BRICK_X + step % 2 * 4, z = corner.z + step / 2;
            return mapped(map, {(float)(corner.x + lane % BRICK_X), (float)y, (float)z});
        };
        float q = 0.f;
        if (entry & DEEP) {
            float values[STEPS];
#pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                const Vector at = place(step);
                values[step] = FILTERED ? tex3D<float>(on.texture, at.x + 0.5f, at.y + 0.5f, at.z + 0.5f)
                                        : read_inside(on.moving, on.moving_shape, at);
            }
#pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                const unsigned int marked = fixed_bin(packed, step), bin = marked & ~SPARSE;
                const Units units(values[step] * scale);
                const float square = units.number * units.number;
                q += square;
                s += bin == hot ? units.whole : 0;
                if (bin != hot && units.whole) atomicAdd(own + bin, units.whole);
                add_square(marked, square);
            }
        } else {
#pragma unroll 2
            for (int step = 0; step < STEPS; ++step) {
                const unsigned int marked = fixed_bin(packed, step), bin = marked & ~SPARSE;
                if (marked == NOT_COUNTED) continue;
                const Vector at = place(step);
                const float weight = ramp(at, on.moving_shape, on.per_edge);
                const float value = weight > 0.f && !(entry & EMPTY) ? value_at<FILTERED>(on, at) : 0.f;
                const Units units(value * scale);
                const int weighted = Units(weight * units.number).whole, less = Units((1.f - weight) * unit).whole;
                const float square = weight * units.number * units.number;
                q += square;
                s += bin == hot ? weighted : 0;
                lost += bin == hot ? less : 0;
                if (bin != hot && weighted) atomicAdd(own + bin, weighted);
                if (bin != hot && less) atomicAdd(own + bins + bin, less);
                add_square(marked, square);
            }
        }
        squares += __float2ull_rn(q);
    }
    s = warp_sum(s);
    lost = warp_sum(lost);
    squares = warp_sum(squares);
    unsigned long long *sums = totals + (size_t)blockIdx.y * (3 * bins + 1);
    if (lane == 0) {
        if (s) atomicAdd(own + hot, s);
        if (lost) atomicAdd(own + bins + hot, lost);
        if (squares) atomicAdd(sums + 3 * bins, squares);
    }
    __syncthreads();
    for (int at = threadIdx.x; at < 3 * bins; at += blockDim.x)
        if (own[at]) atomicAdd(sums + at, (unsigned long long)(long long)own[at]);
}

extern "C" __global__ void __launch_bounds__(256, 4)
    ratio_bricks_exact(const __grid_constant__ Operands on, const Map *READ maps, unsigned long long *totals)
{
    add_up<false>(on, maps, totals);
}

extern "C" __global__ void __launch_bounds__(256, 4)
    ratio_bricks_filtered(const __grid_constant__ Operands on, const Map *READ maps, unsigned long long *totals)
{
    add_up<true>(on, maps, totals);
}

// Computes the cost of each transform from its totals; in_bin is the number of fixed voxels of each bin. The cost is
// NaN if it cannot be computed from the totals: because a bin that is not sparse kept two voxels or fewer inside the
// moving image, or because the variance is of the order of the rounding error. A thread block processes one transform.
extern "C" __global__ void __launch_bounds__(256)
    ratio_bricks_costs(const unsigned long long *READ totals, const unsigned int *READ in_bin, int bins, float unit,
                       double *costs)
{
    const unsigned long long *own = totals + (size_t)blockIdx.x * (3 * bins + 1);
    double n = 0.0, s = 0.0, explained = 0.0, not_counted = 0.0, unknown = 0.0;
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
        const double weight = (double)in_bin[bin] - (double)(long long)own[bins + bin] / (double)unit;
        const double sum = (double)(long long)own[bin];
        if (weight > 2.0) {
            n += weight;
            s += sum;
            explained += sum * sum / weight;
        } else {
            not_counted += (double)(long long)own[2 * bins + bin];
            if (weight > 0.0 && in_bin[bin] > SPARSE_VOXELS) unknown = 1.0;
        }
    }
    n = block_sum(n);
    s = block_sum(s);
    explained = block_sum(explained);
    not_counted = block_sum(not_counted);
    unknown = block_sum(unknown);
    if (threadIdx.x == 0) {
        const double squared = (double)unit * (double)unit, ss = (double)own[3 * bins] - not_counted * (squared / SPARSE_UNIT);
        const double all = n > 0.0 ? ss - s * s / n : 0.0;
        const double cost = all > 0.0 ? fmin(fmax(ss - explained, 0.0) / all, 1.0) : 1.0;
        // The n moving values have been rounded to integers. This changes their sum by about √n, and the product of the
        // sum and the mean value, which is less than `unit`, by about √n·`unit`. If the variance is not 10⁵ times this
        // error, the kernels of correlation_ratio.cu are more exact. A moving image of zeros has cost 1.
        if (n > 0.0 && own[3 * bins] > 0 && !(all > 1e5 * sqrt(n) * (double)unit)) unknown = 1.0;
        costs[blockIdx.x] = unknown > 0.0 ? __longlong_as_double(0x7ff8000000000000ll) : cost;
    }
}

// Writes the histogram bins of the fixed voxels brick by brick (8×8×4 voxels). Each thread writes the bin of one voxel.
extern "C" __global__ void place_bins(const float *READ fixed, Size shape, Size bricks, Binning binning,
                                      const unsigned int *READ in_bin, unsigned int places, unsigned short *placed)
{
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= places) return;
    const unsigned int lane = at % 256 / STEPS, step = at % STEPS;
    const Size corner = corner_of(bricks, at / 256);
    const int x = corner.x + lane % BRICK_X, y = corner.y + lane / BRICK_X + step % 2 * 4, z = corner.z + step / 2;
    unsigned int bin = NOT_COUNTED;
    if (x < shape.x && y < shape.y && z < shape.z) {
        bin = binning.bin_of(fixed[((unsigned int)z * shape.y + y) * shape.x + x]);
        if (in_bin[bin] <= SPARSE_VOXELS) bin |= SPARSE;
    }
    placed[at] = (unsigned short)bin;
}

// First step for the distance of each cell (2×2×2 moving voxels) to the nearest cell that is not background:
// distance[cell] is 0 if a voxel of the cell is not zero, and FAR otherwise. `largest`, which must be zero before,
// becomes the largest absolute value of the image. Each thread processes one cell.
extern "C" __global__ void __launch_bounds__(256)
    empty_cells(const float *READ moving, Size shape, Size cells, unsigned short *distance, unsigned int *largest)
{
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x, row = at / cells.x;
    const int x = 2 * (at - row * cells.x), y = 2 * (row % cells.y), z = 2 * (row / cells.y);
    float most = 0.f;
    if (z < shape.z) {
        for (int k = z; k < min(z + 2, shape.z); ++k)
            for (int j = y; j < min(y + 2, shape.y); ++j)
                for (int i = x; i < min(x + 2, shape.x); ++i)
                    most = fmaxf(most, fabsf(moving[((unsigned int)k * shape.y + j) * shape.x + i]));
        distance[at] = most > 0.f ? 0 : FAR;
    }
    most = block_max(most);
    // Non-negative floats have the same order as their bit patterns.
    if (threadIdx.x == 0 && most > 0.f) atomicMax(largest, __float_as_uint(most));
}

// Extends the distances to the nearest cell that is not background by one more axis, in the maximum norm. The new
// distance of a cell is the minimum, over the cells of its line, of max(known distance there, distance along the axis).
extern "C" __global__ void cell_distances(const unsigned short *READ known, unsigned int cells, unsigned int stride,
                                          unsigned int length, unsigned short *distance)
{
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= cells) return;
    const int here = at / stride % length;
    int least = FAR;
    for (int away = -FAR + 1; away < FAR; ++away)
        if (here + away >= 0 && here + away < (int)length) least = min(least, max((int)known[at + away * (int)stride], abs(away)));
    distance[at] = (unsigned short)least;
}
