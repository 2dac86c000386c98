// Signed distances of voxels to the border of a set of voxels, computed along one axis after the other, as in
// src/cpu/intensity/signed_distance.rs. Until the last axis, the volume has squared distances: positive in the set, negative outside.
#include "volume.cuh"

// The set has the voxels of `set` above 0.5. Computes the squared distance of each voxel to the nearest voxel of its row on the
// other side of the border. `outside` and `inside` are the largest squared distances.
extern "C" __global__ void distance_along_rows(const float *READ set, float step, float outside, float inside, float *out,
                                               Shape shape)
{
    const Voxel v = voxel();
    if (!within(v, shape)) return;
    const size_t here = offset(v, shape);
    const bool in_set = __ldg(set + here) > 0.5f;
    float least = in_set ? inside : outside;
    for (int apart = 1; apart < shape.x; ++apart) {
        const float mm = (float)apart * step, square = mm * mm;
        if (square >= least) break;
        const bool border = v.x >= apart && (__ldg(set + here - apart) > 0.5f) != in_set;
        if (border || (v.x + apart < shape.x && (__ldg(set + here + apart) > 0.5f) != in_set)) {
            least = square;
            break;
        }
    }
    out[here] = in_set ? least : -least;
}

// Lowers the squared distance of each voxel where the border is nearer in another row. Rows follow each other along `axis`, 1
// or 2, `step` mm apart. If `last` is not 0, the results are distances, not their squares.
extern "C" __global__ void distance_across_rows(const float *READ squares, int axis, float step, int last, float *out,
                                                Shape shape)
{
    const Voxel v = voxel();
    if (!within(v, shape)) return;
    const size_t here = offset(v, shape), stride = axis == 1 ? shape.x : (size_t)shape.x * shape.y;
    const int at = axis == 1 ? v.y : v.z, count = axis == 1 ? shape.y : shape.z;
    const float own = __ldg(squares + here), side = copysignf(1.f, own);
    float least = fabsf(own);
    // From a voxel on the other side of the border, which has the other sign, nothing is added.
    auto candidate = [&](size_t other, float between) {
        least = fminf(least, fmaxf(__ldg(squares + other) * side, 0.f) + between);
    };
    for (int apart = 1; apart <= max(at, count - 1 - at); ++apart) {
        const float mm = (float)apart * step, between = mm * mm;
        if (between >= least) break;
        if (apart <= at) candidate(here - apart * stride, between);
        if (at + apart < count) candidate(here + apart * stride, between);
    }
    out[here] = copysignf(last ? sqrtf(least) : least, own);
}
