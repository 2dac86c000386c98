// Gradient magnitude of an image, which is large at edges.
#include "volume.cuh"

// Derivative along one axis by central differences, one-sided at the border, computed as in src/cpu/gradient.rs.
__device__ __forceinline__ float difference(const float *READ image, size_t here, int i, int n, size_t step, float scale)
{
    const bool below = i > 0, above = i + 1 < n;
    const float half = below && above ? 0.5f : 1.f;
    return (__ldg(image + here + (above ? step : 0)) - __ldg(image + here - (below ? step : 0))) * half * scale;
}

extern "C" __global__ void gradient_magnitude(const float *READ image, Vector scale, float *out, Shape shape)
{
    const Voxel v = voxel();
    if (!within(v, shape)) return;
    const size_t here = offset(v, shape);
    const float x = difference(image, here, v.x, shape.x, 1, scale.x);
    const float y = difference(image, here, v.y, shape.y, shape.x, scale.y);
    const float z = difference(image, here, v.z, shape.z, (size_t)shape.x * shape.y, scale.z);
    out[here] = sqrtf(x * x + y * y + z * z);
}
