// Relaxes a field where it folds or where its inverse misses: draws it towards its smoothed self around every such voxel.
// Counts and maxima do not depend on the order.
#include "jacobian.cuh"

// Jacobian determinant of x + u(x) and ‖v(x + u(x)) + u(x)‖² that are still let pass.
struct Limits {
    float smallest_jacobian, largest_residual_squared;
};

// How strongly a voxel is drawn: not at all within the limits, wholly where it folds, by its residual elsewhere.
__device__ __forceinline__ float pull(const float *READ field, const float *READ inverse, Limits limits, Voxel at,
                                      Shape shape)
{
    if (determinant(field, at, shape) < limits.smallest_jacobian) return 1.f;
    const Vector u = load(field, plane(shape), offset(at, shape));
    const Vector v = sample(inverse, shape, {(float)at.x + u.x, (float)at.y + u.y, (float)at.z + u.z});
    const Vector r = {v.x + u.x, v.y + u.y, v.z + u.z};
    const float squared = r.x * r.x + r.y * r.y + r.z * r.z;
    if (!(squared > limits.largest_residual_squared)) return 0.f;
    return fminf(0.5f * (sqrtf(squared) / sqrtf(limits.largest_residual_squared) - 1.f) + 0.05f, 1.f);
}

// Counts the voxels beyond the limits and leaves the share of the smoothed field in `weights`, zero before: a voxel's pull
// at itself, less and less up to `reach` voxels away along each axis.
extern "C" __global__ void spread_beyond(const float *READ field, const float *READ inverse, Limits limits, int reach,
                                         float *weights, Shape shape, unsigned int *count)
{
    const Voxel v = voxel();
    const float strength = within(v, shape) ? pull(field, inverse, limits, v, shape) : 0.f;
    const unsigned int found = __popc(__ballot_sync(0xffffffffu, strength > 0.f));
    if (threadIdx.x == 0 && found) atomicAdd(count, found);
    if (strength == 0.f) return;
    const int limit = (reach + 1) * (reach + 1);
    for (int z = max(v.z - reach, 0); z <= min(v.z + reach, shape.z - 1); ++z)
        for (int y = max(v.y - reach, 0); y <= min(v.y + reach, shape.y - 1); ++y)
            for (int x = max(v.x - reach, 0); x <= min(v.x + reach, shape.x - 1); ++x) {
                const int dx = x - v.x, dy = y - v.y, dz = z - v.z, rest = limit - (dx * dx + dy * dy + dz * dz);
                // Floats that are not negative have the order of their bits.
                const float share = strength * ((float)rest / (float)limit);
                if (rest > 0) atomicMax((int *)weights + offset({x, y, z}, shape), __float_as_int(share));
            }
}

extern "C" __global__ void relax(float *field, const float *READ smoothed, const float *READ weights, Shape shape)
{
    const Voxel v = voxel();
    if (!within(v, shape)) return;
    const size_t here = offset(v, shape), stride = plane(shape);
    const float w = weights[here];
    if (w == 0.f) return;
    const Vector u = load(field, stride, here), s = load(smoothed, stride, here);
    store(field, stride, here, {lerp(u.x, s.x, w), lerp(u.y, s.y, w), lerp(u.z, s.z, w)});
}
