// The update of a displacement field from derivatives that a metric has computed with respect to the values of an image.
#include "gradient.cuh"

// Computes an update: the derivative at each voxel, multiplied by the image's gradient. The components along x and y
// follow each other in memory (`x_and_y`); that along z has an address of its own, which may be that of the derivatives.
extern "C" __global__ void update(const float *image, const float *derivative, float *x_and_y, float *z,
                                  const __grid_constant__ Shape shape, Vector metric)
{
    const Voxel v = voxel();
    if (!within(v, shape)) return;
    const size_t here = offset(v, shape);
    Gradient gradient;
    gradient.start(shape, metric, v.x, v.y);
    const Vector g = gradient.at(shape, metric, image, v.z, here);
    const float length = derivative[here];
    x_and_y[here] = length * g.x;
    x_and_y[plane(shape) + here] = length * g.y;
    z[here] = length * g.z;
}
