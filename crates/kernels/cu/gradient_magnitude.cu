// Gradient magnitude of an image, which is large at edges, and its mean by intensity.
#include "volume.cuh"

// Derivative along one axis by central differences, one-sided at the border, computed as in src/cpu/gradient.rs.
__device__ __forceinline__ float difference(const float *READ image, size_t here, int i, int n, size_t step, float scale)
{
    const bool below = i > 0, above = i + 1 < n;
    const float half = below && above ? 0.5f : 1.f;
    return (__ldg(image + here + (above ? step : 0)) - __ldg(image + here - (below ? step : 0))) * half * scale;
}

__device__ __forceinline__ float magnitude(const float *READ image, size_t here, Voxel v, const Vector &scale,
                                           const Shape &shape)
{
    const float x = difference(image, here, v.x, shape.x, 1, scale.x);
    const float y = difference(image, here, v.y, shape.y, shape.x, scale.y);
    const float z = difference(image, here, v.z, shape.z, (size_t)shape.x * shape.y, scale.z);
    return sqrtf(x * x + y * y + z * z);
}

extern "C" __global__ void gradient_magnitude(const float *READ image, Vector scale, float *out, Shape shape)
{
    const Voxel v = voxel();
    if (!within(v, shape)) return;
    const size_t here = offset(v, shape);
    out[here] = magnitude(image, here, v, scale, shape);
}

// Number of bins of intensity and unit of the sums, the same as in src/profile.rs.
#define BINS 128
#define UNIT 1048576.f

typedef unsigned long long Integer;

// Adds to `sums`, for each bin of intensity from 0 to 1, the number of voxels and the sum of their gradient magnitudes.
// Sums are integers, so that their order does not matter.
//
// A thread keeps its sums in registers as long as its bin stays the same, since many voxels may have one background
// value.
extern "C" __global__ void gradient_profile(const float *READ image, Vector scale, Shape shape, Integer *sums)
{
    __shared__ Integer of_block[2 * BINS];
    for (int n = threadIdx.x; n < 2 * BINS; n += blockDim.x) of_block[n] = 0;
    __syncthreads();
    const size_t count = voxels(shape), stride = (size_t)gridDim.x * blockDim.x;
    int held = 0;
    Integer number = 0, sum = 0;
    for (size_t here = (size_t)blockIdx.x * blockDim.x + threadIdx.x; here < count; here += stride) {
        const unsigned int row = (unsigned int)(here / shape.x);
        const Voxel v = {(int)(here - (size_t)row * shape.x), (int)(row % shape.y), (int)(row / shape.y)};
        const float value = __ldg(image + here), found = magnitude(image, here, v, scale, shape);
        if (!isfinite(value) || isnan(found)) continue;
        const int bin = max(0, min((int)(value * BINS), BINS - 1));
        if (bin != held) {
            atomicAdd(of_block + 2 * held, number);
            atomicAdd(of_block + 2 * held + 1, sum);
            held = bin;
            number = sum = 0;
        }
        ++number;
        sum += (unsigned int)(fminf(found, 2.f) * UNIT);
    }
    atomicAdd(of_block + 2 * held, number);
    atomicAdd(of_block + 2 * held + 1, sum);
    __syncthreads();
    for (int n = threadIdx.x; n < 2 * BINS; n += blockDim.x)
        if (of_block[n]) atomicAdd(sums + n, of_block[n]);
}
