// Windowed cross-correlation by sliding tiles (box_sums.cuh). If the derivatives at a voxel are computed from the window
// centred at the voxel alone, one kernel reads the images once and computes derivatives and energy. The exact derivative
// sums over all windows that contain the voxel; it takes two kernels, which follow each other, slab by slab.
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

// Slices (along z) for which the terms of the exact derivative are computed, and the memory of the terms.
struct Slab {
    int first, last;
    // The energy counts windows from this slice on: those before it belong to the slab before.
    int counted_from;
    // The thread blocks that compute terms are numbered through all slabs.
    unsigned int first_block, blocks;
    // Distance between the memories of two terms, in floats.
    unsigned long long stride;
};

// Receives the sums over the window of each voxel, adds up the energy, and computes the window's terms.
template <int R, bool MASKED> struct WindowSink {
    Pair pair;
    int counted_from;
    float value = 0.f, count = 0.f, weight = 0.f;
    // Number of voxels of the window in one slice: its size along x times its size along y.
    float area;

    __device__ __forceinline__ WindowSink(const Pair &pair, int counted_from) : pair(pair), counted_from(counted_from) {}

    __device__ __forceinline__ void start(int x, int y)
    {
        if (!MASKED) area = (float)(extent(x, pair.shape.x, R) * extent(y, pair.shape.y, R));
    }

    // The terms of the window centred at a voxel. Sets `counts` to whether the voxel is inside the masks.
    template <int Q> __device__ __forceinline__ Terms terms(int z, size_t here, const float (&sums)[Q], bool &counts)
    {
        const float n = MASKED ? sums[Q - 1] : area * (float)extent(z, pair.shape.z, R);
        counts = !MASKED || counted(pair, here);
        const Terms t = terms_of(sums[0], sums[1], sums[2], sums[3], sums[4], n, pair.noise_variance);
        if (counts && z >= counted_from) {
            value += t.value;
            count += 1.f;
            weight += t.weight;
        }
        return t;
    }
};

template <int R, bool MASKED> struct CentreSink : WindowSink<R, MASKED> {
    const Output &out;
    Writer writer;

    __device__ __forceinline__ CentreSink(const Pair &pair, const Output &out) : WindowSink<R, MASKED>(pair, 0), out(out) {}

    __device__ __forceinline__ void start(int x, int y)
    {
        WindowSink<R, MASKED>::start(x, y);
        writer.start(out, this->pair.shape, x, y);
    }

    template <int Q> __device__ __forceinline__ void take(int z, size_t here, const float (&sums)[Q])
    {
        bool counts;
        const Terms t = this->terms(z, here, sums, counts);
        const float f = __ldg(this->pair.fixed + here) - t.fixed_mean, m = __ldg(this->pair.moving + here) - t.moving_mean;
        const float for_fixed = counts ? t.slope * (m - t.on_fixed * f) : 0.f;
        const float for_moving = counts ? t.slope * (f - t.on_moving * m) : 0.f;
        writer.write(out, this->pair, z, here, for_fixed, for_moving);
    }
};

// Computes five terms of each window, which a second kernel sums over windows.
template <int R, bool MASKED> struct TermSink : WindowSink<R, MASKED> {
    float *out;
    size_t stride;

    __device__ __forceinline__ TermSink(const Pair &pair, const Slab &slab, float *out)
        : WindowSink<R, MASKED>(pair, slab.counted_from), out(out), stride(slab.stride)
    {
    }

    template <int Q> __device__ __forceinline__ void take(int z, size_t here, const float (&sums)[Q])
    {
        bool counts;
        const Terms t = this->terms(z, here, sums, counts);
        const float p_a = t.slope * t.on_fixed, p_b = t.slope * t.on_moving;
        out[here] = counts ? t.slope : 0.f;
        out[stride + here] = counts ? p_a : 0.f;
        out[2 * stride + here] = counts ? p_b : 0.f;
        out[3 * stride + here] = counts ? p_a * t.fixed_mean - t.slope * t.moving_mean : 0.f;
        out[4 * stride + here] = counts ? p_b * t.moving_mean - t.slope * t.fixed_mean : 0.f;
    }
};

