// Kernels for the operation of joint label fusion (src/fusion/mod.rs), with the order of operations of src/cpu/fusion.
//
// A block is 16 × 8 × 8 voxels of the target. The box of an image is a block with a margin; outside the image, the values
// at its border are repeated. Image 0 is the target, image a + 1 is atlas a. A launch processes a batch of blocks.
//
// In the box of an image, the voxel (x, y, z) has the index (x·nz + z)·ny + y, so that neighbouring threads, which
// process neighbouring rows along x, read neighbouring values. Means and deviations of patches have the first axis
// fastest.
#include "points.cuh"
#include "solve.cuh"

#define BLOCK_X 16
#define BLOCK_Y 8
#define BLOCK_Z 8
#define BLOCK_LEN (BLOCK_X * BLOCK_Y * BLOCK_Z)
// Number of partial sums of a mean over a patch, and number of threads that process a patch in `fusion_errors`.
#define LANES 8
#define FLAT 1e-3

// An image: the address of its voxels, and the offset and factor that map its intensities to the range 0 to 1.
struct Scaled {
    const float *voxels;
    float low, scale;
};

// Operands of all kernels, as in src/cuda/fusion.rs.
struct Fusion {
    Size shape;
    int patch_radius, search_radius;
    // Number of atlases, of blocks of this batch, and of patches of this batch.
    unsigned int atlases, blocks, patches;
    const Scaled *images;
    // The positions of the first voxels of the blocks.
    const Size *of_blocks;
    // For each patch of the batch: the number of its block in the batch · BLOCK_LEN + the number of its voxel in the
    // block.
    const unsigned int *of_patches;
    // The shifts of the search, three numbers each.
    const int *shifts;
    int shift_count;
    // For each block, the means of the boxes of all images.
    float *means;
    // For each block, the box of the target, and the boxes of all atlases.
    float *target, *boxes;
    // For each block, the mean and the inverse standard deviation of all patches, of the target and of all atlases.
    float2 *target_patches, *patches_of_boxes;
    // For each block and each atlas, the index of the best shift of each voxel of the block.
    unsigned short *best;
    // For each element of the matrix of expected errors and then of its diagonal, one number for each patch.
    double *matrix;
    // For each patch and each atlas: the index of the chosen shift and the weight.
    unsigned short *chosen;
    float *weights;
    double alpha, beta;
    int not_negative;
};

// Number of voxels along each axis of a box with a margin on each side.
__device__ __forceinline__ Size with_margin(int margin)
{
    return {BLOCK_X + 2 * margin, BLOCK_Y + 2 * margin, BLOCK_Z + 2 * margin};
}

__device__ __forceinline__ int volume(Size size)
{
    return size.x * size.y * size.z;
}

// Margin of the box of an image: the patch radius, in atlases plus the search radius.
__device__ __forceinline__ int margin_of(const Fusion &of, unsigned int image)
{
    return of.patch_radius + (image ? of.search_radius : 0);
}

// The box of an image in the memory of the batch.
__device__ __forceinline__ float *box_of(const Fusion &of, unsigned int block, unsigned int image)
{
    const size_t length = volume(with_margin(margin_of(of, image)));
    return image ? of.boxes + ((size_t)block * of.atlases + (image - 1)) * length : of.target + block * length;
}

// Mean and inverse standard deviation of the patches in the box of an image.
__device__ __forceinline__ float2 *patches_of(const Fusion &of, unsigned int block, unsigned int image)
{
    const size_t length = volume(with_margin(of.search_radius));
    return image ? of.patches_of_boxes + ((size_t)block * of.atlases + (image - 1)) * length
                 : of.target_patches + (size_t)block * BLOCK_LEN;
}

__device__ __forceinline__ int place(int at, int count)
{
    return min(max(at, 0), count - 1);
}

