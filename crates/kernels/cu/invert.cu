// The inverse of a displacement field by fixed-point steps, each voxel on its own; and how good it is.
#include "reduce.cuh"
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

// The derivative of one component along x, y and z within a cell.
__device__ __forceinline__ Vector derivative(const Cell &cell, const float *READ values, unsigned int step_x)
{
    auto at = [&](unsigned int bytes) { return __ldg((const float *)((const char *)values + bytes)); };
    const float a0 = at(cell.c00), a1 = at(cell.c00 + step_x), b0 = at(cell.c10), b1 = at(cell.c10 + step_x);
    const float c0 = at(cell.c01), c1 = at(cell.c01 + step_x), d0 = at(cell.c11), d1 = at(cell.c11 + step_x);
    return {lerp(lerp(a1 - a0, b1 - b0, cell.ty), lerp(c1 - c0, d1 - d0, cell.ty), cell.tz),
            lerp(lerp(b0 - a0, b1 - a1, cell.tx), lerp(d0 - c0, d1 - c1, cell.tx), cell.tz),
            lerp(lerp(c0 - a0, c1 - a1, cell.tx), lerp(d0 - b0, d1 - b1, cell.tx), cell.ty)};
}

// (I + ∂u/∂x)⁻¹·residual by Cramer's rule, at most a voxel long; half the residual where the derivative is nearly singular.
// Few voxels come here: it is a function of its own so that its registers do not burden the others.
__device__ __noinline__ Vector newton(const float *READ field, Shape shape, Vector reached, Vector r)
{
    const Cell cell(reached, shape);
    const size_t stride = plane(shape);
    const unsigned int step_x = shape.x > 1 ? 4 : 0;
    const Vector x = derivative(cell, field, step_x), y = derivative(cell, field + stride, step_x),
                 z = derivative(cell, field + 2 * stride, step_x);
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

// Improves v(x), from `start`, by fixed-point steps and then Newton's until the residual u(x + v(x)) + v(x) is small. The
// border stays zero. `start` and `inverse` may be one field. Registers for all 24 reads of a step at once are worth more
// here than more threads.
extern "C" __global__ void __launch_bounds__(256, 4)
    invert(const float *READ field, const float *start, float *inverse, int steps, Residuals limits, Shape shape)
{
    const Voxel at = voxel();
    if (!within(at, shape)) return;
    const size_t here = offset(at, shape), stride = plane(shape);
    if (on_edge(at, shape)) {
        store(inverse, stride, here, {0.f, 0.f, 0.f});
        return;
    }
    Vector v = load(start, stride, here);
    for (int step = 0; step < steps; ++step) {
        const Vector reached = {(float)at.x + v.x, (float)at.y + v.y, (float)at.z + v.z};
        const Vector r = residual(sample(field, shape, reached), v);
        if (step == 0 && squared(r) <= limits.untouched_squared) break;
        const bool close = squared(r) <= limits.tolerance_squared;
        const Vector correction = close || step < PLAIN_STEPS ? r : newton(field, shape, reached, r);
        v = {v.x - correction.x, v.y - correction.y, v.z - correction.z};
        if (close) break;
    }
    store(inverse, stride, here, v);
}

// result[0] = Σ‖u(x+v(x)) + v(x)‖, result[1] = its maximum.
extern "C" __global__ void SCATTERED inversion_error(const float *READ field, const float *READ inverse, Shape shape,
                                           double2 *partial, unsigned int *counter, double *result)
{
    const Voxel at = voxel();
    float length = 0.f;
    if (within(at, shape)) {
        const Vector v = load(inverse, plane(shape), offset(at, shape));
        const Vector u = sample(field, shape, {(float)at.x + v.x, (float)at.y + v.y, (float)at.z + v.z});
        length = sqrtf(squared(residual(u, v)));
    }
    double sum = block_sum((double)length);
    float longest = block_max(length);
    const int blocks = gridDim.x * gridDim.y * gridDim.z, thread = thread_index();
    if (thread == 0) partial[block_index()] = {sum, (double)longest};
    if (!last_block(counter)) return;
    sum = 0.0;
    longest = 0.f;
    for (int block = thread; block < blocks; block += blockDim.x * blockDim.y * blockDim.z) {
        const double2 part = __ldcg(partial + block);
        sum += part.x;
        longest = fmaxf(longest, (float)part.y);
    }
    sum = block_sum(sum);
    longest = block_max(longest);
    if (thread == 0) {
        result[0] = sum;
        result[1] = (double)longest;
    }
}
