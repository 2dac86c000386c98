// out(x) = scale ∘ field(m(x)).
#include "volume.cuh"

extern "C" __global__ void SCATTERED resize_field(const float *READ field, Shape field_shape, Affine out_to_field, Vector scale,
                                        float *out, Shape shape)
{
    const Voxel v = voxel();
    const Vector point = along_row(out_to_field, v.x, v.y, v.z);
    if (!within(v, shape)) return;
    const Vector u = sample(field, field_shape, point);
    store(out, plane(shape), offset(v, shape), {scale.x * u.x, scale.y * u.y, scale.z * u.z});
}
