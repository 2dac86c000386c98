// The inverse of a displacement field at one voxel: fixed-point iteration, then Newton's method.
#pragma once

#include "volume.cuh"

__device__ __forceinline__ Vector residual(Vector u, Vector v)
{
    return {u.x + v.x, u.y + v.y, u.z + v.z};
}

// Number of fixed-point steps v ← −u(x + v) before Newton's method starts, the same as on the CPU.
#define PLAIN_STEPS 2

// Values of one component of a field at the eight corners of a cell.
struct CellCorners {
    Corners low, high;

    static __device__ __forceinline__ CellCorners of(const Cell &cell, const float *READ values)
    {
        return {corners(values, cell.c00, cell.c10), corners(values, cell.c01, cell.c11)};
    }

    __device__ __forceinline__ float at(const Cell &cell) const
    {
        return lerp(low.at(cell), high.at(cell), cell.tz);
    }

    // The derivatives of the interpolated component of the displacement field along x, y and z, at a position within
    // the cell.
    __device__ __forceinline__ Vector derivative(const Cell &cell) const
    {
        const Corners &l = low, &h = high;
        return {lerp(lerp(l.b - l.a, l.d - l.c, cell.ty), lerp(h.b - h.a, h.d - h.c, cell.ty), cell.tz),
                lerp(lerp(l.c - l.a, l.d - l.b, cell.tx), lerp(h.c - h.a, h.d - h.b, cell.tx), cell.tz),
                lerp(lerp(h.a - l.a, h.b - l.b, cell.tx), lerp(h.c - l.c, h.d - l.d, cell.tx), cell.ty)};
    }

    // In a volume of one voxel along x, the next value in memory belongs to another row. The row's own value replaces
    // it, so that interpolation along x has no effect.
    __device__ __forceinline__ void flatten()
    {
        low.b = low.a, low.d = low.c, high.b = high.a, high.d = high.c;
    }
};

// A step of Newton's method: (I + ∂u/∂x)⁻¹·residual by Cramer's rule, at most one voxel long. If the matrix is
// nearly singular, the step is half the residual.
__device__ __forceinline__ Vector newton(Vector x, Vector y, Vector z, Vector r)
{
    const Vector a = {x.x + 1.f, y.x, z.x}, b = {x.y, y.y + 1.f, z.y}, c = {x.z, y.z, z.z + 1.f};
    const float determinant = dot(a, cross(b, c));
    if (fabsf(determinant) < 0.01f) return {0.5f * r.x, 0.5f * r.y, 0.5f * r.z};
    const Vector step = {dot(r, cross(b, c)) / determinant, dot(a, cross(r, c)) / determinant,
                         dot(a, cross(b, r)) / determinant};
    const float length = fmaxf(sqrtf(dot(step, step)), 1.f);
    return {step.x / length, step.y / length, step.z / length};
}

// Limits of the squared residual at a voxel, in voxels²: the iteration stops as soon as the squared residual is below
// tolerance_squared. It does not start if the squared residual is at most untouched_squared at the beginning.
struct Residuals {
    float tolerance_squared, untouched_squared;
};

// Improves the inverse v(x) at one voxel, from the initial value `v`, until the residual u(x + v) + v is small. The
// corners of the current cell stay in registers, because most steps stay within one cell.
__device__ __forceinline__ Vector improved(Voxel at, Vector v, const float *READ field, int steps, Residuals limits,
                                           const Shape &shape)
{
    const size_t stride = plane(shape);
    CellCorners x, y, z;
    unsigned int held = ~0u;
    for (int step = 0; step < steps; ++step) {
        const Cell cell(moved(at, v), shape);
        if (cell.c00 != held) {
            held = cell.c00;
            x = CellCorners::of(cell, field);
            y = CellCorners::of(cell, field + stride);
            z = CellCorners::of(cell, field + 2 * stride);
            if (shape.x == 1) x.flatten(), y.flatten(), z.flatten();
        }
        const Vector r = residual({x.at(cell), y.at(cell), z.at(cell)}, v);
        if (step == 0 && squared(r) <= limits.untouched_squared) break;
        const bool close = squared(r) <= limits.tolerance_squared;
        Vector correction = r;
        if (!close && step >= PLAIN_STEPS)
            correction = newton(x.derivative(cell), y.derivative(cell), z.derivative(cell), r);
        v = {v.x - correction.x, v.y - correction.y, v.z - correction.z};
        if (close) break;
    }
    return v;
}
