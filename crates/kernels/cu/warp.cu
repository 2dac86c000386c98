// Warps an image: out(x) = image(m(x + u(x))), 0 outside the image.
#include "volume.cuh"

// Largest number of successive slices that a thread processes. It loads the displacements of all these slices first.
#define MOST_SLICES 2

// The operands for warping one image. A launch warps one or two images, fixed and moving; their outputs have one shape.
struct Warp {
    const float *image;
    const float *field;
    float *out;
    Shape image_shape;
    Affine grid_to_image;
};

template <bool NEAREST>
__device__ __forceinline__ void warp(const Warp &side, const Shape &shape, int slices, unsigned int z_block)
{
    const float *READ image = side.image, *READ field = side.field;
    float *out = side.out;
    const Shape &image_shape = side.image_shape;
    const Affine &grid_to_image = side.grid_to_image;
    Voxel v = voxel(z_block);
    v.z *= slices;
    const size_t here = offset(v, shape), stride = plane(shape);
    const unsigned int slice = shape.x * shape.y;
    const int taken = within(v, shape) ? min(slices, shape.z - v.z) : 0;
    Vector start[MOST_SLICES], u[MOST_SLICES];
    // Displacements are loaded at the same time as the mapped position of the first voxel of each row is computed.
#pragma unroll
    for (int n = 0; n < MOST_SLICES; ++n)
        if (n < taken) {
            const float *at = field + here + n * slice;
            u[n] = {__ldg(at), __ldg(at + stride), __ldg(at + 2 * stride)};
        }
    const float starts = starts_of_rows<MOST_SLICES>(grid_to_image, v.y, v.z), i = (float)v.x, *m = grid_to_image.f;
#pragma unroll
    for (int n = 0; n < MOST_SLICES; ++n) start[n] = start_of_row(starts, n);
#pragma unroll
    for (int n = 0; n < MOST_SLICES; ++n) {
        if (n >= taken) return;
        const Vector point = {start[n].x + i * m[0] + (m[0] * u[n].x + m[1] * u[n].y + m[2] * u[n].z),
                              start[n].y + i * m[4] + (m[4] * u[n].x + m[5] * u[n].y + m[6] * u[n].z),
                              start[n].z + i * m[8] + (m[8] * u[n].x + m[9] * u[n].y + m[10] * u[n].z)};
        out[here + n * slice] =
            NEAREST ? nearest(image, image_shape, point, 0.f) : linear(image, image_shape, point, 0.f);
    }
}

// The thread blocks of the kernels that warp images are small: a small block finishes sooner, and the next can start.
#define BLOCKS __launch_bounds__(128, 12)

#define WARP(NAME, NEAREST)                                                                                            \
    extern "C" __global__ void BLOCKS NAME(const __grid_constant__ Warp first, const __grid_constant__ Warp second,    \
                                           int sides, const __grid_constant__ Shape shape, int slices)                 \
    {                                                                                                                  \
        if (side_of_block(sides))                                                                                      \
            warp<NEAREST>(second, shape, slices, z_block(1));                                                          \
        else                                                                                                           \
            warp<NEAREST>(first, shape, slices, z_block(0));                                                           \
    }

WARP(warp_linear, false)
WARP(warp_nearest, true)
