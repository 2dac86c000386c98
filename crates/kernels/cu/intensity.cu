// Intensities of an image: counts for quantiles, clipping to a range, and curves.
#include "volume.cuh"

// An integer key that sorts like the float value, as in antsreg-core's intensity.rs.
__device__ __forceinline__ unsigned int key(float value)
{
    const unsigned int bits = __float_as_uint(value);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

#define NOWHERE 0xffffffffu

// Histogram of the keys of all finite values: by the upper 16 bits of the key if `upper` is negative; else by the lower
// 16 bits, of the keys whose upper bits are `upper`.
//
// Many voxels may have the same background value. So lanes of a warp with the same table entry add their counts first,
// and a lane keeps its count in a register as long as its entry stays the same.
extern "C" __global__ void count_keys(const float *READ values, unsigned int count, int upper, unsigned int *table)
{
    const unsigned int lane = threadIdx.x % 32, stride = gridDim.x * blockDim.x;
    unsigned int held = NOWHERE, found = 0;
    // All lanes of a warp stay in the loop together, because __match_any_sync needs them.
    for (unsigned int first = blockIdx.x * blockDim.x + threadIdx.x - lane; first < count; first += stride) {
        const unsigned int at = first + lane;
        unsigned int entry = NOWHERE;
        if (at < count) {
            const float value = __ldg(values + at);
            const unsigned int k = key(value);
            if (isfinite(value) && (upper < 0 || k >> 16 == (unsigned int)upper)) entry = upper < 0 ? k >> 16 : k & 0xffff;
        }
        const unsigned int same = __match_any_sync(0xffffffffu, entry);
        if (entry == NOWHERE || __ffs(same) - 1 != (int)lane) continue;
        if (entry != held) {
            if (found) atomicAdd(table + held, found);
            held = entry;
            found = 0;
        }
        found += __popc(same);
    }
    if (found) atomicAdd(table + held, found);
}

// Clips each value to the range low … high, and then maps it to (value − origin)·scale.
extern "C" __global__ void clip(float *values, unsigned int count, float low, float high, float origin, float scale)
{
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const float value = values[at], kept = value < low ? low : value > high ? high : value;
    values[at] = (kept - origin) * scale;
}

// Maps each value by a curve from 0 to 1 with the points curve[0] … curve[last], linear between them.
extern "C" __global__ void map_intensities(float *values, unsigned int count, const float *READ curve, int last)
{
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const float value = values[at], position = (value < 0.f ? 0.f : value > 1.f ? 1.f : value) * (float)last;
    // NaN becomes the index 0 here, and stays NaN in the interpolation.
    const int below = min((int)position, last - 1);
    const float from = __ldg(curve + below);
    values[at] = from + (position - (float)below) * (__ldg(curve + below + 1) - from);
}
