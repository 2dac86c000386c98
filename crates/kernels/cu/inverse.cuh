// The inverse of a displacement field at one voxel: fixed-point steps, then Newton's.
#pragma once

#include "volume.cuh"

__device__ __forceinline__ Vector residual(Vector u, Vector v)
{
    return {u.x + v.x, u.y + v.y, u.z + v.z};
}

__device__ __forceinline__ float squared(Vector r)
{
    return r.x * r.x + r.y * r.y + r.z * r.z;
}

// Steps v ← −u(x + v) before Newton's, as on the CPU.
#define PLAIN_STEPS 4

__device__ __forceinline__ float dot(Vector a, Vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__device__ __forceinline__ Vector cross(Vector a, Vector b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// The eight corners of a cell of one component: of the four rows, the left and the right one each.
struct Corners {
    float a0, a1, b0, b1, c0, c1, d0, d1;

    __device__ __forceinline__ void load(const Cell &cell, const float *READ values)
    {
        auto row = [&](unsigned int bytes, float &left, float &right) {
            const float *at = (const float *)((const char *)values + bytes);
            left = __ldg(at);
            right = __ldg(at + 1);
        };
        row(cell.c00, a0, a1);
        row(cell.c10, b0, b1);
        row(cell.c01, c0, c1);
        row(cell.c11, d0, d1);
    }

    __device__ __forceinline__ float at(const Cell &cell) const
    {
        return lerp(lerp(lerp(a0, a1, cell.tx), lerp(b0, b1, cell.tx), cell.ty),
                    lerp(lerp(c0, c1, cell.tx), lerp(d0, d1, cell.tx), cell.ty), cell.tz);
    }

    // The derivative along x, y and z within the cell.
    __device__ __forceinline__ Vector derivative(const Cell &cell) const
    {
        return {lerp(lerp(a1 - a0, b1 - b0, cell.ty), lerp(c1 - c0, d1 - d0, cell.ty), cell.tz),
                lerp(lerp(b0 - a0, b1 - a1, cell.tx), lerp(d0 - c0, d1 - c1, cell.tx), cell.tz),
                lerp(lerp(c0 - a0, c1 - a1, cell.tx), lerp(d0 - b0, d1 - b1, cell.tx), cell.ty)};
    }
};

// (I + ∂u/∂x)⁻¹·residual by Cramer's rule, at most a voxel long; half the residual where the derivative is nearly singular.
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

// Residuals at which a voxel stops, and at which it does not even start.
struct Residuals {
    float tolerance_squared, untouched_squared;
};

// Improves v(x), from `v`, until the residual u(x + v) + v is small. Corners stay in registers: most steps end in the cell
// where they set out.
__device__ __forceinline__ Vector improved(Voxel at, Vector v, const float *READ field, int steps, Residuals limits,
                                           const Shape &shape)
{
    const size_t stride = plane(shape);
    Corners x, y, z;
    unsigned int held = ~0u;
    for (int step = 0; step < steps; ++step) {
        const Cell cell({(float)at.x + v.x, (float)at.y + v.y, (float)at.z + v.z}, shape);
        if (cell.c00 != held) {
            held = cell.c00;
            x.load(cell, field);
            y.load(cell, field + stride);
            z.load(cell, field + 2 * stride);
            // What stands behind a row of one voxel is no neighbour.
            if (shape.x == 1) {
                x.a1 = x.a0, x.b1 = x.b0, x.c1 = x.c0, x.d1 = x.d0;
                y.a1 = y.a0, y.b1 = y.b0, y.c1 = y.c0, y.d1 = y.d0;
                z.a1 = z.a0, z.b1 = z.b0, z.c1 = z.c0, z.d1 = z.d0;
            }
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