// The scaled intensity of an image at a position; outside the image, that of the nearest voxel; 0 if it is not finite.
__device__ __forceinline__ float value(const Scaled &image, const Size &shape, int x, int y, int z)
{
    const size_t row = ((size_t)place(z, shape.z) * shape.y + place(y, shape.y)) * shape.x;
    const float scaled = (image.voxels[row + place(x, shape.x)] - image.low) * image.scale;
    return isfinite(scaled) ? scaled : 0.f;
}

// Computes the mean intensity of each box. Each thread adds the voxels of one box, the first axis fastest.
extern "C" __global__ void __launch_bounds__(32) fusion_means(Fusion of)
{
    const unsigned int n = blockIdx.x * blockDim.x + threadIdx.x, images = of.atlases + 1;
    if (n >= of.blocks * images) return;
    const Size block = of.of_blocks[n / images];
    const Scaled image = of.images[n % images];
    const int margin = margin_of(of, n % images);
    const Size size = with_margin(margin);
    double sum = 0.0;
    for (int z = 0; z < size.z; ++z)
        for (int y = 0; y < size.y; ++y) {
#pragma unroll 8
            for (int x = 0; x < size.x; ++x)
                sum += (double)value(image, of.shape, block.x + x - margin, block.y + y - margin, block.z + z - margin);
        }
    of.means[n] = (float)(sum / (double)volume(size));
}

// Reads the boxes of all images, minus their means. Each thread block reads one box.
extern "C" __global__ void __launch_bounds__(256) fusion_boxes(Fusion of)
{
    const unsigned int images = of.atlases + 1, number = blockIdx.x / images, image = blockIdx.x % images;
    const Size block = of.of_blocks[number];
    const Scaled from = of.images[image];
    const float mean = of.means[blockIdx.x];
    const int margin = margin_of(of, image);
    const Size size = with_margin(margin);
    float *box = box_of(of, number, image);
    for (int n = threadIdx.x; n < volume(size); n += blockDim.x) {
        const int y = n % size.y, z = n / size.y % size.z, x = n / size.y / size.z;
        box[n] = value(from, of.shape, block.x + x - margin, block.y + y - margin, block.z + z - margin) - mean;
    }
}

// Number of threads of `fusion_search`: one for each row of the target's box, and one for each pair (x, z) of a block
// with its margin along z; whole warps.
template <int RADIUS> struct Threads {
    static const int ROWS = (BLOCK_Y + 2 * RADIUS) * (BLOCK_Z + 2 * RADIUS), PAIRS = BLOCK_X * (BLOCK_Z + 2 * RADIUS);
    static const int COUNT = ((ROWS > PAIRS ? ROWS : PAIRS) + 31) / 32 * 32;
};

// Computes the mean and the inverse standard deviation of all patches of a box. Each thread block processes one box, each
// thread columns of patches along z.
template <int RADIUS> __device__ __forceinline__ void measure_patches(const Fusion &of)
{
    constexpr int WIDTH = 2 * RADIUS + 1;
    const unsigned int images = of.atlases + 1, number = blockIdx.x / images, image = blockIdx.x % images;
    const Size size = with_margin(margin_of(of, image));
    const int nx = size.x + 1 - WIDTH, ny = size.y + 1 - WIDTH;
    const float *box = box_of(of, number, image);
    float2 *patches = patches_of(of, number, image);
    const double voxels = (double)(WIDTH * WIDTH * WIDTH);
    for (int column = threadIdx.x; column < nx * ny; column += blockDim.x) {
        const int x = column / ny, y = column % ny;
        // Sums and sums of squares over the last slices of the patch, the oldest first.
        double sums[WIDTH], squares[WIDTH];
        for (int z = 0; z < size.z; ++z) {
#pragma unroll
            for (int k = 1; k < WIDTH; ++k) {
                sums[k - 1] = sums[k];
                squares[k - 1] = squares[k];
            }
            double sum = 0.0, square = 0.0;
#pragma unroll 1
            for (int dy = 0; dy < WIDTH; ++dy) {
                double row = 0.0, row_square = 0.0;
#pragma unroll
                for (int dx = 0; dx < WIDTH; ++dx) {
                    const double at = (double)box[((x + dx) * size.z + z) * size.y + y + dy];
                    row += at;
                    row_square += at * at;
                }
                sum += row;
                square += row_square;
            }
            sums[WIDTH - 1] = sum;
            squares[WIDTH - 1] = square;
            if (z < WIDTH - 1) continue;
            sum = square = 0.0;
#pragma unroll
            for (int k = 0; k < WIDTH; ++k) {
                sum += sums[k];
                square += squares[k];
            }
            const double mean = sum / voxels, sd = sqrt(fmax(square / voxels - mean * mean, 0.0));
            patches[((z + 1 - WIDTH) * ny + y) * nx + x] = make_float2((float)mean, sd < FLAT ? 0.f : (float)(1.0 / sd));
        }
    }
}

