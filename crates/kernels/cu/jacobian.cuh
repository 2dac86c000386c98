// The Jacobian determinant of x + u(x) at a voxel.
#pragma once

#include "volume.cuh"

__device__ __forceinline__ Vector derivative(const float *READ field, size_t stride, size_t here, int i, int n,
                                             size_t step)
{
    const int below = i > 0, above = i + 1 < n;
    const Vector low = load(field, stride, here - below * step), high = load(field, stride, here + above * step);
    // A product with 1/2 or 1 has exactly the same result as a division by a distance of 2 voxels or 1 voxel.
    const float share = below + above == 2 ? 0.5f : 1.f;
    return {(high.x - low.x) * share, (high.y - low.y) * share, (high.z - low.z) * share};
}

// det(I + ∂u/∂x): central differences, one-sided at the border; an axis of one voxel has no derivative.
__device__ __forceinline__ float determinant(const float *READ field, Voxel v, Shape shape)
{
    const size_t here = offset(v, shape), stride = plane(shape);
    Vector a = derivative(field, stride, here, v.x, shape.x, 1);
    Vector b = derivative(field, stride, here, v.y, shape.y, shape.x);
    Vector c = derivative(field, stride, here, v.z, shape.z, (size_t)shape.x * shape.y);
    a.x += 1.f;
    b.y += 1.f;
    c.z += 1.f;
    return a.x * (b.y * c.z - b.z * c.y) - b.x * (a.y * c.z - a.z * c.y) + c.x * (a.y * b.z - a.z * b.y);
}
