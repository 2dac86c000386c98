// Computes the bins of the values of the fixed image.
#pragma once

struct Binning {
    float low, scale, bins;

    // The bin of a value: ⌊(value − low)·scale⌋, clamped to the range of bins.
    __device__ __forceinline__ int bin_of(float value) const
    {
        return (int)fminf(fmaxf((value - low) * scale, 0.f), bins - 1.f);
    }
};