// Finds the best shift of one atlas for each voxel of a block. Each thread block processes one block and one atlas.
//
// The sums of products over a patch are computed along one axis after the other. Along x, each thread processes one row
// of the target's box; along y, one pair (x, z); along z, one column of the block.
template <int RADIUS> __device__ __forceinline__ void search(const Fusion &of)
{
    constexpr int WIDTH = 2 * RADIUS + 1, NX = BLOCK_X + 2 * RADIUS, NY = BLOCK_Y + 2 * RADIUS, NZ = BLOCK_Z + 2 * RADIUS;
    constexpr int ROWS = NY * NZ;
    // Distances in memory that reduce conflicts between the banks of shared memory. With radius 8, there is no room for
    // the gaps.
    constexpr int STEP_X = RADIUS < 8 ? ROWS | 1 : ROWS;
    constexpr int STEP_Z = BLOCK_X * BLOCK_Y + (RADIUS < 8 ? BLOCK_X : 0);
    __shared__ float along_x[BLOCK_X * STEP_X], along_y[NZ * STEP_Z];
    const unsigned int number = blockIdx.x / of.atlases, atlas = blockIdx.x % of.atlases;
    const int radius = of.search_radius;
    const Size size = with_margin(RADIUS + radius), patches = with_margin(radius);
    const float *box = box_of(of, number, atlas + 1), *target = box_of(of, number, 0);
    const float2 *measures = patches_of(of, number, atlas + 1), *target_measures = patches_of(of, number, 0);
    const int thread = threadIdx.x, row = thread, row_y = row % NY, row_z = row / NY;
    const int pair_x = thread % BLOCK_X, pair_z = thread / BLOCK_X;
    const int column_x = thread % BLOCK_X, column_y = thread / BLOCK_X;
    const bool has_row = row < ROWS, has_pair = pair_z < NZ, has_column = column_y < BLOCK_Y;
    float here[NX];
#pragma unroll
    for (int x = 0; x < NX; ++x) here[x] = has_row ? target[x * ROWS + row] : 0.f;
    float mean[BLOCK_Z], score[BLOCK_Z];
    int best[BLOCK_Z];
#pragma unroll
    for (int z = 0; z < BLOCK_Z; ++z) {
        mean[z] = has_column ? (float)(WIDTH * WIDTH * WIDTH) * target_measures[z * BLOCK_X * BLOCK_Y + thread].x : 0.f;
        score[z] = __int_as_float(0xff800000);
        best[z] = 0;
    }
    for (int shift = 0; shift < of.shift_count; ++shift) {
        const int *along = of.shifts + 3 * shift;
        const int ox = along[0] + radius, oy = along[1] + radius, oz = along[2] + radius;
        if (has_row) {
            const float *there = box + ((ox * size.z + row_z + oz) * size.y + row_y + oy);
            float products[NX];
#pragma unroll
            for (int x = 0; x < NX; ++x) products[x] = here[x] * there[x * size.z * size.y];
#pragma unroll
            for (int x = 0; x < BLOCK_X; ++x) {
                float sum = products[x];
#pragma unroll
                for (int step = 1; step < WIDTH; ++step) sum += products[x + step];
                along_x[x * STEP_X + row] = sum;
            }
        }
        __syncthreads();
        if (has_pair) {
            float sums[NY];
#pragma unroll
            for (int y = 0; y < NY; ++y) sums[y] = along_x[pair_x * STEP_X + pair_z * NY + y];
#pragma unroll
            for (int y = 0; y < BLOCK_Y; ++y) {
                float sum = sums[y];
#pragma unroll
                for (int step = 1; step < WIDTH; ++step) sum += sums[y + step];
                along_y[pair_z * STEP_Z + y * BLOCK_X + pair_x] = sum;
            }
        }
        __syncthreads();
        if (has_column) {
            float sums[NZ];
#pragma unroll
            for (int z = 0; z < NZ; ++z) sums[z] = along_y[z * STEP_Z + thread];
#pragma unroll
            for (int z = 0; z < BLOCK_Z; ++z) {
                float sum = sums[z];
#pragma unroll
                for (int step = 1; step < WIDTH; ++step) sum += sums[z + step];
                const float2 there = measures[((z + oz) * patches.y + column_y + oy) * patches.x + column_x + ox];
                const float found = (sum - mean[z] * there.x) * there.y;
                if (found > score[z]) {
                    score[z] = found;
                    best[z] = shift;
                }
            }
        }
    }
    if (!has_column) return;
    unsigned short *out = of.best + (size_t)blockIdx.x * BLOCK_LEN;
#pragma unroll
    for (int z = 0; z < BLOCK_Z; ++z) {
        const int voxel = z * BLOCK_X * BLOCK_Y + thread;
        out[voxel] = target_measures[voxel].y == 0.f ? 0 : (unsigned short)best[z];
    }
}

