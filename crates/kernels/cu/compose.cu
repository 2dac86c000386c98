// Composition of two displacement fields, in place: field(x) ← field(x) + s·then(x + field(x)). The factor s is 1, or it
// scales the longest vector of `then` to a given length.
#include "walk.cuh"

// A thread reads the displacement of a voxel before it writes the new one. Other threads read only `then`.
__device__ __forceinline__ void compose(float *field, const float *READ then, float scale, const Shape &shape,
                                        int slices, unsigned int z_block)
{
    const Column at = column(voxel(z_block), shape, slices);
    if (at.z0 >= at.z1) return;
    const size_t here = offset({at.x, at.y, at.z0}, shape), stride = plane(shape);
    const unsigned int slice = shape.x * shape.y;
    const float *from = field + here;
    float *to = field + here;
    auto displacement = [&]() -> Vector { return {from[0], from[stride], from[2 * stride]}; };
    Vector u = displacement();
    Walk<3> walk;
#pragma unroll 1
    for (int z = at.z0; z < at.z1; ++z) {
        // The displacement of the next slice is loaded while this slice is computed.
        from += slice;
        Vector next = u;
        if (z + 1 < at.z1) next = displacement();
        const Cell cell(moved({at.x, at.y, z}, u), shape);
        walk.to(cell, then, stride);
        store(to, stride, 0,
              {u.x + scale * walk.read(0, cell), u.y + scale * walk.read(1, cell), u.z + scale * walk.read(2, cell)});
        to += slice;
        u = next;
    }
}

// The kernels that compose fields are faster with more registers for each thread than with more threads: the registers
// hold the displacements at the eight corners of a cell and the next displacement.
extern "C" __global__ void __launch_bounds__(256, 4)
    compose_fields(float *field, const float *READ then, const __grid_constant__ Shape shape, int slices)
{
    compose(field, then, 1.f, shape, slices, blockIdx.z);
}

// Composes one or two displacement fields, such as those of the fixed and of the moving image, each with its own scaled
// update, in place. `scales` are the factors that the kernel max_norm computed for the updates; they stay on the device.
extern "C" __global__ void __launch_bounds__(256, 4)
    advance(const Sides<float *> fields, const Sides<const float *> updates, const float *READ scales, int sides,
            const __grid_constant__ Shape shape, int slices)
{
    const int side = side_of_block(sides);
    compose(fields.of(side), updates.of(side), __ldg(scales + side), shape, slices, z_block(side));
}
