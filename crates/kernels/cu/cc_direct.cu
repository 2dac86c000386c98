// Windowed cross-correlation computed directly, after Luo et al. 2015: the images I and J are bound to 3D textures, and
// one thread for each voxel visits all (2r + 1)³ offsets of the window. The window means of I and J, and A = Σ(I −
// mean)², B = Σ(J − mean)² and C = Σ(I − mean)(J − mean), are written through 3D surfaces. The tiled kernels of
// cc_tiled.cuh are checked and timed against these kernels. Window radii that the tiled kernels do not support are
// computed here.
#include "cross_correlation.cuh"

struct Surfaces {
    cudaSurfaceObject_t fixed_mean, moving_mean, a, b, c;
};

// Computes five numbers of the window around each voxel: the means of I and J, and the sums A, B and C of squared and
// multiplied deviations from these means. The value at the window's centre is first subtracted from all values of an
// image: this does not change A, B and C, and the sums lose fewer digits.
extern "C" __global__ void cc_direct_terms(cudaTextureObject_t fixed, cudaTextureObject_t moving, Shape shape, int radius,
                                           Surfaces out)
{
    const Voxel v = {(int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y),
                     (int)blockIdx.z};
    if (!within(v, shape)) return;
    const float fixed_here = tex3D<float>(fixed, v.x + 0.5f, v.y + 0.5f, v.z + 0.5f);
    const float moving_here = tex3D<float>(moving, v.x + 0.5f, v.y + 0.5f, v.z + 0.5f);
    const int x0 = max(v.x - radius, 0), x1 = min(v.x + radius, shape.x - 1);
    const int y0 = max(v.y - radius, 0), y1 = min(v.y + radius, shape.y - 1);
    const int z0 = max(v.z - radius, 0), z1 = min(v.z + radius, shape.z - 1);
    float i = 0.f, j = 0.f, ii = 0.f, jj = 0.f, ij = 0.f;
    for (int z = z0; z <= z1; ++z)
        for (int y = y0; y <= y1; ++y)
            for (int x = x0; x <= x1; ++x) {
                const float f = tex3D<float>(fixed, x + 0.5f, y + 0.5f, z + 0.5f) - fixed_here;
                const float m = tex3D<float>(moving, x + 0.5f, y + 0.5f, z + 0.5f) - moving_here;
                i += f;
                j += m;
                ii = fmaf(f, f, ii);
                jj = fmaf(m, m, jj);
                ij = fmaf(f, m, ij);
            }
    const float count = (float)((x1 - x0 + 1) * (y1 - y0 + 1) * (z1 - z0 + 1));
    const int at = v.x * (int)sizeof(float);
    surf3Dwrite(fixed_here + i / count, out.fixed_mean, at, v.y, v.z);
    surf3Dwrite(moving_here + j / count, out.moving_mean, at, v.y, v.z);
    surf3Dwrite(ii - i * i / count, out.a, at, v.y, v.z);
    surf3Dwrite(jj - j * j / count, out.b, at, v.y, v.z);
    surf3Dwrite(ij - i * j / count, out.c, at, v.y, v.z);
}

// Computes the derivatives of both images and the energy. Those at a voxel use only the window centred at the voxel: its
// means of I and J, and the sums A, B and C of squared and multiplied deviations. `pair` has no masks.
extern "C" __global__ void cc_direct_gradient(Pair pair, Surfaces terms, int radius, Output out, double *partial,
                                              unsigned int *counter, double *result)
{
    const Voxel v = voxel();
    float value = 0.f, count = 0.f, weight = 0.f;
    if (within(v, pair.shape)) {
        const size_t here = offset(v, pair.shape);
        const int at = v.x * (int)sizeof(float);
        const float a = surf3Dread<float>(terms.a, at, v.y, v.z), b = surf3Dread<float>(terms.b, at, v.y, v.z);
        const float c = surf3Dread<float>(terms.c, at, v.y, v.z);
        const float fixed_mean = surf3Dread<float>(terms.fixed_mean, at, v.y, v.z);
        const float moving_mean = surf3Dread<float>(terms.moving_mean, at, v.y, v.z);
        const bool counts = a > 0.f && b > 0.f;
        const float noise = pair.noise_variance * (float)(extent(v.x, pair.shape.x, radius) *
                                                          extent(v.y, pair.shape.y, radius) *
                                                          extent(v.z, pair.shape.z, radius));
        const float per_a = counts ? 1.f / (a + noise) : 0.f, per_b = counts ? 1.f / (b + noise) : 0.f;
        const float slope = 2.f * c * per_a * per_b;
        const float f = pair.fixed[here] - fixed_mean, m = pair.moving[here] - moving_mean;
        value = c * per_a * c * per_b;
        count = 1.f;
        weight = a * per_a * (b * per_b);
        Writer writer;
        writer.start(out, pair.shape, v.x, v.y);
        writer.write(out, pair, v.z, here, slope * (m - c * per_a * f), slope * (f - c * per_b * m));
    }
    add_energy(value, count, weight, 0, blocks_of_launch(), partial, counter, result);
}
