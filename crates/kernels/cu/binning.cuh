// The bins of fixed values.
#pragma once

struct Binning {
    float low, scale, bins;

    // ⌊(value − low)·scale⌋, clamped.
    __device__ __forceinline__ int bin_of(float value) const
    {
        return (int)fminf(fmaxf((value - low) * scale, 0.f), bins - 1.f);
    }
};
