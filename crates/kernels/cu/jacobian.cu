// The Jacobian determinant of x + u(x) at each voxel.
#include "jacobian.cuh"

extern "C" __global__ void jacobian_determinant(const float *READ field, float *out, Shape shape)
{
    const Voxel v = voxel();
    if (within(v, shape)) out[offset(v, shape)] = determinant(field, v, shape);
}
