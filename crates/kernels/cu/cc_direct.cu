// Windowed cross-correlation computed directly, after Luo et al. 2015: the images I and J are bound to 3D textures, and
// one thread for each voxel visits all (2r + 1)³ offsets of the window. The window means of I and J, and A = Σ(I −
// mean)², B = Σ(J − mean)² and C = Σ(I − mean)(J − mean), are written through 3D surfaces, of any radius, with and
// without masks. The tiled kernels of cc_tiled.cuh compute the same from sums that slide along the axes.
#include "cross_correlation.cuh"

struct Surfaces {
    cudaSurfaceObject_t fixed_mean, moving_mean, a, b, c;
    // Number of voxels of the window that count.
    cudaSurfaceObject_t count;
};

// The window of a voxel, truncated at the border of the volume.
struct Box {
    int x0, x1, y0, y1, z0, z1;

    __device__ __forceinline__ Box(const Voxel &v, const Shape &shape, int radius)
        : x0(max(v.x - radius, 0)), x1(min(v.x + radius, shape.x - 1)), y0(max(v.y - radius, 0)),
          y1(min(v.y + radius, shape.y - 1)), z0(max(v.z - radius, 0)), z1(min(v.z + radius, shape.z - 1))
    {
    }
};

// Computes six numbers of the window around each voxel: the means of I and J, the sums A, B and C of squared and
// multiplied deviations from these means, and the number of voxels inside the masks, to which all of them refer. The
// value at the window's centre is first subtracted from all values of an image: this does not change A, B and C, and
// the sums lose fewer digits.
extern "C" __global__ void cc_direct_terms(cudaTextureObject_t fixed, cudaTextureObject_t moving, Pair pair, int radius,
                                           Surfaces out)
{
    const Voxel v = {(int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y),
                     (int)blockIdx.z};
    if (!within(v, pair.shape)) return;
    const float fixed_here = tex3D<float>(fixed, v.x + 0.5f, v.y + 0.5f, v.z + 0.5f);
    const float moving_here = tex3D<float>(moving, v.x + 0.5f, v.y + 0.5f, v.z + 0.5f);
    const Box box(v, pair.shape, radius);
    const bool masked = pair.fixed_mask || pair.moving_mask;
    float i = 0.f, j = 0.f, ii = 0.f, jj = 0.f, ij = 0.f, inside = 0.f;
    for (int z = box.z0; z <= box.z1; ++z)
        for (int y = box.y0; y <= box.y1; ++y)
            for (int x = box.x0; x <= box.x1; ++x) {
                if (masked && !counted(pair, offset({x, y, z}, pair.shape))) continue;
                const float f = tex3D<float>(fixed, x + 0.5f, y + 0.5f, z + 0.5f) - fixed_here;
                const float m = tex3D<float>(moving, x + 0.5f, y + 0.5f, z + 0.5f) - moving_here;
                i += f;
                j += m;
                ii = fmaf(f, f, ii);
                jj = fmaf(m, m, jj);
                ij = fmaf(f, m, ij);
                inside += 1.f;
            }
    const float share = inside > 0.f ? 1.f / inside : 0.f;
    const int at = v.x * (int)sizeof(float);
    surf3Dwrite(fixed_here + i * share, out.fixed_mean, at, v.y, v.z);
    surf3Dwrite(moving_here + j * share, out.moving_mean, at, v.y, v.z);
    surf3Dwrite(ii - i * i * share, out.a, at, v.y, v.z);
    surf3Dwrite(jj - j * j * share, out.b, at, v.y, v.z);
    surf3Dwrite(ij - i * j * share, out.c, at, v.y, v.z);
    surf3Dwrite(inside, out.count, at, v.y, v.z);
}

// The terms of the window around a voxel, from what cc_direct_terms has written. A window counts as constant by the
// limit of the tiled kernels: A is compared with ΣI² = A + n·mean².
__device__ __forceinline__ Terms read_terms(const Surfaces &from, const Pair &pair, const Voxel &v)
{
    const int at = v.x * (int)sizeof(float);
    const float a = surf3Dread<float>(from.a, at, v.y, v.z), b = surf3Dread<float>(from.b, at, v.y, v.z);
    const float c = surf3Dread<float>(from.c, at, v.y, v.z), n = surf3Dread<float>(from.count, at, v.y, v.z);
    const float fixed_mean = surf3Dread<float>(from.fixed_mean, at, v.y, v.z);
    const float moving_mean = surf3Dread<float>(from.moving_mean, at, v.y, v.z);
    const bool counts = a > ROUNDING * fmaf(n * fixed_mean, fixed_mean, a) &&
                        b > ROUNDING * fmaf(n * moving_mean, moving_mean, b);
    const float noise = n * pair.noise_variance;
    const float per_a = counts ? 1.f / (a + noise) : 0.f, per_b = counts ? 1.f / (b + noise) : 0.f;
    const float on_fixed = c * per_a, on_moving = c * per_b;
    return {fixed_mean, moving_mean, 2.f * on_fixed * per_b, on_fixed, on_moving, on_fixed * on_moving,
            a * per_a * (b * per_b)};
}

