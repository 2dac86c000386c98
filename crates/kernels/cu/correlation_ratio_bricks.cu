// The correlation ratio of a batch of transforms without weights, brick by brick in the volume's own order.
//
// 1 − η is (Σw·y² − Σ over bins of (Σw·y)²/Σw) / (Σw·y² − (Σw·y)²/Σw). So only Σw·y is added up for each bin; Σw·y² is for all
// together, and Σw is the bin's voxels less what is lost outside and in the ramp. Bricks that meet nothing but zeros, which
// skull-stripped images mostly are, are left out. Sums are of whole units, whose order does not matter; those of the
// fullest bin are in registers.
#include "reduce.cuh"

#define READ __restrict__
// A block takes at most so many bricks.
#define MOST_BRICKS 120
// Bricks of a run along x; a block takes whole runs.
#define RUN 8
#define BRICK_X 8
#define BRICK_Y 8
#define BRICK_Z 4
// Voxels of a lane.
#define STEPS 8
// The bin of what lies outside the volume.
#define NOT_COUNTED 0xffffu
// Marks bins of so few voxels that they may end with no more than two, which do not count: their squares are added up as well.
#define SPARSE 0x8000u
#define SPARSE_VOXELS 64
// Of their squares: as many of them as that fit into 31 bits.
#define SPARSE_UNIT 16777216.f
// The greatest distance that is told from others, cells.
#define FAR 8

// What is known of a brick, above its number. NUMBER alone: nothing to do.
#define NUMBER 0x3fffffffu
#define DEEP 0x40000000u
#define EMPTY 0x80000000u

struct Size {
    int x, y, z;
};

struct Point {
    float x, y, z;
};

// A map of fixed to moving voxel indices, row-major 3×4.
struct Map {
    float m[12];
};

// As Operands of src/cuda/ratio_bricks.rs.
struct Operands {
    // Fixed bins, those of a lane after one another: of lane l, step s it is the voxel at x = l % 8, y = l / 8 + 4·(s % 2),
    // z = s / 2 of its brick.
    const uint4 *fixed;
    const float *moving;
    cudaTextureObject_t texture;
    // For each cell of 2×2×2 moving voxels: how many cells away the nearest one is that is not all zeros.
    const unsigned short *distance;
    // The largest magnitude of a moving value.
    const float *largest;
    Size shape, bricks, moving_shape, cells;
    // 1 / width of the ramp at the edge, per axis.
    Point per_edge;
    int bins;
    // The bin with most voxels.
    int hot;
    // A weight of 1, and the largest magnitude of a moving value, in units; a power of two, at most 2²¹, so that the sums of a
    // block fit into 31 bits and those of all squares into 64.
    float unit;
};

__device__ __forceinline__ Point mapped(const Map &map, float i, float j, float k)
{
    const float *m = map.m;
    return {fmaf(m[0], i, fmaf(m[1], j, fmaf(m[2], k, m[3]))), fmaf(m[4], i, fmaf(m[5], j, fmaf(m[6], k, m[7]))),
            fmaf(m[8], i, fmaf(m[9], j, fmaf(m[10], k, m[11])))};
}

__device__ __forceinline__ float ramp(float at, int n, float per_edge)
{
    const float distance = fminf(at, (float)(n - 1) - at);
    // NaN goes to 0 as well; 0·∞, on the border without a ramp, to 1.
    return distance >= 0.f ? fminf(distance * per_edge, 1.f) : 0.f;
}

// Whether the ramp is 1 within reach of a coordinate, and both corners of every cell there exist.
__device__ __forceinline__ bool deep(float at, float reach, int n, float per_edge)
{
    const float edge = (per_edge < 1e6f ? 1.f / per_edge : 0.f) + 0.01f + reach;
    return at > edge && at < (float)(n - 1) - edge;
}

