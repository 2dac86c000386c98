// The value of a cubic spline between voxels. The arithmetic is that of src/spline.rs, operation by operation.
#pragma once

#include "points.cuh"

// The four spline coefficients along an axis that contribute to the value at the coordinate `index`: their offsets in
// memory, and their weights.
struct Taps {
    unsigned int at[4];
    float weight[4];

    __device__ __forceinline__ Taps(float index, int length, unsigned int stride)
    {
        const float lower = floorf(index), w = index - lower, v = 1.f - w;
        weight[0] = v * v * v / 6.f;
        weight[1] = 2.f / 3.f - 0.5f * w * w * (2.f - w);
        weight[2] = 2.f / 3.f - 0.5f * v * v * (2.f - v);
        weight[3] = w * w * w / 6.f;
        const int end = length - 1, start = (int)lower - 1;
#pragma unroll
        for (int n = 0; n < 4; ++n) {
            int tap = abs(start + n);
            tap = tap > end ? 2 * end - tap : tap;
            // An index outside the axis is reflected at both ends. On an axis of two voxels, it may have to be
            // reflected a third time. On an axis of one voxel, `min` makes the index 0.
            at[n] = (unsigned int)min(abs(tap), end) * stride;
        }
    }
};

// The value of a spline at a point, from the spline's coefficients. The point may be up to half a voxel outside the
// outermost voxel centres.
template <typename Extent>
__device__ __forceinline__ float spline_value(const float *READ coefficients, const Extent &shape, Vector point)
{
    const unsigned int row = shape.x, slice = row * shape.y;
    const Taps x(point.x, shape.x, 1), y(point.y, shape.y, row), z(point.z, shape.z, slice);
    float sum = 0.f;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float in_slice = 0.f;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float *line = coefficients + (z.at[k] + y.at[j]);
            in_slice += y.weight[j] * (x.weight[0] * __ldg(line + x.at[0]) + x.weight[1] * __ldg(line + x.at[1]) +
                                       x.weight[2] * __ldg(line + x.at[2]) + x.weight[3] * __ldg(line + x.at[3]));
        }
        sum += z.weight[k] * in_slice;
    }
    return sum;
}
