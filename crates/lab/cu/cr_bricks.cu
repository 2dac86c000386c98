// Computes only the sums that the correlation ratio needs: Σw and Σw·y of each fixed bin, and Σw·y² of all voxels
// together, where y is the moving value and w its weight. They suffice: the sum of Σw·variance over the bins is Σw·y²
// of all voxels less the sum of (Σw·y)²/Σw over the bins.
//
// In place of y, its difference from the most frequent moving value is added up. This difference is 0 in bricks (boxes
// of 8×8×4 voxels) with only that value. Such bricks are skipped where all weights are 1 (brick.cuh). In place of w,
// the lost weight 1 − w is added up; Σw of a bin is the number of its voxels less Σ(1−w). The lost weight is 0 except
// outside the moving image and in the zone at its edge where weights fall from 1 to 0. All sums are sums of integers,
// so the order of addition does not matter. The sums of the fixed bin with the most voxels are kept in registers.
#include "reduce.cuh"
#include "brick.cuh"

#define UNIT 65536.f

// Rounds to the nearest integer; the absolute value must be less than 2²².
__device__ __forceinline__ int rounded(float amount)
{
    return __float_as_int(amount + 12582912.f) - 0x4b400000;
}

// Computes the sums of the correlation ratio, where y is the moving value of a voxel and w its weight. `sums` is the
// result: Σw and Σw·y of each bin, then Σw·y² of all voxels. `totals` has the sums as integers: Σw·v and Σ(1−w) of each
// bin, then Σw·v² of all voxels, where v = (y − most frequent y)/(range of y). `totals` must be zero before, and is set
// to zero again. in_bin is the number of voxels of each fixed bin.
template <int SOURCE>
__device__ __forceinline__ void add_bricks(const Pair &pair, const Bricks &bricks, int bins, float per_range,
                                           const unsigned int *READ in_bin, unsigned long long *totals,
                                           unsigned int *finished, double *sums)
{
    extern __shared__ int own[];
    for (int at = threadIdx.x; at < 2 * bins; at += blockDim.x) own[at] = 0;
    __syncthreads();
    const int lane = threadIdx.x % 32, hot = bricks.hot;
    const float scale = per_range * UNIT, common = bricks.common;
    int s = 0, lost = 0;
    unsigned int squares = 0;
    over_bricks<SOURCE>(pair, bricks, [&](unsigned int entry) {
        float q = 0.f;
        if (entry & DEEP) {
            over_deep<SOURCE>(pair, bricks, entry & NUMBER, lane, [&](int bin, float value) {
                const float v = (value - common) * scale;
                const int units = rounded(v);
                q = fmaf(v, v, q);
                s += bin == hot ? units : 0;
                if (bin != hot && units) atomicAdd(own + bin, units);
            });
        } else {
            over_border<SOURCE>(pair, bricks, entry, lane, [&](int bin, float value, float weight) {
                const float v = (value - common) * scale;
                const int units = rounded(weight * v), less = rounded((1.f - weight) * UNIT);
                q = fmaf(weight * v, v, q);
                s += bin == hot ? units : 0;
                lost += bin == hot ? less : 0;
                if (bin != hot && units) atomicAdd(own + bin, units);
                if (bin != hot && less) atomicAdd(own + bins + bin, less);
            });
        }
        squares += __float2uint_rn(q * (1.f / UNIT));
    });
    s = warp_sum(s);
    lost = warp_sum(lost);
    squares = warp_sum(squares);
    if (lane == 0) {
        if (s) atomicAdd(own + hot, s);
        if (lost) atomicAdd(own + bins + hot, lost);
        if (squares) atomicAdd(totals + 2 * bins, (unsigned long long)squares);
    }
    __syncthreads();
    for (int at = threadIdx.x; at < 2 * bins; at += blockDim.x)
        if (own[at]) atomicAdd(totals + at, (unsigned long long)(long long)own[at]);
    if (!last_block(finished)) return;
    const double range = per_range > 0.f ? 1.0 / (double)per_range : 0.0, from = (double)common;
    double n = 0.0, first = 0.0;
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
        const double w = (double)in_bin[bin] - (double)(long long)__ldcg(totals + bins + bin) / UNIT;
        const double f = range * ((double)(long long)__ldcg(totals + bin) / UNIT);
        sums[bin] = w;
        sums[bins + bin] = from * w + f;
        n += w;
        first += f;
        totals[bin] = totals[bins + bin] = 0;
    }
    n = block_sum(n);
    first = block_sum(first);
    if (threadIdx.x == 0) {
        const double second = range * range * ((double)__ldcg(totals + 2 * bins) / UNIT);
        sums[2 * bins] = second + 2.0 * from * first + from * from * n;
        totals[2 * bins] = 0;
    }
}

#define BRICKS(name, source)                                                                                           \
    extern "C" __global__ void __launch_bounds__(512, 2)                                                               \
        name(const __grid_constant__ Pair pair, const __grid_constant__ Bricks bricks, int bins, float per_range,      \
             const unsigned int *READ in_bin, unsigned long long *totals, unsigned int *finished, double *sums)        \
    {                                                                                                                  \
        add_bricks<source>(pair, bricks, bins, per_range, in_bin, totals, finished, sums);                             \
    }

BRICKS(cr_bricks_given, GIVEN)
BRICKS(cr_bricks_exact, EXACT)
BRICKS(cr_bricks_filtered, FILTERED)
