// out(x) = image(m(x + u(x))); 0 outside the image.
#include "volume.cuh"

template <bool NEAREST>
__device__ __forceinline__ void warp(const float *READ image, Shape image_shape, const float *READ field,
                                     const Affine &grid_to_image, float *out, Shape shape)
{
    const Voxel v = voxel();
    const Vector start = along_row(grid_to_image, v.x, v.y, v.z);
    if (!within(v, shape)) return;
    const size_t at = offset(v, shape);
    const Vector u = load(field, plane(shape), at);
    const double *m = grid_to_image.m;
    const Vector point = {start.x + ((float)m[0] * u.x + (float)m[1] * u.y + (float)m[2] * u.z),
                          start.y + ((float)m[4] * u.x + (float)m[5] * u.y + (float)m[6] * u.z),
                          start.z + ((float)m[8] * u.x + (float)m[9] * u.y + (float)m[10] * u.z)};
    out[at] = NEAREST ? nearest(image, image_shape, point, 0.f) : linear(image, image_shape, point, 0.f);
}

extern "C" __global__ void SCATTERED warp_linear(const float *READ image, Shape image_shape, const float *READ field,
                                       Affine grid_to_image, float *out, Shape shape)
{
    warp<false>(image, image_shape, field, grid_to_image, out, shape);
}

extern "C" __global__ void SCATTERED warp_nearest(const float *READ image, Shape image_shape, const float *READ field,
                                        Affine grid_to_image, float *out, Shape shape)
{
    warp<true>(image, image_shape, field, grid_to_image, out, shape);
}