// Computes the derivatives of both images and the energy. Those at a voxel use only the window centred at the voxel.
extern "C" __global__ void cc_direct_gradient(Pair pair, Surfaces terms, Output out, double *partial,
                                              unsigned int *counter, double *result)
{
    const Voxel v = voxel();
    float value = 0.f, count = 0.f, weight = 0.f;
    if (within(v, pair.shape)) {
        const size_t here = offset(v, pair.shape);
        float for_fixed = 0.f, for_moving = 0.f;
        if (counted(pair, here)) {
            const Terms t = read_terms(terms, pair, v);
            const float f = pair.fixed[here] - t.fixed_mean, m = pair.moving[here] - t.moving_mean;
            for_fixed = t.slope * (m - t.on_fixed * f);
            for_moving = t.slope * (f - t.on_moving * m);
            value = t.value;
            count = 1.f;
            weight = t.weight;
        }
        Writer writer;
        writer.start(out, pair.shape, v.x, v.y);
        writer.write(out, pair, v.z, here, for_fixed, for_moving);
    }
    add_energy(value, count, weight, 0, blocks_of_launch(), partial, counter, result);
}

// Adds up the energy, and replaces the means, A, B and C of each window by the five terms of the exact derivative, which
// cc_direct_exact sums over windows. They are 0 for windows whose centre does not count.
extern "C" __global__ void cc_direct_windows(Pair pair, Surfaces terms, double *partial, unsigned int *counter,
                                             double *result)
{
    const Voxel v = voxel();
    float value = 0.f, count = 0.f, weight = 0.f;
    if (within(v, pair.shape)) {
        const Terms t = read_terms(terms, pair, v);
        const bool counts = counted(pair, offset(v, pair.shape));
        if (counts) {
            value = t.value;
            count = 1.f;
            weight = t.weight;
        }
        const float p_a = t.slope * t.on_fixed, p_b = t.slope * t.on_moving;
        const int at = v.x * (int)sizeof(float);
        surf3Dwrite(counts ? t.slope : 0.f, terms.a, at, v.y, v.z);
        surf3Dwrite(counts ? p_a : 0.f, terms.b, at, v.y, v.z);
        surf3Dwrite(counts ? p_b : 0.f, terms.c, at, v.y, v.z);
        surf3Dwrite(counts ? p_a * t.fixed_mean - t.slope * t.moving_mean : 0.f, terms.fixed_mean, at, v.y, v.z);
        surf3Dwrite(counts ? p_b * t.moving_mean - t.slope * t.fixed_mean : 0.f, terms.moving_mean, at, v.y, v.z);
    }
    add_energy(value, count, weight, 0, blocks_of_launch(), partial, counter, result);
}

// Computes the derivatives of both images from the terms of all windows that contain a voxel.
extern "C" __global__ void cc_direct_exact(Pair pair, Surfaces terms, int radius, Output out)
{
    const Voxel v = voxel();
    if (!within(v, pair.shape)) return;
    const size_t here = offset(v, pair.shape);
    float for_fixed = 0.f, for_moving = 0.f;
    if (counted(pair, here)) {
        const Box box(v, pair.shape, radius);
        float slope = 0.f, p_a = 0.f, p_b = 0.f, fixed_rest = 0.f, moving_rest = 0.f;
        for (int z = box.z0; z <= box.z1; ++z)
            for (int y = box.y0; y <= box.y1; ++y)
                for (int x = box.x0; x <= box.x1; ++x) {
                    const int at = x * (int)sizeof(float);
                    slope += surf3Dread<float>(terms.a, at, y, z);
                    p_a += surf3Dread<float>(terms.b, at, y, z);
                    p_b += surf3Dread<float>(terms.c, at, y, z);
                    fixed_rest += surf3Dread<float>(terms.fixed_mean, at, y, z);
                    moving_rest += surf3Dread<float>(terms.moving_mean, at, y, z);
                }
        const float f = pair.fixed[here], m = pair.moving[here];
        for_fixed = m * slope - f * p_a + fixed_rest;
        for_moving = f * slope - m * p_b + moving_rest;
    }
    Writer writer;
    writer.start(out, pair.shape, v.x, v.y);
    writer.write(out, pair, v.z, here, for_fixed, for_moving);
}
