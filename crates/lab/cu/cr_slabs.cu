// The sums of the correlation ratio as integers, so that their order does not matter. Each thread block has 32-bit sums
// in shared memory, where the hardware adds integers, and adds them to 64-bit sums when it ends. The sums of
// the fullest fixed bin, which holds most voxels of a brain image, are kept in registers. The block that finishes last
// converts the integers to floating-point numbers.
//
// A block processes fewer than 2¹⁶ voxels, each of which adds at most 2¹⁶ to a sum, so that no sum overflows.
#include "reduce.cuh"
#include "slab.cuh"

#define UNIT 65536.f

__device__ __forceinline__ unsigned int units(float amount)
{
    return __float2uint_rn(amount * UNIT);
}

// Computes the sums of the correlation ratio, where y is the moving value of a voxel and w its weight. Moving values
// are scaled to the range from 0 to 1: v = (y − lowest y)·per_range. `totals` are three lists of integers with one
// entry for each bin: Σw, Σw·v and Σw·v². They must be zero before, and are set to zero again.
template <int SOURCE>
__device__ __forceinline__ void add_slabs(const Pair &pair, int bins, int hot, float per_range,
                                          unsigned long long *totals, unsigned int *finished, double *sums)
{
    extern __shared__ unsigned int own[];
    for (int at = threadIdx.x; at < 3 * bins; at += blockDim.x) own[at] = 0;
    __syncthreads();
    unsigned int n = 0, s = 0, ss = 0;
    const unsigned int slabs = slab_count(pair);
    for (unsigned int slab = blockIdx.x; slab < slabs; slab += gridDim.x)
        over_slab<SOURCE>(pair, slab, [&](int bin, float value, float weight) {
            const float v = __saturatef((value - pair.low) * per_range), first = weight * v;
            const unsigned int w = units(weight), f = units(first), q = units(first * v);
            if (bin == hot) {
                n += w;
                s += f;
                ss += q;
            } else {
                atomicAdd(own + bin, w);
                if (f) {
                    atomicAdd(own + bins + bin, f);
                    atomicAdd(own + 2 * bins + bin, q);
                }
            }
        });
    n = warp_sum(n);
    s = warp_sum(s);
    ss = warp_sum(ss);
    if (threadIdx.x % 32 == 0 && n) {
        atomicAdd(own + hot, n);
        atomicAdd(own + bins + hot, s);
        atomicAdd(own + 2 * bins + hot, ss);
    }
    __syncthreads();
    for (int at = threadIdx.x; at < 3 * bins; at += blockDim.x)
        if (own[at]) atomicAdd(totals + at, (unsigned long long)own[at]);
    if (!last_block(finished)) return;
    const double low = (double)pair.low, range = per_range > 0.f ? 1.0 / (double)per_range : 0.0;
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
        const double w = (double)__ldcg(totals + bin) / UNIT, f = (double)__ldcg(totals + bins + bin) / UNIT;
        const double q = (double)__ldcg(totals + 2 * bins + bin) / UNIT;
        sums[bin] = w;
        sums[bins + bin] = low * w + range * f;
        sums[2 * bins + bin] = low * low * w + 2.0 * low * range * f + range * range * q;
        for (int which = 0; which < 3; ++which) totals[which * bins + bin] = 0;
    }
}

#define SLABS(name, source)                                                                                            \
    extern "C" __global__ void __launch_bounds__(256)                                                                  \
        name(const __grid_constant__ Pair pair, int bins, int hot, float per_range, unsigned long long *totals,        \
             unsigned int *finished, double *sums)                                                                     \
    {                                                                                                                  \
        add_slabs<source>(pair, bins, hot, per_range, totals, finished, sums);                                         \
    }

SLABS(cr_slabs_given, GIVEN)
SLABS(cr_slabs_exact, EXACT)
SLABS(cr_slabs_filtered, FILTERED)
