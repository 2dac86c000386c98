// Jacobian determinants of the map x + u(x) at the corners of the trilinear cells that meet at a voxel, of which there
// are up to eight, and the smallest displacements of voxels that raise these determinants above a limit. The arithmetic
// is that of src/cpu/corners.rs, operation by operation.
#pragma once

#include "volume.cuh"

// The two cell edges at a voxel along one axis, under the map x + u(x): from the neighbour below to the voxel, and from
// the voxel to the neighbour above.
struct EdgePair {
    Vector low, high;

    // The two cell edges at a voxel along one axis. At the border of the volume there is only one edge, which is stored
    // twice. Along an axis of one voxel both edges are the unit vector of the axis.
    static __device__ __forceinline__ EdgePair of(const float *READ field, size_t stride, size_t here, Vector u, int i,
                                                  int n, size_t step, Vector axis)
    {
        const bool below = i > 0, above = i + 1 < n;
        const Vector under = below ? load(field, stride, here - step) : u;
        const Vector over = above ? load(field, stride, here + step) : u;
        const EdgePair pair = {edge(under, u, axis), edge(u, over, axis)};
        return {below ? pair.low : pair.high, above ? pair.high : pair.low};
    }

    static __device__ __forceinline__ Vector edge(Vector from, Vector to, Vector axis)
    {
        return {to.x - from.x + axis.x, to.y - from.y + axis.y, to.z - from.z + axis.z};
    }

    __device__ __forceinline__ Vector on(int side) const
    {
        return side ? high : low;
    }
};

struct Edges {
    EdgePair x, y, z;

    static __device__ __forceinline__ Edges at(const float *READ field, Voxel v, const Shape &shape)
    {
        const size_t here = offset(v, shape), stride = plane(shape);
        const Vector u = load(field, stride, here);
        return {EdgePair::of(field, stride, here, u, v.x, shape.x, 1, {1.f, 0.f, 0.f}),
                EdgePair::of(field, stride, here, u, v.y, shape.y, shape.x, {0.f, 1.f, 0.f}),
                EdgePair::of(field, stride, here, u, v.z, shape.z, (size_t)shape.x * shape.y, {0.f, 0.f, 1.f})};
    }

    // The smallest determinant at the cell corners that meet at the voxel: one corner for each choice of an edge along
    // each axis. NaN if any determinant is NaN.
    __device__ __forceinline__ float smallest() const
    {
        float smallest = __int_as_float(0x7f800000);
#pragma unroll
        for (int side = 0; side < 4; ++side) {
            const Vector normal = cross(y.on(side & 1), z.on(side >> 1));
#pragma unroll
            for (int above = 0; above < 2; ++above) {
                const float determinant = dot(x.on(above), normal);
                if (determinant < smallest || isnan(determinant)) smallest = determinant;
            }
        }
        return smallest;
    }
};

// Whether voxel i of n along an axis has a neighbour above (side 1) or below (side 0). Along an axis of one voxel only
// side 1 counts.
__device__ __forceinline__ bool reaches(int i, int n, int side)
{
    return side ? i + 1 < n || n == 1 : i > 0;
}

// For one voxel: the sum of the displacements that folded cell corners request, and the number of these corners.
struct Moves {
    Vector sum;
    float count;
};

// A 3×3 matrix that projects displacements on the allowed directions, given by its rows.
struct Projection {
    Vector x, y, z;

    __device__ __forceinline__ Vector of(Vector normal, int side, int n) const
    {
        const float sign = n == 1 ? 0.f : side ? 1.f : -1.f;
        return times(x, y, z, {sign * normal.x, sign * normal.y, sign * normal.z});
    }
};

// How folded cell corners, whose determinant is below `smallest`, are corrected: voxels are displaced until the
// determinant at the corner exceeds `smallest` by `aim_above`, but in one round by at most `by` voxels. `allowed`
// projects the displacements to the allowed directions.
struct Unfolding {
    float smallest, aim_above, by;
    Projection allowed;
};

