// Warps an image with windowed-sinc interpolation: out(x) = image(m(x + u(x))). The host has tabulated the weights, and
// the image is zero beyond its border. The arithmetic is that of src/apply/sinc.rs, operation by operation.
#include "volume.cuh"

// TAPS: number of voxels along an axis that have a weight. BEFORE: number of them before the voxel just below the
// point. STEPS: number of table entries for each voxel.
#define TAPS 6
#define BEFORE 2
#define STEPS 1024

// Interpolation weights along one axis: the index of the first voxel that has a weight, the weight of this voxel, and
// the weights of the next ones.
struct Weights {
    int first;
    float at[TAPS];

    __device__ __forceinline__ Weights(float index, const float *READ table)
    {
        const float lower = floorf(index);
        // The position in the table of weights is computed in double precision, so that a fraction close to 1 is not
        // rounded up to the next voxel.
        const double position = ((double)index - (double)lower) * STEPS;
        const int step = (int)position;
        const float share = (float)(position - (double)step), *near = table + TAPS * step;
        first = (int)lower - BEFORE;
#pragma unroll
        for (int tap = 0; tap < TAPS; ++tap) {
            const float here = __ldg(near + tap);
            at[tap] = here + share * (__ldg(near + TAPS + tap) - here);
        }
    }

    __device__ __forceinline__ bool inside(int tap, int length) const { return (unsigned)(first + tap) < (unsigned)length; }
};

template <bool WHOLE>
__device__ __forceinline__ float sum(const float *READ image, const Shape &shape, const Weights &x, const Weights &y,
                                     const Weights &z)
{
    float all = 0.f;
#pragma unroll
    for (int k = 0; k < TAPS; ++k) {
        if (!WHOLE && !z.inside(k, shape.z)) continue;
        float slice = 0.f;
#pragma unroll
        for (int j = 0; j < TAPS; ++j) {
            if (!WHOLE && !y.inside(j, shape.y)) continue;
            const float *line = image + ((ptrdiff_t)((z.first + k) * shape.y + y.first + j) * shape.x + x.first);
            float row = 0.f;
#pragma unroll
            for (int i = 0; i < TAPS; ++i)
                if (WHOLE || x.inside(i, shape.x)) row += __ldg(line + i) * x.at[i];
            slice += y.at[j] * row;
        }
        all += z.at[k] * slice;
    }
    return all;
}

extern "C" __global__ void __launch_bounds__(128, 8)
    warp_sinc(const float *READ image, const __grid_constant__ Shape image_shape, const float *READ table,
              const float *READ field, const __grid_constant__ Affine grid_to_image, float *out,
              const __grid_constant__ Shape shape)
{
    const Voxel voxel = ::voxel();
    const Vector start = along_row(grid_to_image, voxel.x, voxel.y, voxel.z);
    if (!within(voxel, shape)) return;
    const size_t here = offset(voxel, shape);
    const Vector point = moved(start, grid_to_image, load(field, plane(shape), here));
    float value = 0.f;
    if (contains(image_shape, point)) {
        const Weights x(point.x, table), y(point.y, table), z(point.z, table);
        const bool whole = x.inside(0, image_shape.x) && x.inside(TAPS - 1, image_shape.x) && y.inside(0, image_shape.y) &&
                           y.inside(TAPS - 1, image_shape.y) && z.inside(0, image_shape.z) &&
                           z.inside(TAPS - 1, image_shape.z);
        value = whole ? sum<true>(image, image_shape, x, y, z) : sum<false>(image, image_shape, x, y, z);
    }
    out[here] = value;
}