// How far the coordinates of a brick's voxels are from its middle along an axis; the rest covers their rounding.
__device__ __forceinline__ float reach_of(const float *m)
{
    return fabsf(m[0]) * (0.5f * (BRICK_X - 1)) + fabsf(m[1]) * (0.5f * (BRICK_Y - 1)) +
           fabsf(m[2]) * (0.5f * (BRICK_Z - 1)) + 0.01f;
}

__device__ __forceinline__ int cell_of(float at, int cells)
{
    return min(max((int)floorf(0.5f * at), 0), cells - 1);
}

__device__ __forceinline__ Size corner_of(const Operands &on, unsigned int brick)
{
    const unsigned int row = brick / on.bricks.x;
    return {(int)(brick - row * on.bricks.x) * BRICK_X, (int)(row % on.bricks.y) * BRICK_Y,
            (int)(row / on.bricks.y) * BRICK_Z};
}

__device__ __forceinline__ unsigned int look_at(const Operands &on, const Map &map, unsigned int brick)
{
    const Size corner = corner_of(on, brick);
    const bool whole = corner.x + BRICK_X <= on.shape.x && corner.y + BRICK_Y <= on.shape.y && corner.z + BRICK_Z <= on.shape.z;
    const Point middle = mapped(map, corner.x + 0.5f * (BRICK_X - 1), corner.y + 0.5f * (BRICK_Y - 1), corner.z + 0.5f * (BRICK_Z - 1));
    const float x = reach_of(map.m), y = reach_of(map.m + 4), z = reach_of(map.m + 8);
    const bool inside = deep(middle.x, x, on.moving_shape.x, on.per_edge.x) && deep(middle.y, y, on.moving_shape.y, on.per_edge.y) &&
                        deep(middle.z, z, on.moving_shape.z, on.per_edge.z);
    const int i = cell_of(middle.x, on.cells.x), j = cell_of(middle.y, on.cells.y), k = cell_of(middle.z, on.cells.z);
    // The voxels that are read around a place in a cell lie at most reach + 3 voxels from the cell's far corner.
    const bool empty = 2.f * (float)on.distance[(k * on.cells.y + j) * on.cells.x + i] >= fmaxf(x, fmaxf(y, z)) + 3.f;
    if (inside && empty) return NUMBER;
    return brick | (inside && whole ? DEEP : 0) | (empty ? EMPTY : 0);
}

__device__ __forceinline__ unsigned int fixed_bin(const uint4 &packed, int step)
{
    const unsigned int word = step < 2 ? packed.x : step < 4 ? packed.y : step < 6 ? packed.z : packed.w;
    return step % 2 ? word >> 16 : word & 0xffff;
}

// Trilinear between the eight voxels around a place, of which the low corner is given.
__device__ __forceinline__ float between(const Operands &on, int i, int j, int k, float tx, float ty, float tz)
{
    const float *r00 = on.moving + ((k * on.moving_shape.y + j) * on.moving_shape.x + i), *r10 = r00 + on.moving_shape.x;
    const float *r01 = r00 + on.moving_shape.x * on.moving_shape.y, *r11 = r01 + on.moving_shape.x;
    const float a = __ldg(r00), b = __ldg(r10), c = __ldg(r01), d = __ldg(r11);
    const float c00 = fmaf(tx, __ldg(r00 + 1) - a, a), c10 = fmaf(tx, __ldg(r10 + 1) - b, b);
    const float c01 = fmaf(tx, __ldg(r01 + 1) - c, c), c11 = fmaf(tx, __ldg(r11 + 1) - d, d);
    const float low = fmaf(ty, c10 - c00, c00), high = fmaf(ty, c11 - c01, c01);
    return fmaf(tz, high - low, low);
}

// At least two voxels along each axis.
template <bool FILTERED> __device__ __forceinline__ float value_at(const Operands &on, Point at)
{
    if (FILTERED) return tex3D<float>(on.texture, at.x + 0.5f, at.y + 0.5f, at.z + 0.5f);
    const int i = min((int)at.x, on.moving_shape.x - 2), j = min((int)at.y, on.moving_shape.y - 2);
    const int k = min((int)at.z, on.moving_shape.z - 2);
    return between(on, i, j, k, at.x - (float)i, at.y - (float)j, at.z - (float)k);
}

