// Resamples a displacement field on another grid: out(x) = matrix·field(m(x)). The matrix is given by its rows, and
// sums have the same order as on the host.
#include "volume.cuh"

extern "C" __global__ void SCATTERED resize_field(const float *READ field, Shape field_shape, Affine out_to_field, Vector x,
                                                  Vector y, Vector z, float *out, Shape shape)
{
    const Voxel v = voxel();
    const Vector point = along_row(out_to_field, v.x, v.y, v.z);
    if (!within(v, shape)) return;
    store(out, plane(shape), offset(v, shape), times(x, y, z, sample(field, field_shape, point)));
}
