// out(x) = matrix·field(m(x)), the matrix by its rows, in the order of sums that the host has.
#include "volume.cuh"

__device__ __forceinline__ float dot(Vector row, Vector v)
{
    return row.x * v.x + row.y * v.y + row.z * v.z;
}

extern "C" __global__ void SCATTERED resize_field(const float *READ field, Shape field_shape, Affine out_to_field, Vector x,
                                                  Vector y, Vector z, float *out, Shape shape)
{
    const Voxel v = voxel(blockIdx.z);
    const Vector point = along_row(out_to_field, v.x, v.y, v.z);
    if (!within(v, shape)) return;
    const Vector u = sample(field, field_shape, point);
    store(out, plane(shape), offset(v, shape), {dot(x, u), dot(y, u), dot(z, u)});
}