// Adds to `moves` the displacements that the folded corners at voxel `v` request for one voxel. This voxel is `v`
// itself if `axis` is ITSELF, else the neighbour of `v` along `axis` (0, 1, 2) on `side`.
#define ITSELF 3
__device__ __noinline__ Moves with_corners_of(Moves moves, const float *READ field, Voxel v, int axis, int side,
                                              const Unfolding &limits, const Shape &shape)
{
    const Edges edges = Edges::at(field, v, shape);
    const bool fixed = on_edge(v, shape);
#pragma unroll 1
    for (int corner = 0; corner < 8; ++corner) {
        const int sx = corner & 1, sy = corner >> 1 & 1, sz = corner >> 2;
        const int facing = axis == 0 ? sx : axis == 1 ? sy : sz;
        if (axis != ITSELF && facing != side) continue;
        if (!reaches(v.x, shape.x, sx) || !reaches(v.y, shape.y, sy) || !reaches(v.z, shape.z, sz)) continue;
        const Vector a = edges.x.on(sx), b = edges.y.on(sy), c = edges.z.on(sz);
        const Vector normal = cross(b, c);
        const float determinant = dot(a, normal);
        if (!(determinant < limits.smallest)) continue;
        // The derivatives of the determinant with respect to the positions of the three neighbours. The derivative with
        // respect to the voxel's own position is minus their sum.
        const Vector by_x = limits.allowed.of(normal, sx, shape.x), by_y = limits.allowed.of(cross(c, a), sy, shape.y),
                     by_z = limits.allowed.of(cross(a, b), sz, shape.z);
        const Vector itself = {-(by_x.x + by_y.x + by_z.x), -(by_x.y + by_y.y + by_z.y), -(by_x.z + by_y.z + by_z.z)};
        float sum = fixed ? 0.f : squared(itself);
        const Voxel in_x = {v.x + 2 * sx - 1, v.y, v.z}, in_y = {v.x, v.y + 2 * sy - 1, v.z},
                    in_z = {v.x, v.y, v.z + 2 * sz - 1};
        if (shape.x > 1 && !on_edge(in_x, shape)) sum = sum + squared(by_x);
        if (shape.y > 1 && !on_edge(in_y, shape)) sum = sum + squared(by_y);
        if (shape.z > 1 && !on_edge(in_z, shape)) sum = sum + squared(by_z);
        const float rate = (limits.smallest + limits.aim_above - determinant) / fmaxf(sum, 1e-6f);
        const Vector slope = axis == 0 ? by_x : axis == 1 ? by_y : axis == 2 ? by_z : itself;
        const Vector wanted = {rate * slope.x, rate * slope.y, rate * slope.z};
        const float share = limits.by / fmaxf(sqrtf(squared(wanted)), limits.by);
        moves.sum = {moves.sum.x + share * wanted.x, moves.sum.y + share * wanted.y, moves.sum.z + share * wanted.z};
        moves.count += 1.f;
    }
    return moves;
}

// The displacement of voxel `v` after folds are corrected: u plus the mean of the corrections of `v`. Each folded cell
// corner (small Jacobian determinant) at `v` or at a neighbour, if it depends on `v`, gives one correction. Border
// voxels are not displaced.
__device__ __forceinline__ Vector unfolded(const float *READ field, Voxel v, const Unfolding &limits, const Shape &shape)
{
    const Vector u = load(field, plane(shape), offset(v, shape));
    if (on_edge(v, shape)) return u;
    Moves moves = with_corners_of({{0.f, 0.f, 0.f}, 0.f}, field, v, ITSELF, 0, limits, shape);
#pragma unroll 1
    for (int place = 0; place < 6; ++place) {
        const int axis = place / 2, side = place % 2, step = 2 * side - 1;
        if ((axis == 0 ? shape.x : axis == 1 ? shape.y : shape.z) == 1) continue;
        const Voxel other = {v.x + (axis == 0 ? step : 0), v.y + (axis == 1 ? step : 0), v.z + (axis == 2 ? step : 0)};
        moves = with_corners_of(moves, field, other, axis, 1 - side, limits, shape);
    }
    if (!(moves.count > 0.f)) return u;
    return {u.x + moves.sum.x / moves.count, u.y + moves.sum.y / moves.count, u.z + moves.sum.z / moves.count};
}
