// Resamples an image on another grid by trilinear interpolation: out(x) = image(m(x)).
#include "volume.cuh"

extern "C" __global__ void SCATTERED resample(const float *READ image, Shape image_shape, Affine out_to_image, float outside,
                                    float *out, Shape shape)
{
    const Voxel v = voxel();
    const Vector point = along_row(out_to_image, v.x, v.y, v.z);
    if (within(v, shape)) out[offset(v, shape)] = linear(image, image_shape, point, outside);
}
