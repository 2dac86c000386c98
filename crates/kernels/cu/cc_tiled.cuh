// Windowed cross-correlation by sliding tiles (box_sums.cuh). If the update of a voxel is computed from the window
// centred at the voxel alone, one kernel reads the images once and computes updates and energy. The exact derivative
// sums over all windows that contain the voxel; it takes two kernels, which follow each other.
#pragma once

#include "box_sums.cuh"
#include "cross_correlation.cuh"

// The quantities that are summed over a window of the images I and J: I, J, I², J² and IJ. With masks, only voxels
// inside both masks are summed, and the number of these voxels is a sixth quantity.
template <bool MASKED> struct Products {
    Pair pair;

    __device__ __forceinline__ float read(int input, size_t at) const
    {
        if (MASKED && !counted(pair, at)) return 0.f;
        return input == 0 ? __ldg(pair.fixed + at) : input == 1 ? __ldg(pair.moving + at) : 1.f;
    }

    static __device__ __forceinline__ float quantity(int q, const float *in)
    {
        switch (q) {
        case 0: return in[0];
        case 1: return in[1];
        case 2: return in[0] * in[0];
        case 3: return in[1] * in[1];
        case 4: return in[0] * in[1];
        default: return in[2];
        }
    }
};

// Receives the sums over the window of each voxel and computes the updates of both images from them. For the exact
// derivative of the cross-correlation it computes five terms instead, which a second kernel sums over windows.
template <int R, bool MASKED, bool EXACT> struct WindowSink {
    // Whether shared memory keeps the slices around the current one, to compute image gradients from them. This needs
    // unmasked image values, and windows that are not wide: otherwise shared memory is too small.
    static constexpr bool KEEP = !MASKED && !EXACT && R <= 2;

    Pair pair;
    float *fixed_update, *moving_update, *terms;
    float value, count, weight;
    // Number of voxels of the window in one slice: its size along x times its size along y.
    float area;
    Gradient gradient;

    __device__ __forceinline__ void start(int x, int y)
    {
        if (!MASKED) area = (float)(extent(x, pair.shape.x, R) * extent(y, pair.shape.y, R));
        if (!EXACT) gradient.start(pair, x, y, KEEP ? Tile<R>::PITCH : pair.shape.x);
    }

    template <int Q, int INPUTS>
    __device__ __forceinline__ void take(int z, size_t here, const float (&sums)[Q], const Around<INPUTS> &around)
    {
        const float n = MASKED ? sums[Q - 1] : area * (float)extent(z, pair.shape.z, R);
        const bool counts = !MASKED || counted(pair, here);
        const Terms t = terms_of(sums[0], sums[1], sums[2], sums[3], sums[4], n, pair.noise_variance);
        if (counts) {
            value += t.value;
            count += 1.f;
            weight += t.weight;
        }
        if (EXACT) {
            const float p_a = t.slope * t.on_fixed, p_b = t.slope * t.on_moving;
            const size_t stride = plane(pair.shape);
            terms[here] = counts ? t.slope : 0.f;
            terms[stride + here] = counts ? p_a : 0.f;
            terms[2 * stride + here] = counts ? p_b : 0.f;
            terms[3 * stride + here] = counts ? p_a * t.fixed_mean - t.slope * t.moving_mean : 0.f;
            terms[4 * stride + here] = counts ? p_b * t.moving_mean - t.slope * t.fixed_mean : 0.f;
            return;
        }
        const float f = (KEEP ? *around.here[0] : __ldg(pair.fixed + here)) - t.fixed_mean;
        const float m = (KEEP ? *around.here[1] : __ldg(pair.moving + here)) - t.moving_mean;
        const float to_fixed = counts ? t.slope * (m - t.on_fixed * f) : 0.f;
        const float to_moving = counts ? t.slope * (f - t.on_moving * m) : 0.f;
        const Vector fixed_gradient =
            KEEP ? gradient.between(pair, z, around.below[0], around.here[0], around.above[0])
                 : gradient.at(pair, pair.fixed, z, here);
        store_update(fixed_update, pair, here, to_fixed, fixed_gradient);
        const Vector moving_gradient =
            KEEP ? gradient.between(pair, z, around.below[1], around.here[1], around.above[1])
                 : gradient.at(pair, pair.moving, z, here);
        store_update(moving_update, pair, here, to_moving, moving_gradient);
    }
};