template <int R, bool MASKED>
__device__ __forceinline__ void cc_centre(const Pair &pair, int depth, const Output &out, double *partial,
                                          unsigned int *counter, double *result)
{
    const int z0 = blockIdx.z * depth, z1 = min(z0 + depth, pair.shape.z);
    const Products<MASKED> source = {pair};
    CentreSink<R, MASKED> sink(pair, out);
    box_sums<R, MASKED ? 6 : 5, MASKED ? 3 : 2>(pair.shape, z0, z1, source, sink);
    add_energy(sink.value, sink.count, sink.weight, 0, blocks_of_launch(), partial, counter, result);
}

// `terms` is the address that slice 0 of the volume would have: the memory begins with the slab's first slice.
template <int R, bool MASKED>
__device__ __forceinline__ void cc_terms(const Pair &pair, const Slab &slab, int depth, float *terms, double *partial,
                                         unsigned int *counter, double *result)
{
    const int z0 = slab.first + blockIdx.z * depth, z1 = min(z0 + depth, slab.last);
    const Products<MASKED> source = {pair};
    TermSink<R, MASKED> sink(pair, slab, terms);
    box_sums<R, MASKED ? 6 : 5, MASKED ? 3 : 2>(pair.shape, z0, z1, source, sink);
    add_energy(sink.value, sink.count, sink.weight, slab.first_block, slab.blocks, partial, counter, result);
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
    const Pair &pair;
    const Output &out;
    Writer writer;

    __device__ __forceinline__ void start(int x, int y)
    {
        writer.start(out, pair.shape, x, y);
    }

    __device__ __forceinline__ void take(int z, size_t here, const float (&s)[5])
    {
        float for_fixed = 0.f, for_moving = 0.f;
        if (counted(pair, here)) {
            const float f = __ldg(pair.fixed + here), m = __ldg(pair.moving + here);
            for_fixed = m * s[0] - f * s[1] + s[3];
            for_moving = f * s[0] - m * s[2] + s[4];
        }
        writer.write(out, pair, z, here, for_fixed, for_moving);
    }
};

#define CC_KERNELS(R)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(TILE_THREADS, BOX_BLOCKS(R, 2))                                       \
        cc_centre_##R(const __grid_constant__ Pair pair, int depth, const __grid_constant__ Output out,                \
                      double *partial, unsigned int *counter, double *result)                                          \
    {                                                                                                                  \
        cc_centre<R, false>(pair, depth, out, partial, counter, result);                                               \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(TILE_THREADS, BOX_BLOCKS(R, 3))                                       \
        cc_centre_masked_##R(const __grid_constant__ Pair pair, int depth, const __grid_constant__ Output out,         \
                             double *partial, unsigned int *counter, double *result)                                   \
    {                                                                                                                  \
        cc_centre<R, true>(pair, depth, out, partial, counter, result);                                                \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(TILE_THREADS, BOX_BLOCKS(R, 2))                                       \
        cc_terms_##R(const __grid_constant__ Pair pair, const __grid_constant__ Slab slab, int depth, float *terms,    \
                     double *partial, unsigned int *counter, double *result)                                           \
    {                                                                                                                  \
        cc_terms<R, false>(pair, slab, depth, terms, partial, counter, result);                                        \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(TILE_THREADS, BOX_BLOCKS(R, 3))                                       \
        cc_terms_masked_##R(const __grid_constant__ Pair pair, const __grid_constant__ Slab slab, int depth,           \
                            float *terms, double *partial, unsigned int *counter, double *result)                      \
    {                                                                                                                  \
        cc_terms<R, true>(pair, slab, depth, terms, partial, counter, result);                                         \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(TILE_THREADS, BOX_BLOCKS(R, 5))                                       \
        cc_exact_##R(const __grid_constant__ Pair pair, const __grid_constant__ Slab slab, int depth,                  \
                     const float *terms, const __grid_constant__ Output out)                                           \
    {                                                                                                                  \
        const int z0 = slab.first + blockIdx.z * depth, z1 = min(z0 + depth, slab.last);                               \
        const TermSource source = {terms, slab.stride};                                                                \
        ExactSink sink = {pair, out, {}};                                                                              \
        box_sums<R, 5, 5>(pair.shape, z0, z1, source, sink);                                                           \
    }
