// Maps values of the fixed image to histogram bins.
#pragma once

struct Binning {
    float low, scale, bins;

    // Histogram bin of an image value: ⌊(value − low)·scale⌋, clamped to 0 … bins − 1.
    __device__ __forceinline__ int bin_of(float value) const
    {
        return (int)fminf(fmaxf((value - low) * scale, 0.f), bins - 1.f);
    }
};