// A value in units, rounded to a whole one: |value · scale| < 2²².
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

// totals[transform · (3·bins + 1) …]: Σw·y, Σ(1−w) and, of sparse bins, Σw·y² in units of their own; then Σw·y² of all in
// squared units.
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
        const Size corner = corner_of(on, brick);
        const uint4 packed = __ldg(on.fixed + brick * 32u + lane);
        const float x = (float)(corner.x + lane % BRICK_X);
        float q = 0.f;
        if (entry & DEEP) {
            float values[STEPS];
#pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                const Point at = mapped(map, x, (float)(corner.y + lane / BRICK_X + step % 2 * 4), (float)(corner.z + step / 2));
                values[step] = FILTERED ? tex3D<float>(on.texture, at.x + 0.5f, at.y + 0.5f, at.z + 0.5f)
                                        : between(on, (int)at.x, (int)at.y, (int)at.z, at.x - (float)(int)at.x,
                                                  at.y - (float)(int)at.y, at.z - (float)(int)at.z);
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
                const Point at = mapped(map, x, (float)(corner.y + lane / BRICK_X + step % 2 * 4), (float)(corner.z + step / 2));
                const float weight = ramp(at.x, on.moving_shape.x, on.per_edge.x) * ramp(at.y, on.moving_shape.y, on.per_edge.y) *
                                     ramp(at.z, on.moving_shape.z, on.per_edge.z);
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

// costs[transform] from its totals; in_bin: voxels of each bin. NaN where these do not suffice: a bin whose squares are not
// known ended with so few voxels that they do not count, or the variance is of the order of what units round off. A block a
// transform.
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
        // Each of n voxels has lost a fraction of a unit, in either direction: √n of them in a sum, times a mean value of less
        // than `unit`. Where the variance is not 10⁵ times that, single precision by segments knows better; what differs from
        // zero nowhere costs 1.
        if (n > 0.0 && own[3 * bins] > 0 && !(all > 1e5 * sqrt(n) * (double)unit)) unknown = 1.0;
        costs[blockIdx.x] = unknown > 0.0 ? __longlong_as_double(0x7ff8000000000000ll) : cost;
    }
}

// The bin of a value is ⌊(value − low)·scale⌋, clamped.
struct Binning {
    float low, scale, bins;
};

// Bins in the order of Operands::fixed. A thread a place.
extern "C" __global__ void place_bins(const float *READ fixed, Size shape, Size bricks, Binning binning,
                                      const unsigned int *READ in_bin, unsigned int places, unsigned short *placed)
{
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= places) return;
    const unsigned int brick = at / 256, lane = at % 256 / STEPS, step = at % STEPS, row = brick / bricks.x;
    const int x = (int)(brick - row * bricks.x) * BRICK_X + lane % BRICK_X;
    const int y = (int)(row % bricks.y) * BRICK_Y + lane / BRICK_X + step % 2 * 4, z = (int)(row / bricks.y) * BRICK_Z + step / 2;
    unsigned int bin = NOT_COUNTED;
    if (x < shape.x && y < shape.y && z < shape.z) {
        const float value = fixed[((unsigned int)z * shape.y + y) * shape.x + x];
        bin = (unsigned int)fminf(fmaxf((value - binning.low) * binning.scale, 0.f), binning.bins - 1.f);
        if (in_bin[bin] <= SPARSE_VOXELS) bin |= SPARSE;
    }
    placed[at] = (unsigned short)bin;
}

// distance[cell] is 0 where a voxel is not zero and FAR elsewhere; largest: of all magnitudes, zero before. A thread a cell.
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
    // Magnitudes are in the order of their bits.
    if (threadIdx.x == 0 && most > 0.f) atomicMax(largest, __float_as_uint(most));
}

// The greater of the distances along one axis and those known so far, at the least of all cells along that axis.
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
