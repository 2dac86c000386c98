// Composition of fields: out(x) = first(x) + s·then(x + first(x)), s = 1 or a step over the longest vector of `then`.
#include "reduce.cuh"
#include "volume.cuh"

__device__ __forceinline__ void compose(const float *READ first, const float *READ then, float scale, float *out,
                                        Shape shape)
{
    const Voxel v = voxel();
    if (!within(v, shape)) return;
    const size_t at = offset(v, shape), stride = plane(shape);
    const Vector u = load(first, stride, at);
    const Vector w = sample(then, shape, {(float)v.x + u.x, (float)v.y + u.y, (float)v.z + u.z});
    store(out, stride, at, {u.x + scale * w.x, u.y + scale * w.y, u.z + scale * w.z});
}

extern "C" __global__ void SCATTERED compose_fields(const float *READ first, const float *READ then, float *out, Shape shape)
{
    compose(first, then, 1.f, out, shape);
}

// `longest` is what max_norm found for `update`; the scale never leaves the device.
extern "C" __global__ void SCATTERED advance(const float *READ field, const float *READ update, const float *longest,
                                   double step_voxels, float *out, Shape shape)
{
    __shared__ float scale;
    if (thread_index() == 0) scale = *longest > 0.f ? (float)(step_voxels / (double)*longest) : 0.f;
    __syncthreads();
    compose(field, update, scale, out, shape);
}
