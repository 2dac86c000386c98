// The intensities of an image: how many voxels have each, and all of them kept to a range.
#include "volume.cuh"

// Numbers in the order of the floats they stand for, as in antsreg-core's intensity.rs.
__device__ __forceinline__ unsigned int key(float value)
{
    const unsigned int bits = __float_as_uint(value);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

#define NOWHERE 0xffffffffu

// Counts the finite values by the upper half of their key; or those with the upper half `upper` by the lower half.
// Many voxels may have the same background value. So lanes that count for the same entry add their counts first, and a lane
// that meets its entry again adds to its count.
extern "C" __global__ void count_keys(const float *READ values, unsigned int count, int upper, unsigned int *table)
{
    const unsigned int lane = threadIdx.x % 32, stride = gridDim.x * blockDim.x;
    unsigned int held = NOWHERE, found = 0;
    // Whole warps go on together.
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

// Values beyond the range become its ends; then (value − origin)·scale.
extern "C" __global__ void clip(float *values, unsigned int count, float low, float high, float origin, float scale)
{
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const float value = values[at], kept = value < low ? low : value > high ? high : value;
    values[at] = (kept - origin) * scale;
}
