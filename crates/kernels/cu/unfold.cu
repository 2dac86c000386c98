// Relaxes a field where it folds: draws it towards its smoothed self around every voxel whose Jacobian determinant is too
// small. Counts and maxima do not depend on the order.
#include "jacobian.cuh"

extern "C" __global__ void count_folds(const float *READ field, float smallest, Shape shape, unsigned int *count)
{
    const Voxel v = voxel();
    const bool folds = within(v, shape) && determinant(field, v, shape) < smallest;
    const unsigned int found = __popc(__ballot_sync(0xffffffffu, folds));
    if (threadIdx.x == 0 && found) atomicAdd(count, found);
}

// The share of the smoothed field: 1 at a fold, less and less up to `reach` voxels away along each axis.
extern "C" __global__ void spread_folds(const float *READ field, float smallest, int reach, float *weights, Shape shape)
{
    const Voxel v = voxel();
    if (!within(v, shape) || !(determinant(field, v, shape) < smallest)) return;
    const int limit = (reach + 1) * (reach + 1);
    for (int z = max(v.z - reach, 0); z <= min(v.z + reach, shape.z - 1); ++z)
        for (int y = max(v.y - reach, 0); y <= min(v.y + reach, shape.y - 1); ++y)
            for (int x = max(v.x - reach, 0); x <= min(v.x + reach, shape.x - 1); ++x) {
                const int dx = x - v.x, dy = y - v.y, dz = z - v.z, rest = limit - (dx * dx + dy * dy + dz * dz);
                // Floats that are not negative have the order of their bits.
                if (rest > 0)
                    atomicMax((int *)weights + offset({x, y, z}, shape), __float_as_int((float)rest / (float)limit));
            }
}

extern "C" __global__ void relax_folds(float *field, const float *READ smoothed, const float *READ weights, Shape shape)
{
    const Voxel v = voxel();
    if (!within(v, shape)) return;
    const size_t here = offset(v, shape), stride = plane(shape);
    const float w = weights[here];
    if (w == 0.f) return;
    const Vector u = load(field, stride, here), s = load(smoothed, stride, here);
    store(field, stride, here, {lerp(u.x, s.x, w), lerp(u.y, s.y, w), lerp(u.z, s.z, w)});
}