// A patch in the box of an image: the address of its first voxel, the distances to the next voxels along x and z, and its
// mean and inverse standard deviation.
struct Patch {
    const float *first;
    int step_x, step_z;
    float2 measure;

    // The value at a place of the patch, normalised to mean 0 and standard deviation 1.
    __device__ __forceinline__ float normalised(int x, int y, int z) const
    {
        return (first[x * step_x + z * step_z + y] - measure.x) * measure.y;
    }
};

// The patch of an image around the voxel with this number in a block, moved by a shift.
__device__ __forceinline__ Patch patch_of(const Fusion &of, unsigned int block, unsigned int image, int voxel,
                                          const int *shift)
{
    const Size size = with_margin(margin_of(of, image));
    const int width = 2 * of.patch_radius + 1, nx = size.x + 1 - width, ny = size.y + 1 - width;
    int x = voxel % BLOCK_X, y = voxel / BLOCK_X % BLOCK_Y, z = voxel / (BLOCK_X * BLOCK_Y);
    if (image) {
        x += shift[0] + of.search_radius;
        y += shift[1] + of.search_radius;
        z += shift[2] + of.search_radius;
    }
    const float *first = box_of(of, block, image) + ((x * size.z + z) * size.y + y);
    return {first, size.z * size.y, size.y, patches_of(of, block, image)[(z * ny + y) * nx + x]};
}

// Number of columns of the matrix of expected errors that `fusion_errors` computes at once.
#define COLUMNS 4