template <int R, bool MASKED, bool EXACT>
__device__ __forceinline__ void cc_windows(const Pair &pair, int depth, float *fixed_update, float *moving_update,
                                           float *terms, double *partial, unsigned int *counter, double *result)
{
    const int z0 = blockIdx.z * depth, z1 = min(z0 + depth, pair.shape.z);
    const Products<MASKED> source = {pair};
    WindowSink<R, MASKED, EXACT> sink = {pair, fixed_update, moving_update, terms, 0.f, 0.f, 0.f, 0.f, {}};
    box_sums<R, MASKED ? 6 : 5, MASKED ? 3 : 2>(pair.shape, z0, z1, source, sink);
    add_energy(sink.value, sink.count, sink.weight, partial, counter, result);
}

// Reads the five terms of the exact derivative of the cross-correlation, which an earlier kernel has stored for each
// window.
struct TermSource {
    const float *terms;
    size_t stride;

    __device__ __forceinline__ float read(int input, size_t at) const
    {
        return __ldg(terms + input * stride + at);
    }

    static __device__ __forceinline__ float quantity(int q, const float *in)
    {
        return in[q];
    }
};

struct ExactSink {
    static constexpr bool KEEP = false;

    Pair pair;
    float *fixed_update, *moving_update;
    Gradient gradient;

    __device__ __forceinline__ void start(int x, int y)
    {
        gradient.start(pair, x, y, pair.shape.x);
    }

    __device__ __forceinline__ void take(int z, size_t here, const float (&s)[5], const Around<5> &)
    {
        float to_fixed = 0.f, to_moving = 0.f;
        if (counted(pair, here)) {
            const float f = __ldg(pair.fixed + here), m = __ldg(pair.moving + here);
            to_fixed = m * s[0] - f * s[1] + s[3];
            to_moving = f * s[0] - m * s[2] + s[4];
        }
        store_update(fixed_update, pair, here, to_fixed, gradient.at(pair, pair.fixed, z, here));
        store_update(moving_update, pair, here, to_moving, gradient.at(pair, pair.moving, z, here));
    }
};

#define CC_KERNELS(R)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(TILE_THREADS, BOX_BLOCKS(R, 2))                                       \
        cc_centre_##R(Pair pair, int depth, float *fixed_update, float *moving_update, double *partial,                \
                      unsigned int *counter, double *result)                                                           \
    {                                                                                                                  \
        cc_windows<R, false, false>(pair, depth, fixed_update, moving_update, nullptr, partial, counter, result);      \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(TILE_THREADS, BOX_BLOCKS(R, 3))                                       \
        cc_centre_masked_##R(Pair pair, int depth, float *fixed_update, float *moving_update, double *partial,         \
                             unsigned int *counter, double *result)                                                    \
    {                                                                                                                  \
        cc_windows<R, true, false>(pair, depth, fixed_update, moving_update, nullptr, partial, counter, result);       \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(TILE_THREADS, BOX_BLOCKS(R, 2))                                       \
        cc_terms_##R(Pair pair, int depth, float *terms, double *partial, unsigned int *counter, double *result)      \
    {                                                                                                                  \
        cc_windows<R, false, true>(pair, depth, nullptr, nullptr, terms, partial, counter, result);                    \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(TILE_THREADS, BOX_BLOCKS(R, 3))                                       \
        cc_terms_masked_##R(Pair pair, int depth, float *terms, double *partial, unsigned int *counter,               \
                            double *result)                                                                            \
    {                                                                                                                  \
        cc_windows<R, true, true>(pair, depth, nullptr, nullptr, terms, partial, counter, result);                     \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(TILE_THREADS, BOX_BLOCKS(R, 5))                                       \
        cc_exact_##R(Pair pair, int depth, const float *terms, float *fixed_update, float *moving_update)              \
    {                                                                                                                  \
        const int z0 = blockIdx.z * depth, z1 = min(z0 + depth, pair.shape.z);                                         \
        const TermSource source = {terms, plane(pair.shape)};                                                          \
        ExactSink sink = {pair, fixed_update, moving_update, {}};                                                      \
        box_sums<R, 5, 5>(pair.shape, z0, z1, source, sink);                                                           \
    }