// Computes the matrix of the expected errors of each patch, and writes the chosen shifts. Eight threads process a patch:
// each of them computes one of the partial sums of a mean over the patch.
template <int RADIUS> __device__ __forceinline__ void expect_errors(const Fusion &of)
{
    constexpr int WIDTH = 2 * RADIUS + 1, VOXELS = WIDTH * WIDTH * WIDTH;
    const int lane = threadIdx.x % LANES;
    const unsigned int number = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    const bool counts = number < of.patches;
    // Threads without a patch compute the last patch, because all threads of a warp take part in the sums.
    const unsigned int patch = counts ? number : of.patches - 1;
    const unsigned int block = of.of_patches[patch] / BLOCK_LEN, voxel = of.of_patches[patch] % BLOCK_LEN;
    const Patch target = patch_of(of, block, 0, voxel, nullptr);
    const auto of_atlas = [&](unsigned int atlas) {
        const unsigned short shift = of.best[((size_t)block * of.atlases + atlas) * BLOCK_LEN + voxel];
        return patch_of(of, block, atlas + 1, voxel, of.shifts + 3 * shift);
    };
    for (unsigned int i = 0; i < of.atlases; ++i) {
        const Patch first = of_atlas(i);
        for (unsigned int start = 0; start <= i; start += COLUMNS) {
            Patch others[COLUMNS];
            float sums[COLUMNS];
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c) {
                others[c] = of_atlas(min(start + c, i));
                sums[c] = 0.f;
            }
            for (int n = lane; n < VOXELS; n += LANES) {
                const int x = n % WIDTH, y = n / WIDTH % WIDTH, z = n / (WIDTH * WIDTH);
                const float here = target.normalised(x, y, z), apart = fabsf(here - first.normalised(x, y, z));
#pragma unroll
                for (int c = 0; c < COLUMNS; ++c) sums[c] += apart * fabsf(here - others[c].normalised(x, y, z));
            }
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c) {
                double sum = 0.0;
#pragma unroll
                for (int part = 0; part < LANES; ++part)
                    sum += (double)__shfl_sync(0xffffffff, sums[c], part, LANES);
                const unsigned int j = start + c;
                if (lane != 0 || !counts || j > i) continue;
                const double mean = sum / (double)VOXELS, error = of.beta == 2.0 ? mean * mean : pow(mean, of.beta);
                of.matrix[((size_t)i * of.atlases + j) * of.patches + patch] = i == j ? error + of.alpha : error;
                if (i != j) of.matrix[((size_t)j * of.atlases + i) * of.patches + patch] = error;
            }
        }
        if (lane == 0 && counts)
            of.chosen[(size_t)patch * of.atlases + i] = of.best[((size_t)block * of.atlases + i) * BLOCK_LEN + voxel];
    }
}

// Kernels for one patch radius.
#define OF_RADIUS(RADIUS)                                                                                         \
    extern "C" __global__ void __launch_bounds__(128) fusion_patches_##RADIUS(Fusion of)                          \
    {                                                                                                             \
        measure_patches<RADIUS>(of);                                                                              \
    }                                                                                                             \
    extern "C" __global__ void __launch_bounds__(Threads<RADIUS>::COUNT) fusion_search_##RADIUS(Fusion of)        \
    {                                                                                                             \
        search<RADIUS>(of);                                                                                       \
    }                                                                                                             \
    extern "C" __global__ void __launch_bounds__(128) fusion_errors_##RADIUS(Fusion of)                           \
    {                                                                                                             \
        expect_errors<RADIUS>(of);                                                                                \
    }
OF_RADIUS(1)
OF_RADIUS(2)
OF_RADIUS(3)
OF_RADIUS(4)
OF_RADIUS(5)
OF_RADIUS(6)
OF_RADIUS(7)
OF_RADIUS(8)

// Computes the weights of the atlases from the matrix of expected errors. Each thread processes one patch.
extern "C" __global__ void __launch_bounds__(128) fusion_weights(Fusion of)
{
    const unsigned int patch = blockIdx.x * blockDim.x + threadIdx.x, size = of.atlases;
    if (patch >= of.patches) return;
    const Matrix m = {of.matrix + patch, size, of.patches};
    bool solved = by_cholesky(m) || by_elimination(m);
    if (solved) {
        double sum = 0.0;
        for (unsigned int i = 0; i < size; ++i) {
            if (of.not_negative) m.solution(i) = fmax(m.solution(i), 0.0);
            sum += m.solution(i);
        }
        for (unsigned int i = 0; i < size; ++i) solved &= isfinite(m.solution(i) /= sum);
    }
    for (unsigned int i = 0; i < size; ++i)
        of.weights[(size_t)patch * size + i] = (float)(solved ? m.solution(i) : 1.0 / (double)size);
}
